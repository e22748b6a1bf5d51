"""What a history is made of, in whatever format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

import msgspec

from soloist.core import UsageError

Kind = Literal["request", "acquire", "release", "cancel", "end", "doubt"]
"""`cancel`: a request was given up; `end`: the process is known to have ended; `doubt`: it is not known whether the release before it took effect."""


class Event(NamedTuple):
    """One thing that a process did with a lock, at a time of its own clock."""

    time: float
    process: str
    kind: Kind
    lock: str
    fence: int | None
    where: int
    """Line of its file."""


class Format(Protocol):
    """One way to write histories down."""

    capacity: dict[str, int]
    """How many may be inside together, by lock, where the file itself says so."""

    def events(self, line: bytes, where: int) -> Iterator[Event]:
        """What a line says; `BadLine` if it says nothing that can be understood."""


class BadLine(UsageError):
    """A line that is no part of a history."""


def number(value: object) -> int | None:
    """A fence: a whole number, or one as text where readers have small numbers."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    try:
        return int(value) if isinstance(value, str) else _refuse(value)
    except ValueError:
        return _refuse(value)


def _refuse(value: object) -> int:
    raise BadLine(f"a fence is a whole number, not {value!r}")


def plain_words(error: msgspec.MsgspecError) -> str:
    """What msgspec found, as one would say it."""
    said = re.sub(
        r"Object missing required field (\S+).*", r"the field \1 is missing", str(error).replace("`", "")
    )
    said = said.replace(" - at $.", " for ").replace("Invalid enum value", "there is no event")
    said = said.replace("JSON is malformed", "it is no JSON").replace(
        "Input data was truncated", "it ends too early"
    )
    return (
        said.removesuffix(" for event")
        if said.startswith("there is no event")
        else said[0].lower() + said[1:]
    )
