"""The wire: what nodes say to each other, and how it is cut into frames.

A frame is a length of four bytes and a msgpack body. After the handshake every body is a `Batch`: what a
node had to say to a peer in one turn of its loop, with the numbers that make the link reliable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from soloist.core import ProtocolError

VERSION = 3
MAX_FRAME = 4 * 1024 * 1024
"""Bytes. No honest peer sends more in one turn: a longer frame closes the connection."""

_LENGTH = struct.Struct(">I")
length_bytes, length_of = _LENGTH.pack, _LENGTH.unpack_from


class Envelope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One message of one lock's algorithm, from a site of the sender to a site of the receiver.

    `counter` is the fence: merged by maximum on receipt, raised by one at each entry, it grows strictly from
    holder to holder whatever the algorithm is. `epoch` says which generation of the lock this belongs to.
    """

    lock: str
    capacity: int
    epoch: int
    counter: int
    sender: int
    to: int
    body: msgspec.Raw
    """The message. It is not decoded on arrival: only the lock knows what it may be. (Its sender may leave it as it
    is: it is encoded with the rest.)"""


class Question(msgspec.Struct, frozen=True, array_like=True, tag="ask", gc=False):
    """What do you know of this lock (or of all, for an empty name)?"""

    number: int
    lock: str


class LockState(msgspec.Struct, frozen=True, array_like=True):
    """What one node knows of one lock."""

    lock: str
    node: str
    holding: int
    waiting: int
    fence: int
    held_for: float | None
    note: str | None
    lost: str = ""
    """Not empty if that node is lost, and the lock held for it all the same: until when."""


class Answer(msgspec.Struct, frozen=True, array_like=True, tag="tell"):
    """The answer to a question."""

    number: int
    states: list[LockState]
    more: bool = False
    """Whether another part of the answer follows."""


class Refusal(msgspec.Struct, frozen=True, array_like=True, tag="no", gc=False):
    """What you said of this lock cannot be: here it has another capacity."""

    lock: str
    capacity: int


class Muster(msgspec.Struct, frozen=True, array_like=True, tag="muster", gc=False):
    """Those whom I have met, as a digest, and whether I am bound to them. See `soloist.net.member.birth`."""

    company: bytes
    bound: bool


class Garbled(msgspec.Struct, frozen=True, array_like=True, tag="garbled", gc=False):
    """What you said of this lock could not be read here, and is lost."""

    lock: str


class Counsel(msgspec.Struct, frozen=True, array_like=True, tag="view"):
    """What is said about who is a member, where there is no lease, and so no connection of its own for that."""

    to: tuple[str, ...]
    """A voter, a member, or both, of the node that gets it."""
    body: msgspec.Raw
    """One of `soloist.views.messages`."""


Notice = Question | Answer | Refusal | Muster | Garbled | Counsel
"""What nodes say to each other besides the messages of algorithms."""


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What is said in one turn. `number` counts the batches of a link from 1; 0 is a bare acknowledgement."""

    number: int
    acknowledged: int
    envelopes: list[Envelope]
    notices: list[Notice]


encode = msgspec.msgpack.Encoder().encode
decode_batch = msgspec.msgpack.Decoder(Batch).decode


class _Rough(msgspec.Struct, frozen=True, array_like=True):
    """A batch of which only the numbers are read."""

    number: int
    acknowledged: int
    envelopes: list[msgspec.Raw]
    notices: list[msgspec.Raw]


_decode_rough = msgspec.msgpack.Decoder(_Rough).decode
_decode_envelope = msgspec.msgpack.Decoder(Envelope).decode
_decode_notice: Callable[[msgspec.Raw], Notice] = msgspec.msgpack.Decoder(Notice).decode


def salvage(body: memoryview) -> tuple[Batch, list[str]]:
    """What can be read of a batch that cannot be read as a whole, and the locks of the envelopes that cannot.

    To refuse it would be no use: its sender would send it again, for ever.
    """
    rough = _decode_rough(body)
    envelopes, notices, garbled = [], [], []
    for raw in rough.envelopes:
        try:
            envelopes.append(_decode_envelope(raw))
        except msgspec.MsgspecError:
            fields: Any = msgspec.msgpack.decode(raw)
            garbled += (
                [field for field in fields[:1] if isinstance(field, str)] if isinstance(fields, list) else []
            )
    for raw in rough.notices:
        with suppress(msgspec.MsgspecError):
            notices.append(_decode_notice(raw))
    return Batch(rough.number, rough.acknowledged, envelopes, notices), garbled


def frame(body: bytes) -> bytes:
    return length_bytes(len(body)) + body


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.limit = limit
        self.buffer = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[memoryview]:
        """Whole frames. They are not copied: what they show is theirs only until `data` is used again."""
        if self.buffer:
            self.buffer += data
            if self._end(self.buffer, 0) > len(self.buffer):
                return
            data, self.buffer = self.buffer, bytearray()
        view, start = memoryview(data), 0
        while (end := self._end(view, start)) <= len(view):
            yield view[start + 4 : end]
            start = end
        if start < len(view):
            self.buffer += view[start:]

    def _end(self, data: bytearray | memoryview, start: int) -> int:
        """Where the frame ends that begins there, as far as one can tell."""
        if len(data) - start < 4:
            return start + 4
        (length,) = length_of(data, start)
        if length > self.limit:
            raise ProtocolError(f"a frame of {length} bytes; the limit is {self.limit}")
        return start + 4 + int(length)
