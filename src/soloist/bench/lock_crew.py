"""The client processes of the lock benchmark, from outside."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Sequence
from tempfile import NamedTemporaryFile, TemporaryFile
from threading import Timer
from typing import Self

import msgspec

from soloist.bench import lock_workers
from soloist.bench.lock_workers import NANOSECONDS, Done, Go, Job

HOLD_SECONDS = 0.005
"""Seconds: long enough for the other process to be waiting, whatever it waits for."""
START_SECONDS = 0.05
PATIENCE_SECONDS = 60.0
"""Seconds: a client that takes so much longer than it was told to hangs."""


class Crew:
    """Client processes. They are started once, and given one job after another."""

    def __init__(self, size: int, loop: str) -> None:
        self.errors = TemporaryFile()  # noqa: SIM115
        self.turn = NamedTemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", lock_workers.__name__, loop]
        self.workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
            for _ in range(size)
        ]

    def run(self, jobs: Sequence[Job], seconds: float) -> list[Done]:
        """Give each of the first processes its job, let all begin at one time, and hear what they did."""
        crew = self.workers[: len(jobs)]
        patience = Timer(seconds + PATIENCE_SECONDS, self._kill)
        patience.daemon = True  # Ctrl-C may come before the next line, and nobody should wait for it then
        patience.start()
        try:
            for worker, job in zip(crew, jobs, strict=True):
                self._tell(worker, job)
            for worker in crew:
                self._hear(worker)
            begin = time.monotonic_ns() + int(START_SECONDS * NANOSECONDS)
            go = Go(begin, begin + int(seconds * NANOSECONDS))
            for worker in crew:
                self._tell(worker, go)
            done = [msgspec.json.decode(self._hear(worker), type=Done) for worker in crew]
            for worker in crew:
                self._tell(worker, "stop")
            return done
        finally:
            patience.cancel()

    def by_turns(self, jobs: Sequence[Job]) -> list[Job]:
        """With the file that says whose turn it was."""
        self.turn.truncate(0)
        self.turn.truncate(1)
        return [
            msgspec.structs.replace(job, turn=self.turn.name, number=number, hold_seconds=HOLD_SECONDS)
            for number, job in enumerate(jobs, start=1)
        ]

    def _kill(self) -> None:
        for worker in self.workers:
            worker.kill()

    def _tell(self, worker: subprocess.Popen[bytes], what: object) -> None:
        assert worker.stdin
        worker.stdin.write(msgspec.json.encode(what) + b"\n")
        worker.stdin.flush()

    def _hear(self, worker: subprocess.Popen[bytes]) -> bytes:
        assert worker.stdout
        if line := worker.stdout.readline():
            return line
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        raise RuntimeError(said[-1] if said else "a client process died without a word")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            assert worker.stdin
            assert worker.stdout
            if any(error):
                worker.kill()
            with contextlib.suppress(BrokenPipeError):
                worker.stdin.close()
            worker.stdout.close()
            worker.wait()
        self.errors.close()
        self.turn.close()
