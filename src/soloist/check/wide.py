"""The search of `explore`, many states at a time (NumPy): the same states and edges, several times as fast.

On FIFO links their order is the same, too. Where messages arrive in any order, those in one inbox are tried in the order in which
the search first met them; here this may be another one, so that of several counterexamples of the same length another may come first.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from soloist.check.explore import Graph, Guard
from soloist.check.lookups import Ints, Numbers
from soloist.check.parts import DUE_COUNT, WAITING_COUNT
from soloist.check.tables import Outgrown, Tables, TooWide

CHUNK = 1 << 15
"""States that are expanded at once."""


class Packed(Sequence[int]):
    """The states of a graph as keys, of 8 bytes each."""

    def __init__(self, tables: Tables, states: Sequence[int]) -> None:
        self.tables = tables
        self.numbers = Numbers()
        self.numbers.add(np.array([tables.key(state) for state in states], np.int64))

    def __len__(self) -> int:
        return self.numbers.count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        keys = self.numbers.keys
        if isinstance(index, slice):
            return self.tables.states(keys[index])
        return self.tables.states(keys[[index]])[0]

    def __iter__(self) -> Iterator[int]:
        for first in range(0, len(self), CHUNK):
            yield from self[first : first + CHUNK]

    def counts(self) -> list[int]:
        found: list[int] = self.tables.counts(self.numbers.keys).tolist()
        return found

    def repack(self) -> None:
        """Make room for more numbers of each part."""
        rows = self.tables.layout.split(self.numbers.keys)
        self.tables = Tables(self.tables.space)
        self.numbers = Numbers()
        self.numbers.add(self.tables.layout.join(rows))


def search(graph: Graph, guard: Guard, alarms: int, stuck: bool) -> bool:
    """Go on with a search to its end. False if it has to be left to `explore` again, since keys are too short for it."""
    try:
        graph.states = packed = Packed(Tables(graph.space), graph.states)
        graph.forget_index()
        wide = Wide(graph, packed, guard, alarms, stuck)
        while wide.goes_on():
            wide.step()
    except TooWide:
        graph.states = list(graph.states)
        return False
    finally:
        if isinstance(graph.states, Packed):
            graph.states.numbers.close()
    return True


class Wide:
    """One search under way."""

    def __init__(self, graph: Graph, packed: Packed, guard: Guard, alarms: int, stuck: bool) -> None:
        self.graph = graph
        self.packed = packed
        self.guard = guard
        self.alarms = alarms
        self.stuck = stuck
        self.ended = False

    def goes_on(self) -> bool:
        return not self.ended and self.graph.expanded < len(self.packed)

    def step(self) -> None:
        """Expand the next states."""
        first = self.graph.expanded
        keys = self.packed.numbers.keys[first : first + CHUNK]
        try:
            counts, targets = self.packed.tables.expand(keys)
            there, fresh, edges = self._number(targets)
        except Outgrown:
            self.packed.repack()
            return
        ends = np.cumsum(counts)
        owners = np.searchsorted(ends, edges, side="right")
        after = len(self.packed) + np.searchsorted(owners, np.arange(len(keys)), side="right")
        # Stop where a search that takes one state after the other would.
        states = min(int(np.searchsorted(after, self.guard.limits.states)) + 1, len(keys))
        new = int(after[states - 1]) - len(self.packed)
        last = int(ends[states - 1])
        alarm = self._alarm(fresh[:new])
        if alarm is not None:
            states, new, last = int(owners[alarm]) + 1, alarm + 1, int(edges[alarm]) + 1
            self.graph.alarm = len(self.packed) + alarm
            after[states - 1], ends[states - 1] = len(self.packed) + new, last
        self._layers(first, after[:states])
        self._keep(fresh[:new], owners[:new] + first, there[:last], ends[:states])
        self.ended = alarm is not None or self.guard.stops(len(self.packed), len(self.graph.growth))

    def _number(self, targets: Ints) -> tuple[Ints, Ints, Ints]:
        """The number of each target; and those that are new, in their order, with the first edge to each."""
        numbers = self.packed.numbers
        there = numbers.find(targets).astype(np.int64)
        missing = np.flatnonzero(there < 0)
        keys = targets[missing]
        if self.packed.tables.merges and missing.size:
            keys = self.packed.tables.representatives(keys)
            there[missing] = found = numbers.find(keys)
            missing, keys = missing[found < 0], keys[found < 0]
        fresh, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(numbers.count, numbers.count + len(order))
        there[missing] = rank[which]
        return there, fresh[order], missing[first[order]]

    def _alarm(self, fresh: Ints) -> int | None:
        """The first of these states that must not be."""
        counts = self.packed.tables.counts(fresh)
        wrong = counts & self.alarms != 0
        if self.stuck:
            wrong |= (counts & DUE_COUNT == 0) & (counts & WAITING_COUNT != 0)
        return int(np.argmax(wrong)) if wrong.any() else None

    def _layers(self, first: int, after: Ints) -> None:
        """Note where layers end among the states that were expanded, given how many states were known after each."""
        graph = self.graph
        while graph.layer_end < first + len(after):
            known = int(after[graph.layer_end - first - 1]) if graph.layer_end > first else len(self.packed)
            graph.growth.append(known - graph.layer_end)
            graph.layer_end = known

    def _keep(self, fresh: Ints, parents: Ints, targets: Ints, ends: Ints) -> None:
        graph, before = self.graph, len(self.graph.targets)
        self.packed.numbers.add(fresh)
        append(graph.parents, parents)
        append(graph.targets, targets)
        append(graph.offsets, ends + before)


def append(to: array[int], values: Ints) -> None:
    to.frombytes(values.astype(np.uint32).tobytes())
