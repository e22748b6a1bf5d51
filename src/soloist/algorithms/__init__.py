"""The catalogue: every algorithm, one line each; and apart from it, those that recover from failures, and variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Any

from soloist.algorithms import _own
from soloist.algorithms._card import Card, Formula, Option, Size, choice, number
from soloist.core import UsageError, unknown
from soloist.core.checked import shown
from soloist.own import is_own, without_ending


class Catalogue(MutableMapping[str, Card]):
    """Cards by name. `two-words` is the `CARD` of the module `two_words`, which is imported when somebody asks for it:
    a node needs one or two of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._cards: dict[str, Card | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Card:
        if (card := self._cards[name]) is None:
            card = import_module(f"{__name__}.{name.replace('-', '_')}").CARD
            self._cards[name] = card
        return card

    def __setitem__(self, name: str, card: Card) -> None:
        self._cards[name] = card

    def __delitem__(self, name: str) -> None:
        del self._cards[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cards)

    def __len__(self) -> int:
        return len(self._cards)


CATALOGUE = Catalogue(
    (
        "agrawal-el-abbadi",
        "bulgannawar-vaidya",
        "carvalho-roucairol",
        "central",
        "helary-plouzeau-raynal",
        "kakugawa",
        "lamport",
        "lodha-kshemkalyani",
        "maekawa",
        "majority",
        "makki",
        "mishra-srimani",
        "mizuno-neilsen-rao",
        "naimi-thiare",
        "naimi-trehel",
        "neilsen-mizuno",
        "nishio",
        "partitioned",
        "raymond-k",
        "raymond-tree",
        "raynal",
        "raynal-inform",
        "ricart-agrawala",
        "ricart-agrawala-token",
        "sanders",
        "singhal-dynamic",
        "singhal-heuristic",
        "srimani-reddy",
        "suzuki-kasami",
        "suzuki-kasami-bounded",
        "token-ring",
    )
)

RECOVERY = Catalogue(
    (
        "agrawal-el-abbadi-recovery",
        "helary-plouzeau-raynal-recovery",
        "mishra-srimani-coordinator",
        "mishra-srimani-recovery",
        "naimi-trehel-recovery",
        "nishio-recovery",
        "raymond-tree-recovery",
        "singhal-dynamic-recovery",
        "singhal-heuristic-recovery",
    )
)
"""Recovery as published, for the laboratory: to be simulated and checked. Real locks recover by `views`."""

VARIANTS = Catalogue(("causal-order", "kakugawa-widening"))
"""What papers describe as possible, for the laboratory too. Smaller variants are options of the algorithms themselves."""


def find(name: str) -> Card:
    """The card of an algorithm for locks; an unknown name is answered with the nearest known ones.

    Names come from peers, traces and links, too: no file is loaded because somebody says so. `load` does that.
    """
    name = _word(name)
    if name in VARIANTS:
        raise UsageError(f"{name} is for `simulate`, `compare` and `check`, not for locks")
    if name in RECOVERY:
        raise UsageError(
            f"{name} is for `simulate`, `compare` and `check`; locks recover by themselves: take {name.rpartition('-')[0]}"
        )
    if name in CATALOGUE:
        return CATALOGUE[name]
    return _others(name, CATALOGUE)


def find_any(name: str) -> Card:
    """The card of any algorithm, those with recovery and the variants included."""
    name = _word(name)
    for room in (CATALOGUE, RECOVERY, VARIANTS):
        if name in room:
            return room[name]
    return _others(name, taken())


def load(text: str | Path) -> Card:
    """The card, for locks, of what a user names: an algorithm, or a file or module of their own, such as `my_lock.py`."""
    text = _word(text)
    return _own.from_place(text, taken()) if is_own(text) else _named(text, find)


def load_any(text: str | Path) -> Card:
    """The same of any algorithm."""
    text = _word(text)
    return _own.from_place(text, taken()) if is_own(text) else _named(text, find_any)


def taken() -> tuple[str, ...]:
    """The names that cards of others must not have."""
    return (*CATALOGUE, *RECOVERY, *VARIANTS)


def _word(name: Any) -> str:
    if not isinstance(name, str | Path):
        raise UsageError(
            f"unknown algorithm {shown(name)}: it is named by a str, or by a file such as my_lock.py"
        )
    return str(name)


def _named(text: str, found: Callable[[str], Card]) -> Card:
    """By its name; who means a file of theirs, and leaves out its ending, is told so."""
    try:
        return found(text)
    except UsageError:
        if text not in taken() and (file := without_ending(text)):
            raise UsageError(
                f"{text} is no algorithm that is known; to have the file here, write {file}"
            ) from None
        raise


def _others(name: str, known: Iterable[str]) -> Card:
    if card := _own.by_name(name, taken()):
        return card
    raise unknown("algorithm", name, (*known, *_own.loaded, *_own.installed()))


__all__ = [
    "CATALOGUE",
    "RECOVERY",
    "VARIANTS",
    "Card",
    "Formula",
    "Option",
    "Size",
    "choice",
    "find",
    "find_any",
    "load",
    "load_any",
    "number",
]
