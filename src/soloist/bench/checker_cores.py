"""What a second core is worth to the checker: `soloist check` with one job and with two, by turns, timed as one waits for it.

Which comes first changes from round to round; each round gives a ratio.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

from soloist.bench.bars import Bar
from soloist.check.beside import cores
from soloist.core import SoloistError

SYSTEM = "ricart-agrawala --nodes 4 --rounds 1 --channels any"
LEAST_TIMES_FASTER = 1.6
TOLD = ("verdict", "states", "transitions", "properties", "bypass_bound")
"""What must not depend on the number of jobs."""


class Measurement(msgspec.Struct, frozen=True):
    """Medians of the rounds."""

    what: str
    states: int
    one_seconds: float
    two_seconds: float
    ratios: list[float]
    """How many times faster two are, in each round."""


def measure(
    rounds: int = 5, progress: Callable[[int, int], None] = lambda done, total: None, what: str = SYSTEM
) -> Measurement | None:
    """None where there is one core only."""
    if cores() < 2:
        return None
    pairs: list[tuple[float, float]] = []
    states = 0
    for turn in range(rounds):
        found = {jobs: _check(what, jobs) for jobs in ((1, 2) if turn % 2 == 0 else (2, 1))}
        (one, seconds), (two, shorter) = found[1], found[2]
        if one != two:
            raise SoloistError(f"check {what} finds {one} with one job, and {two} with two")
        states = one["states"]
        pairs.append((seconds, shorter))
        progress(turn + 1, rounds)
    ones, twos = zip(*pairs, strict=True)
    return Measurement(what, states, median(ones), median(twos), [one / two for one, two in pairs])


def _check(what: str, jobs: int) -> tuple[dict[str, Any], float]:
    """What is found, and the seconds that one waits for it."""
    command = [sys.executable, "-m", "soloist", "check", *what.split(), "--jobs", str(jobs), "--json"]
    began = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = perf_counter() - began
    try:
        report = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SoloistError(f"check {what} failed: {said[-1]}") from None
    return {name: report[name] for name in TOLD}, seconds


def bars(row: Measurement) -> list[Bar]:
    ours, setting = row.what.split(maxsplit=1)
    return [Bar.of("two jobs, times faster", ours, setting, row.ratios, LEAST_TIMES_FASTER, False)]


def table(row: Measurement) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    columns = ("check", ">states", ">s, one job", ">s, two jobs", ">times faster")
    return columns, [
        (
            row.what,
            f"{row.states:,}",
            f"{row.one_seconds:.1f}",
            f"{row.two_seconds:.1f}",
            f"{median(row.ratios):.2f}",
        )
    ]
