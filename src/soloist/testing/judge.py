"""What came of a nemesis: the journals of all, against the log of what was done to them.

Safety is judged without a clock of its own: two inside, a fence that did not grow, a grant where no majority is heard.
How long recovery took is told beside it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from soloist.testing.haunted import Tally
from soloist.testing.journal import Entry, problems
from soloist.testing.store import Books

SLACK_SECONDS = 1.0
"""Seconds beyond a lease, until a lock that a fault has touched is entered again."""


class Fault(msgspec.Struct, frozen=True):
    """Something was done to the cluster, or ended."""

    at: float
    what: str
    kind: str | None = None
    """None: it has ended, or is a part of the one before."""
    few: tuple[str, ...] = ()
    """Nodes that hear no majority from now on, until the next one of these."""


class Judgement(msgspec.Struct):
    """What came of it all."""

    seed: int
    seconds: float
    entries: int
    losses: int
    errors: dict[str, int]
    faults: list[Fault]
    epochs: int
    """Views that were begun, the first not counted."""
    recoveries: int
    """How often a lock was entered again after a fault during which nobody entered it."""
    worst: float
    """Seconds, at most, from the last fault that touched a lock until it was entered again."""
    worst_by: dict[str, float]
    """The same for each kind of fault."""
    late: list[str]
    """Where that was more than a lease and a second."""
    problems: list[str]
    """Two inside, a fence that did not grow, a grant without a majority, a wrong write."""
    writes: int = 0
    """That the store has taken."""
    stale: int = 0
    """That it has refused, as they came too late."""


class Recovery(msgspec.Struct, frozen=True):
    """A while in which nobody entered or left a lock."""

    lock: int
    seconds: float
    after: Fault | None
    """The last fault in it; None: nothing was done to anybody meanwhile."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that there is to judge by."""

    entries: list[Entry]
    faults: list[Fault]
    tallies: list[Tally]
    books: Books
    began: float
    ended: float
    locks: int
    lease: float


def judge(seed: int, found: Evidence) -> Judgement:
    recoveries = [each for each in silences(found) if each.after]
    late = [each for each in silences(found) if each.seconds > found.lease + SLACK_SECONDS]
    worst_by: dict[str, float] = {}
    for each in recoveries:
        kind = kind_of(found.faults, each.after)
        worst_by[kind] = max(worst_by.get(kind, 0.0), each.seconds)
    epochs = {entry.fence >> 40 for entry in found.entries}
    return Judgement(
        seed=seed,
        seconds=found.ended - found.began,
        entries=len(found.entries),
        losses=sum(tally.losses for tally in found.tallies),
        errors=_sums(tally.errors for tally in found.tallies),
        faults=found.faults,
        epochs=max(epochs) - min(epochs),
        recoveries=len(recoveries),
        worst=max((each.seconds for each in recoveries), default=0.0),
        worst_by=worst_by,
        late=[_words(each) for each in late],
        problems=[
            *problems(found.entries),
            *grants_of_the_few(found),
            *found.books.problems,
            *(each for tally in found.tallies for each in tally.problems),
        ],
        writes=found.books.accepted,
        stale=found.books.refused,
    )


def silences(found: Evidence) -> Iterator[Recovery]:
    """Of each lock: from one sign of life to the next, or from the last fault between the two."""
    for lock in range(found.locks):
        mine = [entry for entry in found.entries if entry.lock == lock]
        times = sorted([found.began, *(e.since for e in mine), *(e.until for e in mine), found.ended])
        for before, after in itertools.pairwise(times):
            last = bisect_right(found.faults, after, key=lambda fault: fault.at) - 1
            fault = found.faults[last] if last >= 0 and found.faults[last].at >= before else None
            yield Recovery(lock, after - (fault.at if fault else before), fault)


def grants_of_the_few(found: Evidence) -> list[str]:
    """Who hears no majority for a lease has none."""
    wrong = []
    cuts = [fault for fault in found.faults if fault.few]
    for cut in cuts:
        healed = next((fault.at for fault in found.faults if fault.at > cut.at), found.ended)
        wrong += [
            f"lock {entry.lock}: {entry.holder} was let in {entry.since - cut.at:.2f} s after: {cut.what}"
            for entry in found.entries
            if entry.holder in cut.few and cut.at + found.lease < entry.since < healed
        ]
    return wrong


def kind_of(faults: Sequence[Fault], fault: Fault | None) -> str:
    """What that one was, or was the end of."""
    place = faults.index(fault) if fault else 0
    return next((each.kind for each in reversed(faults[: place + 1]) if each.kind), "nothing")


def _words(each: Recovery) -> str:
    why = each.after.what if each.after else "nothing"
    return f"lock {each.lock}: not entered for {each.seconds:.2f} s after: {why}"


def _sums(counts: Iterator[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for kind, count in each.items():
            total[kind] = total.get(kind, 0) + count
    return total
