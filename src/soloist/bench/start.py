"""How long it takes to begin: what an import costs beside the libraries that ours cannot do without.

Each import has a process of its own, the two of a pair one after the other; a pair gives a ratio, and the median of the
ratios counts, since what disturbs one of a pair often disturbs both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from statistics import median

import msgspec

BASE = "import asyncio, msgspec"
IMPORTS = ("import soloist", "from soloist import Node", "from soloist import SyncNode", "import soloist.cli")
AIM = 1.5
"""Times what its two foundations take: `from soloist import Node` should take no longer."""

TIMED = "import time; began = time.perf_counter(); {code}; print(time.perf_counter() - began)"


class Measurement(msgspec.Struct, frozen=True):
    """One import: seconds, and times what the base takes, both medians."""

    code: str
    seconds: float
    ratio: float


def measure(rounds: int = 9, progress: Callable[[int, int], None] | None = None) -> list[Measurement]:
    times: dict[str, list[tuple[float, float]]] = {code: [] for code in IMPORTS}
    with tempfile.TemporaryDirectory() as cache:
        for code in (BASE, *IMPORTS):
            _seconds(code, cache)  # leaves the bytecode, as any first use does
        for done in range(rounds):
            for code, pairs in times.items():
                pairs.append((_seconds(BASE, cache), _seconds(code, cache)))
            if progress:
                progress(done + 1, rounds)
    base = Measurement(BASE, median(base for pairs in times.values() for base, _ in pairs), 1.0)
    return [
        base,
        *(
            Measurement(code, median(ours for _, ours in pairs), median(ours / base for base, ours in pairs))
            for code, pairs in times.items()
        ),
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
    return float(done.stdout)
