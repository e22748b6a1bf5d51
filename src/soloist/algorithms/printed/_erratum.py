"""An erratum: what a text prints, and what comes of it."""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.algorithms._card import Card


class Erratum(msgspec.Struct, frozen=True):
    """One error of a published text, as an algorithm that has this error and no other."""

    algorithm: str
    """The name of the repaired algorithm in the catalogue."""
    code: str
    """Short and unique within the algorithm, such as E1."""
    text: str
    """Which text, and where in it: `Lodha and Kshemkalyani 2000, Fig. 2, RcvFlush.1`."""
    says: str
    """What it says, in our words."""
    repair: str
    """What the catalogue does instead, and why that suffices."""
    card: Card
    """The algorithm with this error put back."""
    breaks: str
    """The property that the checker finds violated."""
    nodes: int = 3
    rounds: tuple[int, ...] | int = 1
    k: int = 1
    channels: str | None = None
    """None: those of the card."""
    options: dict[str, Any] = {}
