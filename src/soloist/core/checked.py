"""Numbers, and whatever else programs hand in, looked at where it comes in."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from soloist.core.errors import UsageError

T = TypeVar("T")


def whole(what: str, number: Any) -> int:
    """A whole number, of whatever kind; but neither true nor false, which Python would take for 1 and 0."""
    try:
        if isinstance(number, bool):
            raise TypeError
        return operator.index(number)
    except TypeError:
        raise UsageError(f"{what} must be a whole number, not {shown(number)}") from None


def real(what: str, number: Any, least: float = 0.0) -> float:
    """A number that is not below the least, and has an end."""
    try:
        if isinstance(number, bool | str | bytes | bytearray):
            raise TypeError
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{what} must be a number, not {shown(number)}") from None
    if not least <= value < math.inf:
        wanted = "not be negative" if least == 0 else f"be at least {least:g}"
        raise UsageError(f"{what} must {wanted} and must be finite, but is {shown(number)}")
    return value


def several(what: str, names: Any) -> frozenset[str]:
    """Names, and not one word, which Python would take for its letters."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"{what} must be several names, not {shown(names)}")
    return frozenset(names)


def a_path(what: str, place: Any) -> Path:
    """A place in the file system: a path, or the text of one."""
    if not isinstance(place, str | Path):
        raise UsageError(f"{what} must be a path, not {shown(place)}")
    return Path(place)


def a(kind: type[T], what: str, value: Any) -> T:
    """An object of a class, such as another function gives it."""
    if not isinstance(value, kind):
        raise UsageError(f"{what} must be of type {kind.__name__}, not {shown(value)}")
    return value


def shown(what: object) -> str:
    """In one line, whatever it is."""
    said = repr(what)
    return said if len(said) <= 40 else f"{said[:40]}… ({type(what).__name__})"
