"""`soloist check carry`: algorithms that begin a new epoch with their holders inside, explored."""

from __future__ import annotations

import typer

from soloist.algorithms import CATALOGUE, load
from soloist.check import Limits
from soloist.check.carry import Summary, check_carry, exit_code
from soloist.check.explore import Watcher
from soloist.cli.output import print_json, print_table

COLUMNS = ("algorithm", ">starts", ">states", ">?seconds", "verdict")


def run_carry(names: list[str], all: bool, limits: Limits, json: bool, watch: Watcher | None) -> None:
    """Check the named algorithms; with none named the whole catalogue. The limits are for each of them."""
    cards = [load(name) for name in names or CATALOGUE]
    found = [check_carry(card, all, limits, watch) for card in cards]
    if json:
        print_json({"algorithms": [each.record() for each in found]})
    else:
        print_table(
            "From each start the holders leave, and everybody asks once more", COLUMNS, list(map(row, found))
        )
        for each in found:
            if each.reason:
                print(f"\n{each.algorithm}, {each.where}: {each.reason}\n{each.script}".rstrip())
    raise typer.Exit(exit_code(found))


def row(found: Summary) -> list[str]:
    verdict = f"{found.verdict} {found.property}" if found.property else found.verdict
    return [found.algorithm, str(found.starts), str(found.states), f"{found.seconds:.1f}", verdict]
