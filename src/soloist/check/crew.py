"""Threads that share a large search: each looks at some of the next states, while the first to be done are numbered (NumPy).

What takes the time is done by NumPy, which lets other threads run meanwhile; what is met for the first time is worked out by one
thread for all of them. The order in which states are numbered is that of the states that lead there, whichever process looked at them.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Self

import numpy as np

from soloist.check.explore import Jobs
from soloist.check.lookups import Ints, Numbering, distinct
from soloist.check.packed import Packed

MOST, LEAST = 1 << 15, 1 << 12
"""States that are looked at at once."""


class Look(NamedTuple):
    """Where the steps from some states lead."""

    counts: Ints
    """Steps of each state."""
    firsts: Ints
    """The first step to each target."""
    which: Numbering
    """The target of each step, among these."""
    known: Numbering
    """The number of each target, -1 where it has none."""
    missing: Ints
    """Which have none."""
    keys: Ints
    """Those, in the same order; one may come twice."""


class Crew:
    """Looks at the states of a search, in order."""

    def __init__(self, packed: Packed, jobs: Jobs) -> None:
        self.packed = packed
        self.jobs = jobs
        self.pool: ThreadPoolExecutor | None = None
        self.under_way: deque[tuple[int, Future[Look]]] = deque()
        """Looks at the next states, each with the first state that it is not at any more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.pool:
            self.pool.shutdown()

    def next(self, first: int) -> Look:
        """The look at the next states, from this one on."""
        jobs = self.jobs()
        if jobs < 2 and not self.under_way:
            return self._look(self.packed.numbers.keys[first : first + MOST])
        self._send_out(first, jobs)
        return self.under_way.popleft()[1].result()

    def stop(self) -> None:
        """Forget what is under way, once nobody is at work on it."""
        for _, look in self.under_way:
            look.cancel()
        for _, look in self.under_way:
            if not look.cancelled():
                look.exception()
        self.under_way.clear()

    def _send_out(self, first: int, jobs: int) -> None:
        """Let everybody have something to do, and something to go on with; but not with few states, unless there are no more."""
        self.pool = self.pool or ThreadPoolExecutor(jobs, "look")
        keys = self.packed.numbers.keys
        next = self.under_way[-1][0] if self.under_way else first
        size = min(max((len(keys) - next) // jobs + 1, LEAST), MOST)
        while len(self.under_way) < 2 * jobs and (
            len(keys) - next >= LEAST or (next < len(keys) and not self.under_way)
        ):
            some = keys[next : next + size]
            next += len(some)
            self.under_way.append((next, self.pool.submit(self._look, some)))

    def _look(self, keys: Ints) -> Look:
        tables, numbers = self.packed.tables, self.packed.numbers
        counts, targets = tables.expand(keys)
        firsts, which = distinct(targets)
        targets = targets.take(firsts)
        known = numbers.find(targets)
        missing = np.flatnonzero(known < 0)
        unknown = targets[missing]
        if tables.merges and missing.size:
            unknown = tables.representatives(unknown)
            known[missing] = found = numbers.find(unknown)
            missing, unknown = missing[found < 0], unknown[found < 0]
        return Look(counts, firsts, which, known, missing, unknown)
