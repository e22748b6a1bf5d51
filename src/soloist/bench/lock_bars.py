"""What we want our locks to reach, beside what others do in the same run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from soloist.bench.bars import Bar
from soloist.bench.locks import LOOPS, OURS, RICART, Measurement
from soloist.net.cards import USUAL


class Goal(NamedTuple):
    """A figure of ours as a multiple of a peer's, or by itself, and what it should be."""

    what: str
    ours: str
    theirs: str
    figure: Callable[[Measurement], float | None]
    limit: float
    at_most: bool
    settings: tuple[str, ...] = ()
    """Of ours for which it is meant; none: all."""
    beside: str = ""
    """The setting of the other, where it has several."""

    def is_beside(self, row: Measurement) -> bool:
        return row.system == self.theirs and self.beside in ("", row.setting)


def _hand_off(row: Measurement) -> float | None:
    return row.hand_off_p50_us


def _rate(row: Measurement, processes: int = 8) -> float | None:
    return busy.entries_per_second if (busy := row.at(processes)) else None


def _jain(row: Measurement) -> float | None:
    return busy.jain if (busy := row.at(8)) else None


def _longest_run(row: Measurement) -> float | None:
    return busy.longest_run if (busy := row.at(8)) else None


LOCK = USUAL[0]
TCP = ("asyncio, TCP", "uvloop, TCP")
CLIENTS = (("client", "postgresql-unix"), ("client-tcp", "postgresql"))
"""Clients of a node beside those of PostgreSQL, each by the same way."""
ON_ASYNCIO, ON_UVLOOP = ("asyncio", "asyncio, TCP"), ("uvloop", "uvloop, TCP")
GOALS = (
    Goal("re-entry / redis-py's pair", LOCK, "redis-py", lambda row: row.pair_us, 0.02, True),
    Goal("hand-off p50 / central", LOCK, "central", _hand_off, 0.7, True, ON_ASYNCIO),
    Goal("hand-off p50 / central-uvloop", LOCK, "central-uvloop", _hand_off, 0.7, True, ON_UVLOOP),
    *(
        Goal("hand-off p50 / bare message", LOCK, "one-way message", _hand_off, 1.4, True, (each,), loop)
        for each, loop in zip(TCP, LOOPS, strict=True)
    ),
    Goal("hand-off p50 / postgresql", LOCK, "postgresql", _hand_off, 0.8, True),
    Goal("entries/s at 8 / central-buffered", LOCK, "central-buffered", _rate, 1.3, False, TCP),
    Goal("entries/s at 8 / central-uvloop", LOCK, "central-uvloop", _rate, 1.0, False, TCP),
    Goal("entries/s at 8 / postgresql", LOCK, "postgresql", _rate, 3.0, False, TCP),
    Goal("entries/s at 32 / central", LOCK, "central", partial(_rate, processes=32), 1.0, False, TCP),
    Goal("entries/s at 8 / python-redis-lock", RICART, "python-redis-lock", _rate, 1.0, False),
    *(Goal(f"pair / {theirs}", ours, theirs, lambda row: row.pair_us, 1.0, True) for ours, theirs in CLIENTS),
    *(Goal(f"hand-off p50 / {theirs}", ours, theirs, _hand_off, 1.0, True) for ours, theirs in CLIENTS),
    *(Goal(f"entries/s at 8 / {theirs}", ours, theirs, _rate, 1.0, False) for ours, theirs in CLIENTS),
    *(Goal("Jain index at 8", name, "", _jain, 0.99, False) for name in OURS),
    *(Goal("longest run at 8", name, "", _longest_run, 2, True) for name in OURS),
)


def bars(rows: Sequence[Measurement]) -> list[Bar]:
    """What we want to reach, as far as it was measured, in each setting: the median of what the rounds say, each by itself."""
    measured = [row for row in rows if not row.missing]
    found = []
    for goal in GOALS:
        theirs = next((row for row in measured if goal.is_beside(row)), None)
        for ours in measured:
            if ours.system != goal.ours or (goal.settings and ours.setting not in goal.settings):
                continue
            if values := _values(goal, ours, theirs):
                found.append(Bar.of(goal.what, goal.ours, ours.setting, values, goal.limit, goal.at_most))
    return found


def _values(goal: Goal, ours: Measurement, theirs: Measurement | None) -> list[float]:
    """The figure in each round, or how many times the other's it is: both were measured in that round."""
    figures = [goal.figure(each) for each in ours.rounds or [ours]]
    if not goal.theirs:
        return [each for each in figures if each is not None]
    scales = [goal.figure(each) for each in theirs.rounds or [theirs]] if theirs else []
    return [a / b for a, b in zip(figures, scales, strict=False) if a is not None and b]
