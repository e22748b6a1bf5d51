"""The search of `explore`, many states at a time (NumPy): the same states and edges in the same order, several times as fast."""

from __future__ import annotations

from array import array

import numpy as np

from soloist.check.crew import Crew
from soloist.check.explore import Graph, Guard, Jobs
from soloist.check.lookups import Ints, Numbering
from soloist.check.packed import Packed
from soloist.check.parts import DUE_COUNT, WAITING_COUNT
from soloist.check.tables import Outgrown, Tables, TooWide


def search(graph: Graph, guard: Guard, alarms: int, stuck: bool, jobs: Jobs) -> bool:
    """Go on with a search to its end. False if it has to be left to `explore` again, since keys are too short for it."""
    try:
        graph.states = packed = Packed(Tables(graph.space), graph.states)
        graph.forget_index()
        with Crew(packed, jobs) as crew:
            wide = Wide(graph, packed, crew, guard, alarms, stuck)
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

    def __init__(
        self, graph: Graph, packed: Packed, crew: Crew, guard: Guard, alarms: int, stuck: bool
    ) -> None:
        self.graph = graph
        self.packed = packed
        self.crew = crew
        self.guard = guard
        self.alarms = alarms
        self.stuck = stuck
        self.ended = False

    def goes_on(self) -> bool:
        return not self.ended and self.graph.expanded < len(self.packed)

    def step(self) -> None:
        """Expand the next states."""
        first, before = self.graph.expanded, len(self.packed)
        try:
            look = self.crew.next(first)
        except Outgrown:
            self.crew.stop()
            self.packed.repack()
            return
        numbers, places = self.packed.numbers.number(look.keys)
        look.known[look.missing] = numbers
        fresh, edges = look.keys[places], look.firsts[look.missing[places]]
        ends = np.cumsum(look.counts)
        owners = np.searchsorted(ends, edges, side="right")
        after = before + np.searchsorted(owners, np.arange(len(ends)), side="right")
        # Stop where a search that takes one state after the other would.
        states = min(int(np.searchsorted(after, self.guard.limits.states)) + 1, len(ends))
        new = int(after[states - 1]) - before
        last = int(ends[states - 1])
        alarm = self._alarm(fresh[:new])
        if alarm is not None:
            states, new, last = int(owners[alarm]) + 1, alarm + 1, int(edges[alarm]) + 1
            self.graph.alarm = before + alarm
            after[states - 1], ends[states - 1] = before + new, last
        self.packed.numbers.take_back(before + new)
        self._layers(first, before, after[:states])
        self._keep(owners[:new] + first, look.known.take(look.which[:last]), ends[:states])
        self.ended = alarm is not None or self.guard.stops(len(self.packed), len(self.graph.growth))

    def _alarm(self, fresh: Ints) -> int | None:
        """The first of these states that must not be."""
        counts = self.packed.tables.counts(fresh)
        wrong = counts & self.alarms != 0
        if self.stuck:
            wrong |= (counts & DUE_COUNT == 0) & (counts & WAITING_COUNT != 0)
        return int(np.argmax(wrong)) if wrong.any() else None

    def _layers(self, first: int, before: int, after: Ints) -> None:
        """Note where layers end among the states that were expanded, given how many states were known before and after
        each of them."""
        graph = self.graph
        while graph.layer_end < first + len(after):
            known = int(after[graph.layer_end - first - 1]) if graph.layer_end > first else before
            graph.growth.append(known - graph.layer_end)
            graph.layer_end = known

    def _keep(self, parents: Ints, targets: Numbering, ends: Ints) -> None:
        graph, before = self.graph, len(self.graph.targets)
        append(graph.parents, parents)
        append(graph.targets, targets)
        append(graph.offsets, ends + before)


def append(to: array[int], values: Ints | Numbering) -> None:
    to.frombytes(values.astype(np.uint32).tobytes())
