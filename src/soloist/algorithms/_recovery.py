"""What the algorithms that recover share: times as options. Their unit is that of the links' delays."""

from __future__ import annotations

import math

from soloist.algorithms._card import Formula, Option, duration


def time(name: str, default: float, help: str) -> Option:
    """An option that is a time above 0."""
    return duration(name, default, f"{help} (time units; the default is for delays of at most 0.001)")


def while_calm(text: str) -> Formula:
    """The bound while no timer runs out. After one there is none: what a recovery costs depends on the faults."""
    return Formula(f"{text}, until a timer runs out", lambda s: math.inf)
