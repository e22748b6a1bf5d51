"""An erratum: what a text prints, and what comes of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soloist.algorithms._card import Card

Run = Literal["printed", "other repairs", "by the letter", "not said"]
"""Of which text a run is: of the printed one, with all its errors; of one whose other errors are repaired; of a reading
by the letter, which the rest of the text rules out; or of rules that no text has, where it says too little."""


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
    properties: tuple[str, ...] | None = None
    """What to look for; None: all that the card promises."""
    timeouts: int | None = None
    """How many timers may run out; None: any number."""
    run: Run = "printed"
    schedule: tuple[str, ...] = ()
    """A run of the printed text, with all its errors, where the one that is searched for is none."""


class Example(msgspec.Struct, frozen=True):
    """A sentence that a run of the repaired algorithm contradicts; the run is a script."""

    algorithm: str
    code: str
    text: str
    says: str
    repair: str
    script: tuple[str, ...]
    published: float | None = None
    """Messages per entry that the text allows, where the script shows more."""
    site: int | None = None
    """Whose messages are counted, if not all."""


class Slip(msgspec.Struct, frozen=True):
    """Something that cannot be run: a slip of the pen, or a gap that no run shows."""

    algorithm: str
    code: str
    text: str
    says: str
    repair: str


def steps(text: str) -> tuple[str, ...]:
    """`acquire 0; deliver 0>1`: the steps of a script."""
    return tuple(" ".join(step.split()) for step in text.split(";"))
