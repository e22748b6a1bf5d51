"""Searches in processes of their own, on other cores, beside the one that is made here."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from time import monotonic
from typing import Protocol

from soloist.check.explore import Jobs, Progress, Watcher, memory_used
from soloist.check.finding import Finding
from soloist.children import deaf, obedient
from soloist.core import UsageError, whole


class Errand(Protocol):
    """A search that may use so many cores."""

    def __call__(self, watch: Watcher | None, jobs: Jobs) -> Finding: ...


Work = Callable[[Watcher], Finding]
EVERY = 0.5
"""Seconds between two reports of how far a search has got."""


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def wanted(jobs: int) -> int:
    """How many cores are used where somebody asks for so many; 0: all. There is nothing to gain with more than there are."""
    if whole("jobs", jobs) < 0:
        raise UsageError(f"jobs must be at least 0 (one per core), not {jobs}")
    return min(jobs or cores(), cores())


def can_run_beside() -> bool:
    """Whether there is a way to go on in another process from where we are."""
    return "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon


class Companion:
    """Some searches, one after the other, in a process of their own."""

    def __init__(self, works: list[Work]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(works, theirs), daemon=True)
        with deaf(), warnings.catch_warnings():
            # Python warns where there are threads: one might hold a lock that the child needs. It needs none of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()

    @property
    def at_work(self) -> bool:
        return self.process.is_alive()

    def memory(self) -> int:
        """Mebibytes."""
        return memory_used(self.process.pid) if self.process.pid and self.at_work else 0

    def said(self) -> Iterator[Progress | Finding | None]:
        """What it reports until its next search has ended; None now and then, while there is nothing new."""
        while True:
            try:
                if not self.connection.poll(EVERY):
                    yield None
                    continue
                report: Progress | Finding = self.connection.recv()
            except (EOFError, OSError):  # it came to grief, perhaps in the middle of a word
                self.process.join()
                return
            yield report
            if isinstance(report, Finding):
                return

    def end(self) -> str:
        """How it came to grief, if somebody killed it."""
        code = self.process.exitcode
        return f"was killed ({signal.Signals(-code).name})" if code is not None and code < 0 else ""

    def dismiss(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(works: list[Work], connection: Connection) -> None:
    """The life of a companion. Where a search fails it ends: the same search fails in the parent, too, which tells of it."""
    with obedient(), suppress(Exception):
        teller = _Teller(connection)
        for work in works:
            connection.send(work(teller))
    connection.close()


class _Teller:
    """Reports now and then how far a search has got."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.next = 0.0

    def __call__(self, progress: Progress) -> None:
        if monotonic() >= self.next:
            self.next = monotonic() + EVERY
            self.connection.send(progress)


class Beside:
    """What is searched beside the main search: by name, and who does it."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        """Cores that may be used, by all together."""
        self.companions: dict[str, Companion] = {}
        self.started = False

    def start(self, works: dict[str, Errand]) -> None:
        """Start as many processes as there are cores for, and share the works out among them."""
        self.started = True
        count = min(self.jobs - 1, len(works)) if can_run_beside() else 0
        names, threads = list(works), self.jobs // (count + 1)
        for first in range(count):
            mine = names[first::count]
            companion = Companion([partial(works[name], jobs=lambda: threads) for name in mine])
            self.companions.update(dict.fromkeys(mine, companion))

    def threads(self) -> int:
        """How many cores the search that is made here may use now."""
        return max(1, self.jobs // (1 + sum(companion.at_work for companion in self._all())))

    def memory(self) -> int:
        """Mebibytes of all the others."""
        return sum(companion.memory() for companion in self._all())

    def dismiss(self) -> None:
        for companion in self._all():
            companion.dismiss()
        self.companions = {}

    def _all(self) -> set[Companion]:
        return set(self.companions.values())
