"""Times as users write them: on the command line, in files and in scripts."""

from __future__ import annotations

import math
import re

from soloist.core import UsageError

UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
"""Seconds per unit; in a simulation, time units."""


def duration(text: str | float, what: str = "duration") -> float:
    """A time that is not negative: a plain number, or one with a unit: 2ms, 0.5s, 30us."""
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:e[-+]?\d+)?)\s*([a-z]*)\s*", str(text), re.IGNORECASE)
    try:
        if match is None or match[2] not in UNITS:
            raise ValueError
        value = float(match[1]) * UNITS[match[2]]
    except ValueError:
        raise UsageError(f"{what} must be a number such as 0.8 or 2ms, not {text!r}") from None
    if value < 0:
        raise UsageError(f"{what} must not be negative, but is {text}")
    if value == math.inf:
        raise UsageError(f"{what} must be finite, but is {text}")
    return value
