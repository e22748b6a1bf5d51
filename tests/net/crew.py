"""Workers and their witness, started, watched and stopped."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from tests.net.helpers import ports, start_python, stop
from tests.net.witness import Testimony


class Outcome:
    """What the witness saw, and what the workers count."""

    def __init__(self, testimony: Testimony, reports: list[dict[str, Any]]) -> None:
        self.testimony = testimony
        self.entries = sum(report["entries"] for report in reports)
        self.messages = sum(report["messages"] for report in reports)

    @property
    def messages_per_entry(self) -> float:
        return self.messages / self.entries


def employ(
    workers: int, entries: int, log: Path, capacity: int = 1, seconds: float = 50, **options: Any
) -> Outcome:
    """So many processes, each a node, contend over TCP for one lock or semaphore."""
    names = [f"n{number:02}" for number in range(workers)]
    processes: list[Popen[bytes]] = []
    try:
        witness = start_python("tests.net.witness", str(workers), str(log))
        processes.append(witness)
        assert witness.stdout
        where = json.loads(witness.stdout.readline())
        with ports(*names) as peers:
            task = {"peers": peers, "witness": where, "entries": entries, "capacity": capacity}
            task |= {"timeout": seconds, "options": {"shortcut": False, **options}}
            for name in names:
                processes.append(start_python("tests.net.worker", json.dumps({**task, "name": name})))
            reports = [report_of(process, seconds) for process in processes[1:]]
        witness.wait(10)
        return Outcome(Testimony(log), reports)
    finally:
        stop(*processes)


def report_of(process: Popen[bytes], seconds: float) -> Any:
    assert process.stdout
    try:
        status = process.wait(seconds)
    except TimeoutExpired:
        raise AssertionError(f"a worker does not end within {seconds} s") from None
    assert status == 0, f"a worker ended with {status}"
    return json.loads(process.stdout.read())
