"""The client processes of the lock benchmark, from outside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Any, Self

import msgspec

from soloist import testing
from soloist.bench import lock_workers
from soloist.bench.lock_workers import NANOSECONDS, Done, Go, Job
from soloist.core import SoloistError

HOLD_SECONDS = 0.005
"""Seconds: long enough for the other process to be waiting, whatever it waits for."""
START_SECONDS = 0.05
PATIENCE_SECONDS = 60.0
"""Seconds: a client that takes so much longer than it was told to hangs."""


class Crew:
    """Client processes. They are started once, and given one job after another."""

    def __init__(self, size: int, loop: str) -> None:
        self.turn = NamedTemporaryFile()  # noqa: SIM115
        self.processes = testing.Crew()
        for number in range(size):
            self.processes.start(f"client {number}", lock_workers.run, loop)

    def run(self, jobs: Sequence[Job], seconds: float) -> list[Done]:
        """Give each of the first processes its job, let all begin at one time, and hear what they did."""
        try:
            return self._run(jobs, seconds)
        except SoloistError as error:  # no figures here, but other rows of the table have theirs
            raise RuntimeError(str(error)) from None

    def _run(self, jobs: Sequence[Job], seconds: float) -> list[Done]:
        crew = self.processes.names[: len(jobs)]
        for name, job in zip(crew, jobs, strict=True):
            self.processes.tell(name, job)
        for name in crew:
            self.processes.hear(name, seconds + PATIENCE_SECONDS)
        begin = time.monotonic_ns() + int(START_SECONDS * NANOSECONDS)
        go = Go(begin, begin + int(seconds * NANOSECONDS))
        for name in crew:
            self.processes.tell(name, go)
        done = [self.processes.hear(name, seconds + PATIENCE_SECONDS) for name in crew]
        for name in crew:
            self.processes.tell(name, "stop")
        return done

    def by_turns(self, jobs: Sequence[Job]) -> list[Job]:
        """With the file that says whose turn it was."""
        self.turn.truncate(0)
        self.turn.truncate(1)
        return [
            msgspec.structs.replace(job, turn=self.turn.name, number=number, hold_seconds=HOLD_SECONDS)
            for number, job in enumerate(jobs, start=1)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.processes.__exit__(*error)
        self.turn.close()


class Crews:
    """A crew for each kind of loop: to start many processes takes longer than to measure."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.crews: dict[str, Crew] = {}

    @contextmanager
    def lent(self, loop: str) -> Iterator[Crew]:
        """The crew with this loop. If something goes wrong meanwhile, the next one gets another: some of it may be dead, or hang."""
        if loop not in self.crews:
            self.crews[loop] = Crew(self.size, loop)
        try:
            yield self.crews[loop]
        except BaseException as error:
            self.crews.pop(loop).__exit__(type(error), error, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for crew in self.crews.values():
            crew.__exit__(*error)
