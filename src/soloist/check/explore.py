"""Breadth-first search of a space: every state once, nearest first, within limits."""

from __future__ import annotations

import gc
import resource
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import msgspec

from soloist.check.parts import ALARM, DUE_COUNT, WRONG, is_stuck
from soloist.check.reductions import Space
from soloist.core import UsageError

PAUSE = 4096
"""States between two looks at the clock and the memory."""
WIDE_FROM = 4 * PAUSE
"""States from which it pays to load NumPy, if it is installed, to expand many of them at once."""
FRONTIER = 512
"""States that must be waiting to be expanded then."""


class Limits(msgspec.Struct, frozen=True):
    """When to give up. A search that is cut short proves nothing, and says so."""

    states: int = 5_000_000
    memory: int = 8192
    """Mebibytes of the whole process."""
    seconds: float = 3600.0

    def __post_init__(self) -> None:
        for name in ("states", "memory", "seconds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value > 0:
                raise UsageError(f"the limit on {name} must be positive, not {getattr(self, name)}")


class Progress(msgspec.Struct, frozen=True):
    """What a search has done so far."""

    search: str
    states: int
    depth: int
    seconds: float
    memory: int


Watcher = Callable[[Progress], None]
Jobs = Callable[[], int]
"""How many cores a search may use now."""


def alone() -> int:
    return 1


class CutOff(Exception):
    """A limit was reached while what a search had seen was being judged."""


class Graph:
    """What a search has seen: states in the order of their distance from the start, and all edges.

    Its judges ask for successors again and again; so limits are looked at there.
    """

    def __init__(self, space: Space, guard: Guard) -> None:
        self.space = space
        self.guard = guard
        self._looked_at = 0
        self.states: Sequence[int] = [space.initial]
        self._index: dict[int, int] | None = {space.initial: 0}
        self.parents = array("I", [0])
        self.targets = array("I")
        self.offsets = array("I", [0])
        """The edges of state i end at `targets[offsets[i]:offsets[i + 1]]`."""
        self.growth = [1]
        """New states by depth."""
        self.layer_end = 1
        """The first state that is farther away than the one that is expanded next."""
        self.cut = ""
        """Which limit ended the search, if one did."""
        self.alarm: int | None = None
        """The first state that must not be, if the search came across one."""
        self.cpu = 0.0

    def __repr__(self) -> str:
        how = (
            "complete"
            if self.complete
            else f"cut off at {self.cut}"
            if self.cut
            else "until what must not be"
        )
        return f"<Graph of {self.space!r}: {len(self.states)} states, {self.transitions} transitions, {how}>"

    @property
    def complete(self) -> bool:
        return not self.cut and self.alarm is None

    @property
    def transitions(self) -> int:
        return len(self.targets)

    @property
    def expanded(self) -> int:
        """How many states have been expanded."""
        return len(self.offsets) - 1

    @property
    def index(self) -> dict[int, int]:
        """The number of each state."""
        if self._index is None:
            self._index = {state: number for number, state in enumerate(self.states)}
        return self._index

    def forget_index(self) -> None:
        """Until somebody asks for it."""
        self._index = None

    @property
    def wide(self) -> bool:
        """Whether many states were expanded at once, so that NumPy is there to judge them, too."""
        return not isinstance(self.states, list)

    @cached_property
    def most_inside(self) -> int:
        """The most that are inside in one of its states."""
        if self.wide:
            from soloist.check import sweeps

            return sweeps.most_inside(self)
        return max(map(self.space.model.inside, self.states))

    @cached_property
    def levels(self) -> list[Any] | None:
        """Only where it is wide: all states in groups, each after those that lead to it; None if some run comes back to
        where it was."""
        from soloist.check import sweeps

        return sweeps.levels(self)

    def counts(self) -> Sequence[int]:
        """What each state counts, and who is inside or waits there: its lower bits at least."""
        return self.states.counts() if self.wide else self.states  # type: ignore[attr-defined]

    def phases(self) -> list[int]:
        """Who is inside and who waits in each state: see `Model.phases`."""
        return list(map(self.space.model.phases, self.counts()))

    def successors(self, index: int) -> array[int]:
        """The numbers of the states that follow one."""
        self.pause()
        return self.targets[self.offsets[index] : self.offsets[index + 1]]

    def pause(self) -> None:
        """Look at the limits now and then, and raise `CutOff` if one is reached."""
        self._looked_at += 1
        if not self._looked_at % PAUSE:
            self.guard.look()

    def path(self, index: int) -> list[int]:
        """The states on a shortest way from the start to this one."""
        way = [index]
        while way[-1]:
            way.append(self.parents[way[-1]])
        return [self.states[i] for i in reversed(way)]


def explore(
    space: Space,
    limits: Limits | None = None,
    alarms: int = ALARM,
    stuck: bool = True,
    watch: Watcher | None = None,
    name: str = "search",
    since: float | None = None,
    jobs: Jobs = alone,
) -> Graph:
    """Visit all states, nearest first; stop at the first that must not be, or at a limit.

    `alarms` are the bits that mark a state as forbidden (`TOO_MANY`, `WRONG`), and a state in which
    somebody waits while nothing is due is forbidden too if `stuck` says so. The seconds of the limits
    count from `since`, or from now. Where many states are expanded at once, it is done on as many cores as `jobs` says.
    """
    guard = Guard(limits or Limits(), watch, name, since)
    graph = Graph(space, guard)
    cpu = process_time()
    collecting = gc.isenabled()
    gc.disable()  # a search only ever grows; looking for garbage in it costs a fifth of the time
    try:
        _search(graph, guard, alarms | WRONG, stuck, jobs)
    except KeyboardInterrupt:
        graph.cut = "interrupted"
    finally:
        if collecting:
            gc.enable()
    if (rest := len(graph.states) - sum(graph.growth)) > 0:
        graph.growth.append(rest)
    graph.cut = graph.cut or guard.cut
    graph.cpu = process_time() - cpu
    return graph


def _search(graph: Graph, guard: Guard, alarms: int, stuck: bool, jobs: Jobs) -> None:
    if _forbidden(graph.states[0], alarms, stuck):
        graph.alarm = 0
        return
    if _one_by_one(graph, guard, alarms, stuck, _wide_from(guard.limits)):
        return
    from soloist.check import wide as many_at_once

    if not many_at_once.search(graph, guard, alarms, stuck, jobs):
        _one_by_one(graph, guard, alarms, stuck, guard.limits.states)


def _wide_from(limits: Limits) -> int:
    """The states from which it pays to expand many of them at once."""
    if not find_spec("numpy"):
        return limits.states
    return PAUSE if "numpy" in sys.modules else WIDE_FROM


def _one_by_one(graph: Graph, guard: Guard, alarms: int, stuck: bool, wide: int) -> bool:
    """The inner loop: everything in it is done for each state or each edge. False if it was left because many states,
    at least so many as `wide` says, are better expanded at once."""
    states, index, parents, targets = graph.states, graph.index, graph.parents, graph.targets
    offsets, growth, follow = graph.offsets, graph.growth, graph.space.targets
    assert isinstance(states, list)
    due = DUE_COUNT
    known = len(states)
    pause = min(PAUSE, guard.limits.states)
    for here, state in enumerate(islice(states, graph.expanded, None), graph.expanded):
        if here == graph.layer_end:
            growth.append(known - here)
            graph.layer_end = known
        for target in follow(state):
            there = index.get(target)
            if there is None:
                there = index[target] = known
                known += 1
                states.append(target)
                parents.append(here)
                if (target & alarms or not target & due) and _forbidden(target, alarms, stuck):
                    targets.append(there)
                    offsets.append(len(targets))
                    graph.alarm = there
                    return True
            targets.append(there)
        offsets.append(len(targets))
        if known >= pause:
            if guard.stops(known, len(growth)):
                return True
            if known >= wide and known - here >= FRONTIER:
                return False
            pause = min(known + PAUSE, max(guard.limits.states, known + 1))
    return True


def _forbidden(state: int, alarms: int, stuck: bool) -> bool:
    return bool(state & alarms) or (stuck and is_stuck(state))


class Guard:
    """Looks at limits now and then, and tells those who watch."""

    def __init__(self, limits: Limits, watch: Watcher | None, name: str, since: float | None = None) -> None:
        self.limits = limits
        self.start = monotonic()
        self.since = self.start if since is None else since
        self.watch = watch
        self.name = name
        self.cut = ""

    def stops(self, states: int, depth: int) -> bool:
        if self.watch:
            self.watch(Progress(self.name, states, depth, monotonic() - self.start, memory_used()))
        limits = self.limits
        self.cut = f"{limits.states} states" if states >= limits.states else self._spent()
        return bool(self.cut)

    def look(self) -> None:
        """Stop a judgement that has used up what the check may have."""
        if spent := self._spent():
            raise CutOff(spent)

    def _spent(self) -> str:
        """The time or memory that is used up, if one is."""
        limits = self.limits
        if memory_used() >= limits.memory:
            return f"{limits.memory} MiB of memory"
        if monotonic() - self.since >= limits.seconds:
            return f"{limits.seconds:g} seconds"
        return ""


def memory_used(pid: int | None = None) -> int:
    """Mebibytes of this process now, or of another; where that cannot be known, the most that this one ever had."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
        return pages * resource.getpagesize() >> 20
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak >> 20 if sys.platform == "darwin" else peak >> 10
