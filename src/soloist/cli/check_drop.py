"""`soloist check drop`: what algorithms need, and how they fail without: one assumption dropped at a time."""

from __future__ import annotations

import os

import typer

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, load_any
from soloist.check import Limits
from soloist.cli.output import print_json, print_table, progress_bar
from soloist.lab.assumptions import ASSUMPTIONS, NO_TIMER, STATES, Broken, matrix


def run_drop(names: list[str], all: bool, limits: Limits, json: bool) -> None:
    """A matrix of the named algorithms and assumptions; with none named, of all there are."""
    assumptions = [name for name in names if name in ASSUMPTIONS] or list(ASSUMPTIONS)
    algorithms = [name for name in names if name not in ASSUMPTIONS]
    for name in algorithms:
        load_any(name)
    algorithms = algorithms or [*CATALOGUE, *((*RECOVERY, *VARIANTS) if all else ())]
    with progress_bar("checking", json) as progress:
        found = matrix(algorithms, assumptions, os.cpu_count() or 1, min(limits.states, STATES), progress)
    if json:
        print_json({"cells": found})
    else:
        rows = [
            [name, *(text(cell) for cell in found if cell.algorithm == name)]
            for name in dict.fromkeys(algorithms)
        ]
        print_table("Without one assumption", ("algorithm", *assumptions), rows)
        if len(found) <= len(ASSUMPTIONS):
            for cell in found:
                if cell.script:
                    print(
                        f"\n{cell.algorithm} without {cell.assumption}: {cell.reason}\n{cell.script}".rstrip()
                    )
    raise typer.Exit(0)


def text(cell: Broken) -> str:
    """`deadlocks (N=2, 2 steps)`; a question mark where safety was not searched to the end."""
    if cell.outcome == NO_TIMER:
        return NO_TIMER
    steps = f", {cell.steps} step{'s' if cell.steps > 1 else ''}" if cell.script else ""
    doubt = "?" if cell.safe == "open" else ""
    return f"{cell.outcome}{doubt} (N={cell.nodes}{steps})"
