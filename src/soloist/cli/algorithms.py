"""`soloist algorithms`: the catalogue, or one card."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Annotated

import typer

from soloist.algorithms import CATALOGUE, Card, load_any
from soloist.cli.arguments import Json
from soloist.cli.catalogue import print_catalogue, read, record, records
from soloist.cli.output import print_facts, print_json


def algorithms(
    name: Annotated[
        str | None, typer.Argument(help="One algorithm, or a file of yours; all of them if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """List the catalogue, or show the card of one algorithm.

    Examples:

        soloist algorithms

        soloist algorithms raymond-tree

        soloist algorithms my_lock.py
    """
    if name is not None:
        card = load_any(name)
        print_json(record(card)) if json else print_card(card)
    elif json:
        print_json(records(CATALOGUE, read()))
    else:
        print_catalogue()


def print_card(card: Card) -> None:
    facts = record(card)
    options = facts.pop("options")
    for name, value in facts.items():
        print_facts(f"{name.replace('_', ' '):<15}  {value}")
    for name, text in options.items():
        print_facts(f"{'option':<15}  {name}: {text}")
    story = inspect.getdoc(sys.modules[card.process.__module__])
    print_facts("\n" + textwrap.indent(story or "", "  "))
