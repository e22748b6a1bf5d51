"""A gate between a loop and a thread: whoever is let in is known of before anything is reported, whoever comes first.

Callers go in and out by real instances, which do without the gate where they can.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from soloist.algorithms import find
from soloist.core import IDLE
from soloist.net.engine.instance import Instance
from soloist.net.engine.layout import Layout
from soloist.net.engine.sites import fresh
from soloist.net.engine.ticket import NEVER, Effects, Terms, Ticket
from soloist.net.member import gate as gates
from soloist.net.member.gate import Gate
from soloist.views import Lease, Member, Node, View
from soloist.views.messages import Registered
from soloist.views.view import Eviction

ME = Node("a", "a1")
VIEW = View(epoch=5, voters=("1",), members=(ME,), lease=Lease(10))
ROUNDS = 300
ROOMS = 4
LATER = 600.0


@pytest.fixture(autouse=True)
def hasty_threads() -> Iterator[None]:
    """They take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=[True, False], ids=["one thread at a time", "threads at once"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the interpreter's lock, and as if there were none."""
    monkeypatch.setattr(gates, "_one_at_a_time", lambda: request.param)


def gate(kind: type[Gate] = Gate, clock: Callable[[], float] = time.monotonic) -> Gate:
    return kind(Member(node=ME, view=VIEW, worth={"1": clock() + LATER}), clock, lambda: None)


def room(door: Gate, name: str = "x", places: int = 1, epoch: int = VIEW.epoch) -> Instance:
    """A lock, or a semaphore, of a node that is alone."""
    card = find("naimi-trehel" if places == 1 else "raymond-k")
    layout = Layout.of(name, 1, 0, places)
    return Instance(name, card, layout, Terms(Effects(), epoch, door=door), fresh(card, layout))


def goes_in(into: Instance) -> Ticket | None:
    caller = Ticket()
    into.request(caller)
    return caller if caller.fence else None


def noted(into: Instance) -> Instance:
    """The gate has heard of this room in this opening: from now on it need not be asked."""
    caller = goes_in(into)
    assert caller
    into.release(caller)
    return into


def let_in(into: Instance) -> Ticket:
    caller = goes_in(into)
    assert caller
    return caller


def held(door: Gate) -> set[str]:
    return {lock for lock, _ in door.member.holds}


def wedge_some_time(door: Gate, reported: list[set[str]]) -> None:
    """Now and then a step that changes nothing; then the one after which nobody may go in."""
    for _ in range(random.randrange(20)):
        with door.step():
            pass
    with door.step() as member:
        member.wedge(time.monotonic())
        reported.append({lock for lock, _ in member.holds})


def in_a_thread(work: Callable[..., None], *args: Any) -> None:
    thread = threading.Thread(target=work, args=args)
    thread.start()
    thread.join()


def test_what_is_reported_is_all_that_was_let_in(either: None) -> None:
    """Some stay, some leave at once and some later, in any order; what the member knows is what is so."""
    for _ in range(ROUNDS):
        door, reported = gate(), list[set[str]]()
        rooms = [room(door, f"x{number}") for number in range(ROOMS)]
        thread = threading.Thread(target=wedge_some_time, args=(door, reported))
        inside: dict[int, Ticket] = {}
        thread.start()
        while not reported:
            number = random.randrange(ROOMS)
            if caller := inside.pop(number, None):
                rooms[number].release(caller)
                assert not caller.lost
            elif caller := goes_in(rooms[number]):
                inside[number] = caller
        thread.join()
        assert not any(map(goes_in, rooms))
        assert held(door) == {f"x{number}" for number in inside}
        assert held(door) <= reported[0]
        for number, caller in inside.items():
            assert door.holding(f"x{number}", 1, caller)
            rooms[number].release(caller)
            assert not caller.lost
        assert not held(door)


def test_of_a_semaphore_all_places_are_known() -> None:
    for _ in range(ROUNDS // 3):
        door, reported = gate(), list[set[str]]()
        several = room(door, places=3)
        inside = [let_in(several)]
        thread = threading.Thread(target=wedge_some_time, args=(door, reported))
        thread.start()
        while not reported:
            if len(inside) == 3 or (inside and random.random() < 0.5):
                several.release(inside.pop(random.randrange(len(inside))))
            elif caller := goes_in(several):
                inside.append(caller)
        thread.join()
        assert {hold.fence for hold in door.member.holds.values()} == {caller.fence for caller in inside}


class Shelf(dict[int, Ticket]):
    """Those inside of a room; something happens when the next one is put there, or taken away."""

    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None

    def __setitem__(self, site: int, caller: Ticket) -> None:
        self._between(super().__setitem__, site, caller)

    def __delitem__(self, site: int) -> None:
        self._between(super().__delitem__, site)

    def _between(self, work: Callable[..., None], *args: Any) -> None:
        before, after = self.before, self.after
        self.before = self.after = None
        if before:
            before()
        work(*args)
        if after:
            after()


def test_a_step_in_the_middle_of_an_entry() -> None:
    """While the loop looks at the clock the thread wedges, and reports; the look that follows finds it, and it is reported again."""
    reported: list[set[str]] = []
    armed = False

    def clock() -> float:
        nonlocal armed
        if armed:
            armed = False
            in_a_thread(wedge_some_time, middle, reported)
        return time.monotonic()

    middle = gate(clock=clock)
    x, armed = noted(room(middle)), True
    assert not goes_in(x)
    assert reported == [{"x"}]
    assert not held(middle)


class PutsLate(Shelf):
    """The mistake: who goes in is put there only after all looks."""

    def __setitem__(self, site: int, caller: Ticket) -> None:
        self.late = (site, caller)


@pytest.mark.parametrize("kind", [Shelf, PutsLate])
def test_a_step_at_the_end_of_an_entry(kind: type[Shelf]) -> None:
    door, reported = gate(), list[set[str]]()
    x = noted(room(door))
    x.inside = kind()
    assert goes_in(x)
    wedge_some_time(door, reported)
    assert reported == [{"x"} if kind is Shelf else set()]


class OneForAll(Gate):
    """The mistake: when the gate is opened again it is the same opening as before."""

    def _refresh(self) -> None:
        one = self._opening
        super()._refresh()
        if one is not NEVER and self._opening is not one:
            one.ends = one.until = self._opening.until
            self._opening = one


@pytest.mark.parametrize("kind", [Gate, OneForAll])
def test_a_lease_that_ended_and_was_renewed_in_the_middle_of_an_entry(kind: type[Gate]) -> None:
    """Who was put there is lost with all else at the end of the lease; a renewal does not bring it back."""
    door = gate(kind)
    x = noted(room(door))
    x.inside = shelf = Shelf()

    def ends_and_is_renewed() -> None:
        with door.step() as member:
            member.lose_all()
            member.worth["1"] += LATER

    shelf.after = ends_and_is_renewed
    assert goes_in(x)
    assert ("x" in held(door)) == (kind is Gate)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_step_in_the_middle_of_an_exit(when: str, either: None) -> None:
    """Whether it has reported the hold or has not: nobody has it any more, and the place does not go on in this epoch."""
    door, reported = gate(), list[set[str]]()
    x = noted(room(door))
    x.inside = shelf = Shelf()
    caller = let_in(x)
    setattr(shelf, when, lambda: wedge_some_time(door, reported))
    x.release(caller)
    assert not held(door)
    assert not caller.lost
    assert x.first.process.phase is not IDLE
    if when == "before":
        assert reported == [{"x"}]


def test_steps_that_change_nothing_in_the_middle_of_an_exit(either: None) -> None:
    for when in ("before", "after"):
        door = gate()
        x = noted(room(door))
        x.inside = shelf = Shelf()
        for _ in range(2):
            caller = let_in(x)
            setattr(shelf, when, lambda door=door: step_over(door))
            x.release(caller)
            assert not caller.lost
            assert not held(door)
            assert x.first.process.phase is IDLE


def step_over(door: Gate) -> None:
    with door.step():
        pass


def test_who_is_refused_is_in_no_report() -> None:
    """A step comes as soon as the gate has said no, before the loop does anything else."""
    now = 0.0
    door = gate(clock=lambda: now)
    x = noted(room(door))

    class StepsIn:
        """The mutex; each time that it is free again there is a step."""

        def __init__(self, mutex: Any) -> None:
            self.mutex, self.busy = mutex, False

        def __enter__(self) -> None:
            self.mutex.acquire()

        def __exit__(self, *error: object) -> None:
            self.mutex.release()
            if not self.busy:
                self.busy = True
                step_over(door)
                self.busy = False

    door.mutex = StepsIn(door.mutex)  # type: ignore[assignment]
    now = LATER
    assert not goes_in(x)
    assert not held(door)


def test_a_lease_that_ends(either: None) -> None:
    now = 0.0
    door = gate(clock=lambda: now)
    rooms = [noted(room(door, name, places)) for name, places in (("x", 1), ("y", 3), ("z", 1), ("w", 1))]
    x, y, z, w = rooms
    first, second, third = let_in(x), let_in(y), let_in(w)
    assert door.holding("x", 1, first)
    assert not goes_in(room(door, "v", epoch=VIEW.epoch - 1))
    now = LATER
    assert not goes_in(z)
    y.release(second)
    assert second.lost
    assert not door.holding("x", 1, first)
    x.release(first)
    assert first.lost
    with door.step() as member:  # it is renewed, and nobody has been asked about the third
        member.worth["1"] += LATER
        member.lose_all()
    w.release(third)
    assert third.lost
    assert not held(door)


def test_a_lease_that_ended_before_a_step_that_has_not_seen_the_hold() -> None:
    """It was given back in the middle of that; the step renews the lease, too late for it."""
    now = 0.0
    door = gate(clock=lambda: now)
    x = noted(room(door))
    x.inside = shelf = Shelf()
    caller = let_in(x)
    now = LATER

    def renew() -> None:
        with door.step() as member:
            member.worth["1"] += LATER

    shelf.after = renew
    x.release(caller)
    assert caller.lost
    assert x.first.process.phase is IDLE  # its place goes on


def test_what_was_broken_is_lost_although_there_is_a_lease(either: None) -> None:
    door = gate()
    x = noted(room(door))
    caller = let_in(x)
    with door.step() as member:
        member.let_go((Eviction("x", caller.fence + 1),))
    assert not door.holding("x", 1, caller)
    x.release(caller)
    assert caller.lost


def test_one_look_at_the_clock_says_whether_and_when() -> None:
    looks: list[float] = []

    def clock() -> float:
        looks.append(time.monotonic())
        return looks[-1]

    door = gate(clock=clock)
    x = noted(room(door))
    looks.clear()
    caller = let_in(x)
    assert [caller.entered] == looks
    x.release(caller)
    assert len(looks) == 2


def test_the_gate_is_not_asked_twice_in_one_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or an entry would cost more."""
    asked: list[str] = []
    for name in ("enter", "leave"):
        real = getattr(Gate, name)
        monkeypatch.setattr(Gate, name, lambda *args, name=name, real=real: asked.append(name) or real(*args))
    door = gate()
    x = noted(room(door))
    for _ in range(3):
        x.release(let_in(x))
    assert asked == ["enter"]
    step_over(door)
    x.release(let_in(x))
    assert asked == ["enter", "enter"]


def test_a_registered_entry_says_nothing_of_who_else_is_inside() -> None:
    """Of a semaphore: one goes in between the step that heard of the registration and the entry."""
    door = gate()
    several, registered = room(door, places=2), Ticket()
    registered.delay = 5.0
    several.request(registered)
    hold = registered.registration
    assert hold
    with door.step() as member:
        member.receive("a", Registered("1", VIEW.epoch, hold), door.clock())
    other = let_in(several)
    several.heard_of(hold)
    assert registered.fence
    several.release(other)
    assert not other.lost
    several.release(registered)
    assert not registered.lost
    assert not held(door)
