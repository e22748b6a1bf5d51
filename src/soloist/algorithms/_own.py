"""Algorithms that are not of this package: in files and modules that a user names, and of packages that are installed.

A package registers its cards as entry points of the group `soloist.algorithms`, each by the name on the card.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from soloist import own
from soloist.algorithms._card import Card
from soloist.core import Process, UsageError

if TYPE_CHECKING:  # it takes long to load, and is needed for names that we do not know only
    from importlib.metadata import EntryPoint

GROUP = "soloist.algorithms"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

loaded: dict[str, tuple[str, Card]] = {}
"""By name: where each was found, and its card."""


@lru_cache(maxsize=1)
def installed() -> dict[str, EntryPoint]:
    """What packages have registered, by name; nothing of it is loaded."""
    if not own.may_be_registered(GROUP):
        return {}
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=GROUP)}


def from_place(text: str, taken: Collection[str]) -> Card:
    """The card of a file or a module. From now on it goes by its name, too."""
    return _known(own.load(text), text, taken)


def by_name(name: str, taken: Collection[str]) -> Card | None:
    """The card of that name, if it has been loaded or a package has registered it."""
    if name in loaded:
        return loaded[name][1]
    if name not in installed():
        return None
    found = installed()[name]
    try:
        value = found.load()
    except Exception as error:
        raise UsageError(
            f"{name} ({found.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from None
    card = _known(value, found.value, taken)
    if card.name != name:
        raise UsageError(
            f"the package that registers {name} ({found.value}) calls it {card.name} on its card"
        )
    return card


def checked(card: object, place: str, taken: Collection[str]) -> Card:
    """A card, if it is one."""
    if not isinstance(card, Card):
        raise UsageError(
            f"{place} is a {type(card).__name__}, not a card; an algorithm ends with `CARD = Card(…)`"
        )
    if not NAME.fullmatch(str(card.name)):
        raise UsageError(
            f"{place}: a card's name has small letters, digits and hyphens, such as my-lock, not {card.name!r}"
        )
    if card.name in taken:
        raise UsageError(
            f"{place}: the name {card.name} is taken, `soloist algorithms` lists all; choose another for the card"
        )
    kind = card.process
    if not (isinstance(kind, type) and issubclass(kind, Process) and hasattr(kind, "start")):
        raise UsageError(
            f"{place}: process= on the card should be a subclass of Process with a classmethod `start(cls, me, n)`"
        )
    return card


def _known(value: object, place: str, taken: Collection[str]) -> Card:
    """Checked, and kept."""
    card = checked(value, place, taken)
    before = loaded.get(card.name)
    if before and before[1].process.__module__ != card.process.__module__:
        raise UsageError(
            f"{place}: the name {card.name} is taken by {before[0]}; choose another for the card"
        )
    loaded[card.name] = (place, card)
    return card
