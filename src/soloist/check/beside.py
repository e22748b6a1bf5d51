"""Searches in processes of their own, on other cores, beside the one that is made here."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from select import select
from time import monotonic
from typing import Protocol

from soloist.check.explore import Jobs, Progress, Watcher, memory_used
from soloist.check.finding import Finding
from soloist.children import deaf, obedient
from soloist.core import UsageError, whole


class Errand(Protocol):
    """A search that may use so many cores."""

    def __call__(self, watch: Watcher | None, jobs: Jobs) -> Finding: ...


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


class Errands:
    """Searches that several processes share out among them: the first that is free begins the next."""

    def __init__(self, works: dict[str, Errand]) -> None:
        self.works, self.names = works, list(works)
        self.numbers, into = os.pipe()
        os.write(into, bytes(range(len(works))))
        os.close(into)

    def begin(self) -> str | None:
        """The next that nobody has begun. (What one process reads from a pipe no other does.)"""
        number = os.read(self.numbers, 1)
        return self.names[number[0]] if number else None

    def close(self) -> None:
        os.close(self.numbers)


class Companion:
    """A process of its own that runs errands."""

    def __init__(self, errands: Errands, jobs: int) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(errands, jobs, theirs), daemon=True)
        self.errand = ""
        """What it is at, as far as we have heard."""
        self.ended = False
        """It has nothing to say any more."""
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

    def hear(self) -> Progress | Finding | None:
        """What it reports next; None where it has begun something, or has ended."""
        try:
            report: Progress | Finding | str = self.connection.recv()
        except (EOFError, OSError):  # it came to grief, perhaps in the middle of a word; or all is done
            self.process.join()
            self.ended = True
            return None
        if isinstance(report, str):
            self.errand = report
            return None
        return report

    def end(self) -> str:
        """How it came to grief, if somebody killed it."""
        code = self.process.exitcode
        return f"was killed ({signal.Signals(-code).name})" if code is not None and code < 0 else ""

    def dismiss(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _run(errands: Errands, jobs: int, connection: Connection) -> None:
    """The life of a companion. Where a search fails it ends: the same search fails in the parent, too, which tells of it."""
    with obedient(), suppress(Exception):
        teller = _Teller(connection)
        while name := errands.begin():
            connection.send(name)
            connection.send(errands.works[name](teller, lambda: jobs))
    connection.close()


class _Teller:
    """Reports now and then how far a search has got, unless what nobody has listened to yet fills the pipe: then it would wait."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.next = 0.0

    def __call__(self, progress: Progress) -> None:
        if monotonic() >= self.next and select([], [self.connection], [], 0)[1]:
            self.next = monotonic() + EVERY
            self.connection.send(progress)


class Beside:
    """What is searched beside the main search, and who does it."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        """Cores that may be used, by all together."""
        self.started = False
        self.companions: list[Companion] = []
        self.found: dict[str, Finding | str] = {}
        """For each search that we have heard of what it has found, or how the process that was at it came to grief."""

    def start(self, works: dict[str, Errand]) -> None:
        """Start as many processes as there are cores for."""
        self.started = True
        count = min(self.jobs - 1, len(works)) if can_run_beside() else 0
        if count:
            self.errands = Errands(works)
            self.companions = [Companion(self.errands, self.jobs // (count + 1)) for _ in range(count)]

    def begin(self) -> str | None:
        """A search that nobody has begun, to be made here."""
        return self.errands.begin() if self.companions else None

    def said(self, name: str) -> Iterator[Progress | None]:
        """How far others have got, until that search has ended, or the process that was at it; None now and then, while there is
        nothing new."""
        while name not in self.found and (speakers := [each for each in self.companions if not each.ended]):
            ready = wait([each.connection for each in speakers], EVERY)
            for companion in (each for each in speakers if each.connection in ready):
                yield self._hear(companion)
            if not ready:
                yield None

    def _hear(self, companion: Companion) -> Progress | None:
        report = companion.hear()
        if isinstance(report, Finding):
            self.found[companion.errand], companion.errand = report, ""
        elif companion.ended and companion.errand:
            self.found[companion.errand] = companion.end()
        return report if isinstance(report, Progress) else None

    def threads(self) -> int:
        """How many cores the search that is made here may use now."""
        return max(1, self.jobs // (1 + sum(companion.at_work for companion in self.companions)))

    def memory(self) -> int:
        """Mebibytes of all the others."""
        return sum(companion.memory() for companion in self.companions)

    def dismiss(self) -> None:
        for companion in self.companions:
            companion.dismiss()
        if self.companions:
            self.errands.close()
        self.companions = []
