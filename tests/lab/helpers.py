"""What the tests of the laboratory share."""

from __future__ import annotations

from pathlib import Path

from soloist.lab import Contender, Seeds, Sweep, Table

PLAN = """\
name = "small"
seeds = 25
algorithms = ["naimi-trehel", { name = "raymond-tree", options = { topology = "star" } }]

[fixed]
nodes = 5
entries = 100

[vary]
rate = [0.1, 1, 10, 100]
"""
"""200 small runs."""


def small(**changes: object) -> Sweep:
    """12 runs of no time at all."""
    plan: dict[str, object] = {
        "name": "tiny",
        "algorithms": (Contender("naimi-trehel"), Contender("lamport")),
        "fixed": {"nodes": 4, "entries": 40},
        "vary": {"rate": [0.1, 10.0]},
        "seeds": Seeds(3),
    }
    return Sweep(**{**plan, **changes})  # type: ignore[arg-type]


def files(table: Table, directory: Path) -> dict[str, bytes]:
    """What is written of a table, by name."""
    directory.mkdir(exist_ok=True)
    for suffix in (".csv", ".json", ".parquet"):
        table.write(directory / f"table{suffix}")
    return contents(directory)


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.glob("table*")}
