"""Our locks beside those of another tree of this repository, such as a git worktree of an older commit.

Each tree runs its own benchmark, on this Python and with the same libraries. In each round both are measured, one
after the other, and in the next round the other way round; a round gives a ratio, and of the ratios the median counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

import msgspec

import soloist
from soloist.bench.locks import OURS, Measurement, Table
from soloist.core import SoloistError, UsageError, unknown

HERE = Path(soloist.__file__).parents[1]
"""Where the code of this tree is."""
PROCESSES = 8
FIGURES: dict[str, tuple[Callable[[Measurement], float | None], bool]] = {
    "re-entry": (lambda row: row.pair_us, True),
    "hand-off p50": (lambda row: row.hand_off_p50_us, True),
    f"entries/s at {PROCESSES}": (
        lambda row: each.entries_per_second if (each := row.at(PROCESSES)) else None,
        False,
    ),
}
"""What is compared, and whether less of it is better."""


class Printed(msgspec.Struct, frozen=True):
    """What the benchmark of a tree prints."""

    rows: list[Measurement]


class Difference(msgspec.Struct, frozen=True):
    """One figure in both trees. Times in microseconds; the ratio is here / there, with its quartiles."""

    system: str
    setting: str
    figure: str
    there: float
    here: float
    ratio: float
    low: float
    high: float
    worse: bool
    """By more than its spread, which is the distance of the quartiles."""


def measure(
    tree: Path,
    systems: Sequence[str] = (),
    seconds: float = 1.0,
    rounds: int = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Difference]:
    """Every figure of our systems, or of those named."""
    for name in systems:
        if name not in OURS:
            raise unknown("system", name, OURS)
    there = source(tree)
    found: dict[Path, list[list[Measurement]]] = {there: [], HERE: []}
    for turn in range(rounds):
        for step, code in enumerate((there, HERE) if turn % 2 == 0 else (HERE, there), start=1):
            found[code].append(run(code, systems or OURS, seconds))
            progress(2 * turn + step, 2 * rounds)
    differences = [
        each for key in _settings(found[HERE]) for each in _differences(key, found[there], found[HERE])
    ]
    if not differences:
        raise SoloistError("nothing was measured in both trees; give more --seconds")
    return differences


def source(tree: Path) -> Path:
    """Where the code of a tree is; an error if it is not there, or is the code that runs now."""
    code = (tree / "src").resolve()
    if not (code / "soloist" / "bench" / "locks.py").is_file():
        raise UsageError(
            f"--against {tree}: no tree of this repository, it has no src/soloist/bench/locks.py"
        )
    if code == HERE.resolve():
        raise UsageError(f"--against {tree}: that is this tree; make another one with git worktree add")
    return code


def run(code: Path, systems: Sequence[str], seconds: float) -> list[Measurement]:
    """One run of the benchmark of a tree, in a process of its own."""
    command = [sys.executable, "-m", "soloist", "bench", "locks", *systems, "--json"]
    command += ["--rounds", "1", "--seconds", str(seconds), "--processes", str(PROCESSES)]
    environment = {**os.environ, "PYTHONPATH": str(code)}
    done = subprocess.run(command, cwd=code, env=environment, capture_output=True, text=True, check=False)
    try:
        rows = msgspec.json.decode(done.stdout, type=Printed).rows
    except msgspec.DecodeError:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SoloistError(f"the benchmark in {code.parent} failed: {said[-1]}") from None
    for row in rows:
        if row.overlaps or (row.missing or "").startswith("failed"):
            why = row.missing or f"{row.overlaps} entries while another process was inside"
            raise SoloistError(f"the benchmark in {code.parent} failed: {row.system}, {row.setting}: {why}")
    return rows


def _settings(rounds: Sequence[Sequence[Measurement]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.system, row.setting) for rows in rounds for row in rows))


def _differences(
    key: tuple[str, str], there: Sequence[Sequence[Measurement]], here: Sequence[Sequence[Measurement]]
) -> Iterator[Difference]:
    for name, (figure, less) in FIGURES.items():
        pairs = [
            (a, b)
            for theirs, ours in zip(there, here, strict=True)
            if (a := _of(key, theirs, figure)) and (b := _of(key, ours, figure))
        ]
        if len(pairs) > 1:
            yield _difference(key, name, less, pairs)


def _of(
    key: tuple[str, str], rows: Sequence[Measurement], figure: Callable[[Measurement], float | None]
) -> float | None:
    return next((figure(row) for row in rows if (row.system, row.setting) == key), None)


def _difference(
    key: tuple[str, str], name: str, less: bool, pairs: Sequence[tuple[float, float]]
) -> Difference:
    ratios = [b / a for a, b in pairs]
    low, ratio, high = quantiles(ratios, n=4, method="inclusive")
    beyond = ratio - 1 if less else 1 - ratio
    there, here = median(a for a, _ in pairs), median(b for _, b in pairs)
    return Difference(*key, name, there, here, ratio, low, high, beyond > high - low)


def table(differences: Sequence[Difference]) -> Table:
    columns = ("system", "setting", "figure", ">there", ">here", ">here / there", ">quartiles", "worse")
    return columns, [
        (
            each.system,
            each.setting,
            each.figure,
            f"{each.there:,.1f}",
            f"{each.here:,.1f}",
            f"{each.ratio:.3f}",
            f"{each.low:.3f}-{each.high:.3f}",
            "YES" if each.worse else "no",
        )
        for each in differences
    ]
