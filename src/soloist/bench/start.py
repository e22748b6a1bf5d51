"""How long it takes to begin: what imports and commands cost beside the libraries that ours cannot do without.

Each has a process of its own, the two of a pair one after the other; a pair gives a ratio, and the median of the
ratios counts, since what disturbs one of a pair often disturbs both. Python's own start is not counted, in neither.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from soloist.bench.bars import Bar

TALKING, PRINTING = BASES = ("import asyncio, msgspec", "import typer, rich")
COMMAND = "from soloist.cli import main; main({words!r})"
BEGINNINGS = {
    "import soloist": ("import soloist", TALKING),
    "from soloist import Node": ("from soloist import Node", TALKING),
    "from soloist import SyncNode": ("from soloist import SyncNode", TALKING),
    "soloist --help": (COMMAND.format(words=["--help"]), PRINTING),
    "soloist algorithms": (COMMAND.format(words=["algorithms"]), PRINTING),
}
"""What begins: the code of it, and the imports that it is measured beside."""
AIMS = {
    "import soloist": 1.5,
    "from soloist import Node": 1.5,
    "soloist --help": 1.3,
    "soloist algorithms": 1.3,
}
"""Times what the imports beside it take: it should take no longer."""

TIMED = "import time; began = time.perf_counter(); {code}; print(); print(time.perf_counter() - began, flush=True)"


class Measurement(msgspec.Struct, frozen=True):
    """One beginning: seconds, and times what its base takes, both medians."""

    what: str
    base: str
    seconds: float
    ratio: float
    aim: float | None = None
    ratios: list[float] = []
    """Each round by itself."""


def measure(rounds: int = 9, progress: Callable[[int, int], None] | None = None) -> list[Measurement]:
    times: dict[str, list[tuple[float, float]]] = {what: [] for what in BEGINNINGS}
    with tempfile.TemporaryDirectory() as cache:
        for code in (*BASES, *(code for code, _ in BEGINNINGS.values())):
            _seconds(code, cache)  # leaves the bytecode, as any first use does
        for done in range(rounds):
            for what, (code, base) in BEGINNINGS.items():
                times[what].append((_seconds(base, cache), _seconds(code, cache)))
            if progress:
                progress(done + 1, rounds)
    bases = [
        Measurement(
            base,
            base,
            median(b for what, pairs in times.items() if BEGINNINGS[what][1] == base for b, _ in pairs),
            1.0,
        )
        for base in BASES
    ]
    return [*bases, *(_measurement(what, pairs) for what, pairs in times.items())]


def _measurement(what: str, pairs: list[tuple[float, float]]) -> Measurement:
    seconds, ratios = median(ours for _, ours in pairs), [ours / base for base, ours in pairs]
    return Measurement(what, BEGINNINGS[what][1], seconds, median(ratios), AIMS.get(what), ratios)


def bars(rows: Sequence[Measurement]) -> list[Bar]:
    return [
        Bar.of("time to begin", row.what, row.base, row.ratios, row.aim, True)
        for row in rows
        if row.aim is not None
    ]


def _seconds(code: str, cache: str) -> float:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(code=code)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])
