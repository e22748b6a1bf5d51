"""What the algorithms that recover share: times as options. Their unit is that of the links' delays."""

from __future__ import annotations

import math
from typing import Any

from soloist.algorithms._card import Formula, Option
from soloist.core import UsageError


def time(name: str, default: float, help: str) -> Option:
    """An option that is a time above 0."""

    def build(value: Any, n: int, k: int) -> float:
        try:
            chosen = float(value)
        except ValueError:
            chosen = math.nan
        if not 0 < chosen < math.inf:
            raise UsageError(f"{name} must be a time above 0, such as {default:g}, not {value!r}")
        return chosen

    return Option(name, default, f"{help} (time units; the default is for delays of at most 0.001)", build)


def while_calm(text: str) -> Formula:
    """The bound while no timer runs out. After one there is none: what a recovery costs depends on the faults."""
    return Formula(f"{text}, until a timer runs out", lambda s: math.inf)
