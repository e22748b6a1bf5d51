"""Epochs that begin with somebody inside, explored: from each such start the holders leave and everybody asks once more.

The starts are those that nodes make (`soloist.views.prefix`), for every set of slots that may be held. Judged are exclusion,
errors, deadlock, capacity, livelock and, where K = 1, the fence. The order of entries and starvation are not: these starts
are states that the algorithm reaches by itself, so what `soloist check` proves of it holds here as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from time import monotonic
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.check.beside import wanted
from soloist.check.explore import Limits, Watcher
from soloist.check.judge import HOLDS, INCOMPLETE, VIOLATED, Judge
from soloist.check.passes import Assignment
from soloist.check.properties import promised
from soloist.check.properties.capacity import Capacity
from soloist.check.properties.deadlock import Deadlock
from soloist.check.properties.error import Error
from soloist.check.properties.exclusion import Exclusion
from soloist.check.properties.fence import Fence
from soloist.check.properties.livelock import Livelock
from soloist.check.reductions import REDUCTIONS
from soloist.check.report import Report
from soloist.check.setting import Setting, setting
from soloist.core import Process
from soloist.views.prefix import Prefix, Slots, prefix

SIZES = ((2, 1), (3, 1), (2, 2), (3, 2), (3, 3))
"""Sites and places."""
JUDGED = frozenset(each.name for each in (Exclusion, Error, Deadlock, Capacity, Livelock, Fence))
LARGE = ((4, 1), (4, 2))
"""Sites and places; the second as two nodes have it that share a semaphore of two: two sites each."""


class Summary(msgspec.Struct):
    """What was found for one algorithm, over all its starts."""

    algorithm: str
    starts: int = 0
    states: int = 0
    seconds: float = 0.0
    verdict: str = HOLDS
    """holds, violated or incomplete"""
    property: str | None = None
    where: str = ""
    """The start that shows it."""
    reason: str = ""
    script: str = ""

    def record(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def held(card: Card, k: int) -> Iterator[Slots]:
    """Every set of slots that may be held, as far as the algorithm tells them apart."""
    for count in range(1, k + 1):
        if card.process.slot is Process.slot:
            yield (None,) * count
        else:
            yield from combinations(range(k), count)


def sizes_of(card: Card, large: bool = False) -> list[tuple[int, int]]:
    sizes = (*SIZES, *LARGE) if large else SIZES
    return [(n, k) for n, k in sizes if k == 1 or card.capacity == "K"]


def check_carry(
    card: Card, large: bool = False, limits: Limits | None = None, watch: Watcher | None = None
) -> Summary:
    """Explore an algorithm from all its starts; the first that fails ends it. States are limited for each of them,
    seconds for all together."""
    since, limits = monotonic(), limits or Limits()
    found = Summary(card.name)
    for n, k in sizes_of(card, large):
        for slots in held(card, k):
            start = prefix(card, n, k, slots)
            report = check_start(setting(card, n, 1, k), start, limits, watch, since)
            found.starts += 1
            found.states += report.states
            found.seconds = monotonic() - since
            if report.verdict != HOLDS and (found.verdict == HOLDS or report.verdict == VIOLATED):
                found.verdict, found.property = report.verdict, report.property
                found.where = f"{n} sites, K = {k}, holders at {', '.join(map(str, start.holders))}"
                found.reason, found.script = report.reason, report.script
            if found.verdict == VIOLATED:
                return found
    return found


def check_start(
    what: Setting,
    start: Prefix,
    limits: Limits | None = None,
    watch: Watcher | None = None,
    since: float | None = None,
) -> Report:
    """Explore a setting from one start."""
    what = msgspec.structs.replace(what, start=start)
    assignment = Assignment(
        what,
        promised(what) & JUDGED,
        frozenset(REDUCTIONS),
        limits or Limits(),
        endless_states=0,
        since=monotonic() if since is None else since,
    )
    return Judge(assignment, watch, wanted(0)).run(None)


def exit_code(found: list[Summary]) -> int:
    verdicts = {each.verdict for each in found}
    return 1 if VIOLATED in verdicts else 3 if INCOMPLETE in verdicts else 0
