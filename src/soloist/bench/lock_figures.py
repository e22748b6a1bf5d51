"""What the client processes of the lock benchmark did, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from statistics import quantiles
from typing import NamedTuple

import msgspec

from soloist.bench.bars import Spread
from soloist.bench.lock_workers import NANOSECONDS, Done

WARM_UP = 0.2
"""Share of the time that is not counted."""


def spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if len(known) > 1 else None


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def with_spread(value: float | None, around: Spread | None) -> str:
    """With half the distance of the least and the largest, in percent."""
    if not value or around is None:
        return number(value)
    return f"{number(value)} ±{(around[1] - around[0]) / 2 / value:.0%}"


class Visit(NamedTuple):
    entered: int
    left: int
    process: int


def in_order(done: Iterable[Done]) -> list[Visit]:
    """In the order of entry: all processes of a machine share one clock."""
    return sorted(
        Visit(entered, left, process)
        for process, each in enumerate(done)
        for task in each.visits
        for entered, left in task
    )


def overlaps(visits: Sequence[Visit]) -> int:
    return sum(b.entered < a.left for a, b in pairwise(visits))


def most_inside(visits: Sequence[Visit]) -> int:
    """How many were inside together, at most."""
    events = sorted([(v.entered, 1) for v in visits] + [(v.left, -1) for v in visits])
    inside = most = 0
    for _, change in events:
        inside += change
        most = max(most, inside)
    return most


class Contended(msgspec.Struct, frozen=True):
    """P processes that want nothing but to enter."""

    processes: int
    entries_per_second: float
    jain: float
    longest_run: int
    """The most entries in a row by one process."""
    messages_per_entry: float | None = None
    """Of ours."""
    spread: Spread | None = None
    """Of entries per second."""


def contention(done: Sequence[Done], seconds: float) -> Contended:
    """What counts is the time when all are at it: neither the first moments nor what was begun before the end."""
    visits = in_order(done)
    messages = sum(each.messages for each in done) / len(visits) if visits else 0.0
    end = max((each.end for each in done), default=0)
    begin = end - int(seconds * (1 - WARM_UP) * NANOSECONDS)
    visits = [visit for visit in visits if begin <= visit.entered < end]
    counts = [sum(visit.process == process for visit in visits) for process in range(len(done))]
    squares = sum(count * count for count in counts)
    jain = sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0
    runs = [len(list(run)) for _, run in groupby(visits, key=lambda visit: visit.process)]
    rate = len(visits) * NANOSECONDS / (end - begin)
    return Contended(len(done), rate, jain, max(runs, default=0), messages or None)


def p50_p99(nanoseconds: Sequence[int]) -> tuple[float | None, float | None]:
    if len(nanoseconds) < 2:
        return None, None
    cuts = quantiles(nanoseconds, n=100, method="inclusive")
    return cuts[49] / 1000, cuts[98] / 1000
