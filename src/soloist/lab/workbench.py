"""Where an experiment of several sweeps is done: a folder, workers, seeds, and a progress bar for all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from soloist.lab.plots import check_path
from soloist.lab.runner import run_each, run_sweep
from soloist.lab.sweep import Contender, Seeds, Sweep
from soloist.lab.table import Table

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[str, int, int], None]
"""Called with what is being done, runs done so far, and runs in all."""


class Workbench(msgspec.Struct):
    """Runs sweeps and keeps their tables, each in a folder of its own under `out`."""

    out: Path
    seeds: Seeds = Seeds(3)
    scale: float = 1.0
    """Multiplies the entries of every run: less for a quick look, more for narrower intervals."""
    picture: str = "png"
    executor: Executor | str | None = None
    jobs: int = 0
    fresh: bool = False
    command: str = ""
    report: Progress = lambda what, done, total: None

    def __post_init__(self) -> None:
        check_path(self.figure("any"))

    def entries(self, number: int) -> int:
        return max(20, round(number * self.scale))

    def sweep(
        self,
        name: str,
        contenders: Iterable[Contender],
        fixed: Mapping[str, Any],
        vary: Mapping[str, Sequence[Any]],
    ) -> Table:
        """The table of a sweep with this bench's seeds, also written as CSV and JSON."""
        plan = Sweep(
            name,
            tuple(contenders),
            {**fixed, "entries": self.entries(fixed["entries"])},
            dict(vary),
            self.seeds,
        )
        table = run_sweep(
            plan,
            self.out / name,
            self.executor,
            self.jobs,
            lambda done, total: self.report(name, done, total),
            fresh=self.fresh,
            command=self.command,
        )
        for suffix in ("csv", "json"):
            table.write(self.out / f"{name}.{suffix}")
        return table

    def map(self, what: str, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """A function over items, on the same workers: for what a table of runs cannot tell."""
        return run_each(
            function,
            items,
            self.out / what,
            self.executor,
            self.jobs,
            lambda done, total: self.report(what, done, total),
            fresh=self.fresh,
        )

    def figure(self, name: str) -> Path:
        return self.out / f"{name}.{self.picture}"
