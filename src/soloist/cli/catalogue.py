"""The catalogue as a list. What the cards say is kept in a file, so that a list need not load every algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, Card, Formula, find_any
from soloist.algorithms._own import installed
from soloist.cli.output import print_table
from soloist.core import UsageError

KEPT = Path(__file__).with_name("catalogue.json")
"""Written by `make pages`; a test compares it with the cards."""


def print_catalogue() -> None:
    kept = read()
    columns = {
        "name": "name",
        "family": "family",
        "K": "capacity",
        "links": "channels",
        "most messages": "bound",
        "?light load": "light_load",
        "?order of entries": "fairness",
    }
    _print("Algorithms", columns, records(CATALOGUE, kept))
    print()
    columns = {"name": "name", "most messages": "bound", "tolerates": "tolerates"}
    _print("With recovery as published, to simulate and check", columns, records(RECOVERY, kept))
    print()
    columns = {"name": "name", "most messages": "bound", "what it is": "title"}
    _print("Variants, to simulate and check", columns, records(VARIANTS, kept))
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


def _print(title: str, columns: Mapping[str, str], rows: list[dict[str, Any]]) -> None:
    print_table(title, tuple(columns), [tuple(row[key] for key in columns.values()) for row in rows])


def read() -> dict[str, dict[str, Any]]:
    """The records of the package's own algorithms, by name."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, dict[str, Any]])


def records(cards: Mapping[str, Card], kept: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """In order of the catalogue. An algorithm that came from elsewhere is asked itself."""
    return [kept[name] if name in kept else record(cards[name]) for name in cards]


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


def write() -> None:
    """Keep what the cards say now."""
    cards = [card for room in (CATALOGUE, RECOVERY, VARIANTS) for card in room.values()]
    found = {card.name: record(card) for card in cards}
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
