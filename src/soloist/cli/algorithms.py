"""`soloist algorithms`: the catalogue, or one card."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Annotated, Any

import typer

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, Card, Formula, find_any, load_any
from soloist.algorithms._own import installed
from soloist.cli.arguments import Json
from soloist.cli.output import print_json, print_table
from soloist.core import UsageError


def algorithms(
    name: Annotated[
        str | None, typer.Argument(help="One algorithm, or a file of yours; all of them if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """The catalogue, or the card of one algorithm.

    Examples:

        soloist algorithms

        soloist algorithms raymond-tree

        soloist algorithms my_lock.py
    """
    if name is not None:
        card = load_any(name)
        print_json(record(card)) if json else print_card(card)
    elif json:
        print_json([record(card) for card in CATALOGUE.values()])
    else:
        columns = ("name", "family", "K", "links", "most messages", "?light load", "?order of entries")
        rows = [
            (c.name, c.family, c.capacity, c.channels, c.bound.text, text(c.light), c.fairness)
            for c in CATALOGUE.values()
        ]
        print_table("Algorithms", columns, rows)
        print()
        recovering = [(c.name, c.bound.text, c.tolerates) for c in RECOVERY.values()]
        print_table(
            "With recovery as published, to simulate and check",
            ("name", "most messages", "tolerates"),
            recovering,
        )
        print()
        variants = [(c.name, c.bound.text, c.title) for c in VARIANTS.values()]
        print_table("Variants, to simulate and check", ("name", "most messages", "what it is"), variants)
        print_installed()


def print_installed() -> None:
    """Of other packages, if there are any. One that cannot be loaded keeps nobody from seeing the rest."""
    rows = []
    for name in sorted(installed()):
        try:
            card = find_any(name)
            rows.append((name, card.bound.text, card.title))
        except UsageError as error:
            rows.append((name, "-", str(error)))
    if rows:
        print()
        print_table("Of other packages", ("name", "most messages", "what it is"), rows)


def record(card: Card) -> dict[str, Any]:
    """The card as plain values."""
    return {
        "name": card.name,
        "title": card.title,
        "family": card.family,
        "capacity": card.capacity,
        "channels": card.channels,
        "channels_of_one": card.links(1),
        "structure": card.structure,
        "bound": card.bound.text,
        "light_load": text(card.light),
        "heavy_load": text(card.heavy),
        "fairness": card.fairness,
        "tolerates": card.tolerates,
        "paper": card.paper,
        "section": card.section,
        "options": {option.name: option.help for option in card.options},
    }


def text(formula: Formula | None) -> str:
    return formula.text if formula else "-"


def print_card(card: Card) -> None:
    facts = record(card)
    options = facts.pop("options")
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):<11} {value}")
    for name, text in options.items():
        print(f"{'option':<11} {name}: {text}")
    story = inspect.getdoc(sys.modules[card.process.__module__])
    print("\n" + textwrap.indent(story or "", "  "))
