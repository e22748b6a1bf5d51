"""The catalogue: every algorithm, one line each."""

from __future__ import annotations

from soloist.algorithms import lamport, naimi_trehel, raymond_tree, ricart_agrawala, suzuki_kasami
from soloist.algorithms._card import Card, Formula, Option, Size, choice, number
from soloist.core import unknown

CATALOGUE: dict[str, Card] = {
    card.name: card
    for card in (
        lamport.CARD,
        naimi_trehel.CARD,
        raymond_tree.CARD,
        ricart_agrawala.CARD,
        suzuki_kasami.CARD,
    )
}


def find(name: str) -> Card:
    """The card of an algorithm; an unknown name is answered with the nearest known ones."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise unknown("algorithm", name, CATALOGUE) from None


__all__ = ["CATALOGUE", "Card", "Formula", "Option", "Size", "choice", "find", "number"]
