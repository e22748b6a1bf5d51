"""What `graphs`, `bypass` and `livelock` find out about a graph, for many states at once (NumPy)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from soloist.check.explore import Graph
from soloist.check.lookups import Ints
from soloist.check.packed import Packed
from soloist.check.parts import COUNTS, INSIDE_COUNT, LEFT_COUNT, WAITING_COUNT
from soloist.core import Site

BLOCK = 1 << 15
"""States that are looked at at once."""


class Edges:
    """All edges of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.states = len(graph.states)
        ends = np.frombuffer(graph.offsets, np.uint32).astype(np.int64)
        self.offsets = np.append(ends, np.full(self.states - graph.expanded, ends[-1]))
        """States that were not expanded have none."""
        self.targets = np.frombuffer(graph.targets, np.uint32)

    def of(self, states: Ints) -> tuple[Ints, Ints]:
        """Of each edge from these states: the place of its state among them, and where it leads."""
        self.graph.guard.look()
        starts = self.offsets[states]
        counts = self.offsets[states + 1] - starts
        origins = np.repeat(np.arange(len(states)), counts)
        if len(states) and states[-1] - states[0] == len(states) - 1:  # they follow each other
            return origins, self.targets[starts[0] : self.offsets[states[-1] + 1]].astype(np.int64)
        places = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return origins, self.targets[places].astype(np.int64)


def levels(graph: Graph) -> list[Ints] | None:
    """All states in groups, each after those that lead to it; None if some run comes back to where it was."""
    edges = Edges(graph)
    if (layers := _layers(graph, edges)) is not None:
        return layers
    incoming = np.bincount(edges.targets, minlength=edges.states).astype(np.int32)
    place = np.zeros(edges.states, np.int32)
    found = [np.flatnonzero(incoming == 0)]
    while found[-1].size:
        ready = [found[-1][:0]]
        for block in blocks(found[-1]):
            _, there = edges.of(block)
            np.subtract.at(incoming, there, 1)
            there = there[incoming[there] == 0]
            place[there] = np.arange(len(there))
            ready.append(there[place[there] == np.arange(len(there))])  # each of them once
        found.append(np.sort(np.concatenate(ready)))
    return found if sum(map(len, found)) == edges.states else None


def _layers(graph: Graph, edges: Edges) -> list[Ints] | None:
    """The states by their distance from the start, if every edge leads farther away; else None. So it is where all ways to
    a state have the same number of steps: then there is no need to count what leads to each."""
    found, first = [], 0
    for end in accumulate(graph.growth):
        there = edges.targets[edges.offsets[first] : edges.offsets[end]]
        if there.size and there.min() < end:
            return None
        found.append(np.arange(first, end))
        first = end
    return found


def bypass(graph: Graph, levels: list[Ints]) -> int:
    """The most entries of others that a site has waited through: level by level, for each waiting site."""
    n, edges, phases = graph.space.model.n, Edges(graph), phases_of(graph).astype(np.uint16)
    ones = np.array([number.bit_count() for number in range(1 << n)], np.uint16)
    counted = np.zeros((n, edges.states), np.uint16)
    for block in (block for level in levels for block in blocks(level)):
        origins, there = edges.of(block)
        before, after = phases[block].take(origins), phases.take(there)
        entries = ones.take(after & ~before & (1 << n) - 1)
        waits = before & after
        for site, most in enumerate(counted):
            passed = most[block].take(origins) + entries
            some = np.flatnonzero((waits & 1 << n + site != 0) & (passed != 0))
            np.maximum.at(most, there.take(some), passed.take(some))
    return int(counted.max())


def lost(graph: Graph, levels: list[Ints] | None) -> int | None:
    """The nearest state from which none can be reached in which everybody has been served."""
    edges, counts = Edges(graph), counts_of(graph)
    reaches = (counts & (LEFT_COUNT | WAITING_COUNT) == 0) & (counts & INSIDE_COUNT == graph.space.model.base)
    if levels is not None:
        for block in (block for level in reversed(levels) for block in blocks(level)):
            _reach(edges, block, reaches)
    else:
        known = -1
        while known < (known := int(np.count_nonzero(reaches))):
            for block in reversed(list(blocks(np.arange(edges.states)))):
                while _reach(edges, block, reaches):
                    pass
    return None if reaches.all() else int(np.argmin(reaches))


def _reach(edges: Edges, states: Ints, reaches: NDArray[np.bool_]) -> bool:
    """Mark those of some states that lead to one that is marked; whether there were any."""
    states = states[~reaches[states]]
    origins, there = edges.of(states)
    new = states[origins[reaches[there]]]
    reaches[new] = True
    return bool(new.size)


def blocks(states: Ints) -> Iterator[Ints]:
    for first in range(0, len(states), BLOCK):
        yield states[first : first + BLOCK]


def returning(graph: Graph, states: list[int]) -> list[int]:
    """Those of some states from which a run may come back to where it was, and others: what leads nowhere among them is left out."""
    edges = Edges(graph)
    among = np.zeros(edges.states, bool)
    rest = np.array(states, np.int64)
    among[rest] = True
    while True:
        origins, there = edges.of(rest)
        onward = np.zeros(len(rest), bool)
        onward[origins[among[there]]] = True
        if onward.all():
            found: list[int] = rest.tolist()
            return found
        among[rest[~onward]] = False
        rest = rest[onward]


def most_inside(graph: Graph) -> int:
    inside = counts_of(graph) & INSIDE_COUNT
    return graph.space.model.inside(int(inside.max()))


def waiting(graph: Graph, site: Site) -> list[int]:
    """The states that were expanded in which a site waits."""
    found: list[int] = np.flatnonzero(
        phases_of(graph)[: graph.expanded] >> graph.space.model.n + site & 1
    ).tolist()
    return found


def counts_of(graph: Graph) -> Ints:
    assert isinstance(graph.states, Packed)
    return graph.states.counted()


def phases_of(graph: Graph) -> Ints:
    """Who is inside and who waits in each state: see `Model.phases`."""
    return counts_of(graph) >> COUNTS & graph.space.model.phase_bits
