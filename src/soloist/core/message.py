"""Messages: frozen records of scalars and tuples. Their msgpack bytes are the wire format."""

from __future__ import annotations

from typing import Any

import msgspec

Site = int
"""A site is a number from 0 to N-1."""


class Message(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=True):
    """Base of all messages. Subclasses repeat `frozen=True`: mypy does not inherit it."""

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
