"""What a trace tells that no figure of a run does: who had heard of whom, and which requests crossed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable

import msgspec

from soloist.core import Site
from soloist.core.trace import Recorder, Step
from soloist.sim import Experiment, simulate


def traced(experiment: Experiment) -> list[Step]:
    """All steps of one run."""
    recorder = Recorder()
    simulate(experiment, recorder=recorder)
    return recorder.steps


class CausalOrder(msgspec.Struct, frozen=True):
    """How well the order of entries agrees with what the askers knew."""

    entries: int
    passed: int
    """Entries of a request whose site knew, when it asked, of an older request that was still not served."""


def causal_order(steps: Iterable[Step]) -> CausalOrder:
    """b asked after hearing of a's request, through any chain of messages: then a should enter first."""
    waiting: set[int] = set()
    known: defaultdict[Site, set[int]] = defaultdict(set)
    ahead: dict[int, set[int]] = {}
    request_of: dict[Site, int] = {}
    flying: defaultdict[tuple[Site, Site, int], deque[set[int]]] = defaultdict(deque)
    entries = passed = 0
    for step in steps:
        site = step.site
        match step.kind:
            case "request":
                request_of[site] = number = len(ahead)
                ahead[number] = known[site] & waiting
                waiting.add(number)
                known[site] = (known[site] & waiting) | {number}
            case "send":
                assert step.peer is not None
                flying[site, step.peer, id(step.message)].append(set(known[site]))
            case "deliver":
                assert step.peer is not None
                known[site] |= flying[step.peer, site, id(step.message)].popleft() & waiting
            case "enter":
                number = request_of[site]
                waiting.discard(number)
                entries += 1
                passed += bool(ahead[number] & waiting)
    return CausalOrder(entries, passed)


class Served(msgspec.Struct, frozen=True):
    """One request that is over: what it cost, and how many others crossed it."""

    messages: int
    """REQUESTs sent, REPLYs received, FLUSHes sent: as Lodha and Kshemkalyani count in section 4.1."""
    concurrent: int
    """Others whose request arrived after this one was made, and the other way round (their definition 1)."""
    lower: bool
    """Whether one of these has a lower priority, so that a FLUSH is due."""


def concurrency(steps: Iterable[Step]) -> list[Served]:
    """Each request of a trace of an algorithm with REQUEST, REPLY and FLUSH."""
    cost: Counter[int] = Counter()
    made: dict[int, int] = {}
    priority: dict[int, tuple[int, Site]] = {}
    owner: dict[int, Site] = {}
    served: set[int] = set()
    mine: dict[Site, list[int]] = defaultdict(list)
    of_message: dict[int, int] = {}
    received: dict[tuple[int, Site], int] = {}
    for now, step in enumerate(steps):
        site, kind = step.site, type(step.message).__name__
        match step.kind:
            case "request":
                made[len(made)] = now
                owner[len(owner)] = site
                mine[site].append(len(owner) - 1)
            case "send" if kind in ("Request", "Flush"):
                cost[mine[site][-1]] += 1
                if kind == "Request":
                    of_message[id(step.message)] = mine[site][-1]
                    priority[mine[site][-1]] = step.message.R  # type: ignore[union-attr]
            case "deliver" if kind == "Request":
                received[of_message[id(step.message)], site] = now
            case "deliver" if kind == "Reply":
                cost[mine[site][-1]] += 1
            case "exit":
                served.add(mine[site][-1])
    sites = sorted(mine)
    return [
        Served(cost[a], len(crossed), any(priority[b] > priority[a] for b in crossed))
        for a in sorted(served)
        if all((a, site) in received for site in sites if site != owner[a])
        for crossed in [_crossed(a, owner, mine, made, received)]
    ]


def _crossed(
    a: int,
    owner: dict[int, Site],
    mine: dict[Site, list[int]],
    made: dict[int, int],
    received: dict[tuple[int, Site], int],
) -> list[int]:
    """Of each other site, the last request it made before it heard of this one can be concurrent, and no other:
    an earlier one was over by then."""
    found = []
    for site, requests in mine.items():
        if site == owner[a]:
            continue
        before = bisect_left(requests, received[a, site], key=made.__getitem__)
        if before and received.get((requests[before - 1], owner[a]), made[a]) > made[a]:
            found.append(requests[before - 1])
    return found
