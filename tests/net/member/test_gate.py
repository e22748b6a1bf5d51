"""A gate between a loop and a thread: whoever is let in is known of before anything is reported, whoever comes first."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from soloist.net.engine.ticket import Room as AnyRoom
from soloist.net.engine.ticket import Ticket
from soloist.net.member.gate import Gate
from soloist.views import Lease, Member, Node, View

ME = Node("a", "a1")
VIEW = View(epoch=5, voters=("1",), members=(ME,), lease=Lease(10))
ROUNDS = 300


class Room(NamedTuple):
    """A lock to go into."""

    lock: str
    capacity: int = 1
    epoch: int = VIEW.epoch


@pytest.fixture(autouse=True)
def hasty_threads() -> Iterator[None]:
    """They take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def gate() -> Gate:
    return Gate(Member(node=ME, view=VIEW, worth={"1": time.monotonic() + 600}), time.monotonic, lambda: None)


def ticket(number: int) -> Ticket:
    made = Ticket()
    made.fence = number
    return made


def wedge_some_time(gate: Gate, reported: list[set[str]]) -> None:
    """Now and then a step that changes nothing; then the one after which nobody may go in."""
    for _ in range(random.randrange(20)):
        with gate.step():
            pass
    with gate.step() as member:
        member.wedge(time.monotonic())
        reported.append({lock for lock, _ in member.holds})


def all_go_in(gate: Gate) -> tuple[set[str], list[set[str]]]:
    """Let callers in until nobody may go in any more: those who are inside, and what was reported."""
    reported: list[set[str]] = []
    thread = threading.Thread(target=wedge_some_time, args=(gate, reported))
    thread.start()
    inside: set[str] = set()
    number = 0
    while gate.enter(Room(f"x{number}"), ticket(number)):
        inside.add(f"x{number}")
        number += 1
    thread.join()
    return inside, reported


@pytest.mark.parametrize("one_at_a_time", [True, False])
def test_what_is_reported_is_all_that_was_let_in(
    one_at_a_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soloist.net.member.gate._one_at_a_time", lambda: one_at_a_time)
    for _ in range(ROUNDS):
        entered = gate()
        inside, (reported,) = all_go_in(entered)
        assert inside <= reported
        assert {
            lock for lock, _ in entered.member.holds
        } == inside  # one that was reported too early is so no more


class LooksFirst(Gate):
    """Is let in, and says so only then."""

    def enter(self, room: AnyRoom, ticket: Ticket) -> bool:
        ends = self._ends
        if room.epoch == self._open and self.clock() < ends:
            self._noted[ticket] = room
            return True
        return False


@pytest.mark.parametrize("kind", [Gate, LooksFirst])
def test_a_step_in_the_middle_of_an_entry(kind: type[Gate]) -> None:
    """While the loop looks at the clock the thread wedges, and reports: and misses whoever is noted too late."""
    reported: list[set[str]] = []

    def clock() -> float:
        if not reported:
            thread = threading.Thread(target=wedge_some_time, args=(middle, reported))
            thread.start()
            thread.join()
        return time.monotonic()

    middle = kind(Member(node=ME, view=VIEW, worth={"1": time.monotonic() + 600}), clock, lambda: None)
    assert middle.enter(Room("x"), ticket(1))
    assert reported == [{"x"} if kind is Gate else set()]
    assert not middle.enter(Room("y"), ticket(2))


@pytest.mark.parametrize("one_at_a_time", [True, False])
def test_who_leaves_is_not_held_any_more(one_at_a_time: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stay, some leave at once and some later, in any order; what the member knows is what is so."""
    monkeypatch.setattr("soloist.net.member.gate._one_at_a_time", lambda: one_at_a_time)
    for _ in range(ROUNDS):
        passed = gate()
        reported: list[set[str]] = []
        thread = threading.Thread(target=wedge_some_time, args=(passed, reported))
        thread.start()
        inside: dict[str, Ticket] = {}
        number = 0
        while passed.enter(Room(f"x{number}"), caller := ticket(number)):
            inside[f"x{number}"] = caller
            number += 1
            while inside and random.random() < 0.6:
                lock = random.choice(list(inside))
                goes_on = passed.leave(Room(lock), gone := inside.pop(lock))
                assert not gone.lost
                if not goes_on:
                    break
        thread.join()
        assert {lock for lock, _ in passed.member.holds} == set(inside)
        for lock, caller in inside.items():
            assert passed.holding(lock, 1, caller)
            assert not passed.leave(Room(lock), caller)
        assert not passed.member.holds


@pytest.mark.parametrize("one_at_a_time", [True, False])
def test_a_lease_that_ends(one_at_a_time: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.net.member.gate._one_at_a_time", lambda: one_at_a_time)
    now = 0.0
    watched = Gate(Member(node=ME, view=VIEW, worth={"1": 10.0}), lambda: now, lambda: None)
    first, second, third = (ticket(number) for number in range(3))
    assert watched.enter(Room("x"), first)
    assert watched.enter(Room("y", 3), second)
    assert watched.holding("x", 1, first)
    assert not watched.enter(Room("z", epoch=VIEW.epoch - 1), third)
    now = 10.0
    assert not watched.enter(Room("z"), third)
    assert watched.leave(Room("y", 3), second)
    assert second.lost
    assert not watched.holding("x", 1, first)
    assert watched.leave(Room("x"), first)
    assert first.lost
    assert not watched.member.holds


def test_a_lease_that_ended_and_was_renewed_in_the_middle_of_an_entry() -> None:
    """What was noted is lost with all else at the end of the lease; a renewal does not bring it back."""
    now = 10.0

    class Interrupted(dict[Ticket, AnyRoom]):
        def __setitem__(self, caller: Ticket, noted: AnyRoom) -> None:
            super().__setitem__(caller, noted)
            with renewed.step() as member:
                member.lose_all()
                member.worth["1"] = 20.0

    renewed = Gate(Member(node=ME, view=VIEW, worth={"1": 10.0}), lambda: now, lambda: None)
    renewed._noted = Interrupted()
    let_in = renewed.enter(Room("x"), ticket(1))
    assert ("x", 0) in renewed.member.holds or not let_in


def test_one_look_at_the_clock_says_whether_and_when() -> None:
    looks: list[float] = []

    def clock() -> float:
        looks.append(time.monotonic())
        return looks[-1]

    looked = Gate(Member(node=ME, view=VIEW, worth={"1": time.monotonic() + 600}), clock, lambda: None)
    assert looked.enter(Room("x"), caller := ticket(1))
    assert [caller.entered] == looks
    with looked.step():
        pass  # now the member knows of it
    assert looked.leave(Room("x"), caller)
    assert not caller.lost
