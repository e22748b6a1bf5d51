"""Messages: frozen records of scalars and tuples. Their msgpack bytes are the wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec

Site = int
"""A site is a number from 0 to N-1."""


NEVER = -(1 << 60)
"""In place of a number that is not in use: less than any, wherever counting starts."""


class Counter(msgspec.Struct, frozen=True):
    """A field of a process or message that grows without end: a clock, a timestamp, a request number.

    Declaring it promises that steps only add to it, copy it and compare it with others of its kind,
    so that a run looks the same wherever counting starts. The checker relies on that (and tests it).
    """

    per_site: bool = False
    """Each site's requests are numbered by themselves: a list by site, or the sender's number."""
    counted: Literal["all", "own", "none"] = "all"
    """Which of its numbers are added to, or in any way but by order compared with others: all of them, of a list
    by site only this site's own, or none. What is counted never goes back; the rest is only copied and compared,
    so of numbers that are less than all that are counted just the order matters."""
    at: str = ""
    """Where the numbers are, from the outside in: `*` in each element, `k` in the keys of a dict, a digit at that
    place of a tuple. So they are at `*0` of a list of (number, site), and at `*` of a set of numbers. As long as
    nothing else is said: the field itself, or each element of it. None is no number."""
    kind: str = ""
    """Counters of different kinds are never compared with each other."""


class Message(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=True):
    """Base of all messages. Subclasses repeat `frozen=True`: mypy does not inherit it."""

    counters: ClassVar[Mapping[str, Counter]] = {}

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"


HEADER_WORDS = 3
"""Source, destination and kind (Bulgannawar & Vaidya, section 4)."""

encode = msgspec.msgpack.Encoder().encode


def words(message: Message) -> int:
    """The size of a message in words: a scalar is one, and so are source, destination and kind."""
    return HEADER_WORDS + sum(_scalars(getattr(message, f)) for f in message.__struct_fields__)


def scalar_words(kind: type[Message]) -> int:
    """The size in words of a kind of message whose fields are all scalars."""
    return HEADER_WORDS + len(kind.__struct_fields__)


def _scalars(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_scalars, value))
    return 1
