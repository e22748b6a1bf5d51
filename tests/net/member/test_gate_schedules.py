"""A gate's loop and thread, line by line: one goes on so far, then the other so far, then each to its end; for every two such points.

What happens inside a line is in test_gate.py.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType
from typing import Any

import pytest

from soloist.core import IDLE
from soloist.net.engine.instance import Instance
from soloist.net.engine.ticket import Opening, Ticket
from soloist.net.member.gate import Gate
from soloist.views import Member
from soloist.views.view import Eviction
from tests.net.member.test_gate import LATER, gate, goes_in, held, let_in, noted, room

TRACED = {
    *(each.__code__ for each in (Instance._let_in, Instance.release)),
    *(each.__code__ for each in (Gate._close, Gate._keep, Gate._refresh, Gate.enter, Gate.leave)),
    Gate.step.__wrapped__.__code__,  # type: ignore[attr-defined]
}
"""Where one may be stopped."""
FIRST, SECOND = 0, 1


class Schedule:
    """Two threads of which one runs at a time: the first for so many lines, the second for so many, then each to its end.

    `rests`: the first lets the second come to its end while it is inside.
    """

    def __init__(self, lines: int, others: int, rests: bool = False) -> None:
        self.rests = rests
        self.left = [lines, others]
        self.over = [False, False]
        self.go = [threading.Semaphore(0), threading.Semaphore(0)]
        self.owner: int | None = None
        """Who has the mutex."""
        self.me = threading.local()
        self.errors: list[BaseException] = []

    def run(self, *works: Callable[[], None]) -> bool:
        """Whether both were stopped where they were to be."""
        threads = [
            threading.Thread(target=self._work, args=(who, work), daemon=True)
            for who, work in enumerate(works)
        ]
        for thread in threads:
            thread.start()
        self.go[FIRST].release()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "both wait for each other"
        for error in self.errors:
            raise error
        return self.left[FIRST] < 0

    def _work(self, who: int, work: Callable[[], None]) -> None:
        self.me.who = who
        self.go[who].acquire()
        sys.settrace(self._entered)
        try:
            work()
        except BaseException as error:
            self.errors.append(error)
        finally:
            sys.settrace(None)
            self.over[who] = True
            self.go[1 - who].release()

    def _entered(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._passed if frame.f_code in TRACED else None

    def _passed(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.pause()
        return self._passed

    def pause(self) -> None:
        """As if this were one more line."""
        self.left[self.me.who] -= 1
        if self.left[self.me.who] == -1:
            self.let_go_on()

    def inside(self) -> None:
        self.let_go_on() if self.rests else self.pause()

    def let_go_on(self) -> None:
        """The other one."""
        who = self.me.who
        if not self.over[1 - who]:
            self.go[1 - who].release()
            self.go[who].acquire()

    # As the mutex of the gate.

    def __enter__(self) -> None:
        while self.owner is not None:
            self.let_go_on()
        self.owner = self.me.who

    def __exit__(self, *_: object) -> None:
        self.owner = None


class GathersFirst(Gate):
    """The mistake: who is inside is gathered before the gate is closed."""

    def _close(self) -> None:
        opening = self._opening
        self._opening = Opening(0.0, opening.clock)
        super()._close()
        self._opening = opening

    def _refresh(self) -> None:
        self._opening.close()
        super()._refresh()


class Refused(Exception):
    """What must not be."""


def nothing(member: Member) -> None:
    pass


def wedge(member: Member) -> None:
    member.wedge(time.monotonic())


def end_and_renew(member: Member) -> None:
    member.lose_all()
    member.worth["1"] += LATER


def break_it(member: Member) -> None:
    member.let_go((Eviction("x", sys.maxsize),))


STEPS = [nothing, wedge, end_and_renew, break_it]


def judge(kind: type[Gate], step: Callable[[Member], None], first: bool, schedule: Schedule) -> bool:
    """One schedule of an entry and an exit beside a step. False if they have not so many lines."""
    door = gate(kind)
    x = room(door) if first else noted(room(door))
    door.mutex = schedule  # type: ignore[assignment]
    inside, reported, was_inside = list[Ticket](), list[set[str]](), list[bool]()

    def goes_in_and_out() -> None:
        if caller := goes_in(x):
            inside.append(caller)
            schedule.inside()
            inside.clear()
            x.release(caller)
            callers.append(caller)

    def steps() -> None:
        with door.step() as member:
            was_inside.append(bool(inside))
            step(member)
            reported.append({lock for lock, _ in member.holds})

    callers: list[Ticket] = []
    went_on = schedule.run(goes_in_and_out, steps)
    (was,), (told,) = was_inside, reported
    if held(door):
        raise Refused("nobody is inside, and somebody is known of")
    if step is wedge:
        if was and told != {"x"}:
            raise Refused("somebody is inside, and is not reported")
        if told and x.first.process.phase is IDLE and callers:
            raise Refused("what was reported is passed on")
    elif callers and was:
        lost = step is not nothing
        if callers[0].lost != lost:
            raise Refused("lost, and not told so, or the other way round")
    elif step is nothing and not (callers and x.first.process.phase is IDLE):
        raise Refused("refused for nothing")
    return went_on


def schedules() -> Iterator[tuple[int, int]]:
    return ((lines, others) for lines in count() for others in STRETCHES)


def explore(kind: type[Gate], step: Callable[[Member], None], first: bool) -> int:
    """All of them. Gives how many."""
    for others in STRETCHES:
        judge(kind, step, first, Schedule(0, others, rests=True))
    for number, (lines, others) in enumerate(schedules()):
        if not judge(kind, step, first, Schedule(lines, others)):
            return number
    raise AssertionError


STRETCHES = (*range(20), sys.maxsize)
"""Lines of a step; with the last it comes to its end."""


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("first", [True, False], ids=["the first entry", "a later one"])
def test_every_schedule(step: Callable[[Member], None], first: bool) -> None:
    assert explore(Gate, step, first) > 100


def test_a_mistake_is_found() -> None:
    with pytest.raises(Refused):
        explore(GathersFirst, wedge, first=False)


def test_an_exit_of_who_is_known_beside_a_step() -> None:
    """Its entry was before: only its exit is beside the step."""
    for step in STEPS:
        for lines in range(20):
            for others in STRETCHES:
                door = gate()
                x = noted(room(door))
                caller = let_in(x)
                with door.step():
                    pass
                door.mutex = Schedule(lines, others)  # type: ignore[assignment]
                told: list[set[str]] = []

                def steps(step: Any = step, door: Gate = door, told: list[set[str]] = told) -> None:
                    with door.step() as member:
                        step(member)
                        told.append({lock for lock, _ in member.holds})

                door.mutex.run(lambda x=x, caller=caller: x.release(caller), steps)  # type: ignore[attr-defined]
                assert not held(door)
                if step in (nothing, wedge):
                    assert not caller.lost
                if step is wedge and told == [{"x"}]:
                    assert x.first.process.phase is not IDLE
