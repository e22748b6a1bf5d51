"""A reliable, ordered link over connections that come and go, as a state machine without I/O.

Batches are numbered. The receiver of one acknowledges it, with its next batch or alone; the sender keeps
a batch until it is acknowledged. After a reconnection both sides say what they have, and send the rest again;
what arrives twice is dropped. So to those above, a dropped connection is a pause and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from soloist.core import ProtocolError
from soloist.net.link.wire import Batch, Envelope, Notice, encode, frame, length_bytes

Write = Callable[[bytes], object]
MANY, MUCH = 64, 1 << 20
"""Batches, and bytes, that are kept before those are looked for that the peer has."""

_STATE = ("sent", "received", "acknowledged", "confirmed", "written", "_kept", "_kept_bytes")


class Session:
    """Our end of the link to one incarnation of a peer."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """As if nothing had been said: the peer is another process than before, and what was for that one is void."""
        self.sent = 0
        self.received = 0
        self.acknowledged = 0
        """The last batch that the peer knows we have."""
        self.confirmed = 0
        """The last batch that we know the peer has."""
        self.written = 0
        """The last batch that was given to the connection, this one or one before."""
        self.write: Write | None = None
        """Where frames go, while there is a connection that takes them."""
        self._kept: deque[bytes] = deque()
        """The frames of the last batches: all that the peer may not have."""
        self._kept_bytes = 0

    def put_aside(self) -> dict[str, Any]:
        """All that was said: another incarnation of the peer is meant for now, but this one may be meant again."""
        self.write = None
        return {name: getattr(self, name) for name in _STATE}

    def take_up(self, state: Mapping[str, Any]) -> None:
        """Go on where it was put aside. The peer does so, too: for it there was only a connection that ended."""
        for name, value in state.items():
            setattr(self, name, value)

    def send(self, envelopes: list[Envelope], notices: list[Notice]) -> int:
        """The next batch: it is written if it can be, and kept until the peer has it. Gives the `backlog`."""
        number, received = self.sent + 1, self.received
        body = encode(Batch(number, received, envelopes, notices))  # if that fails, nothing has happened
        self.sent, self.acknowledged = number, received
        framed = length_bytes(len(body)) + body
        kept = self._kept
        kept.append(framed)
        self._kept_bytes = kept_bytes = self._kept_bytes + len(framed)
        if write := self.write:
            self.written = number
            write(framed)
        return kept_bytes if kept_bytes < MUCH and len(kept) < MANY else self.backlog

    def acknowledgement(self) -> bytes | None:
        """A frame that only says what we have, if the peer does not know yet."""
        if self.acknowledged == self.received:
            return None
        self.acknowledged = self.received
        return frame(encode(Batch(0, self.received, [], [])))

    def accept(self, batch: Batch) -> bool:
        """Whether the batch is new. A gap cannot be: links keep order, and a reconnection starts where we are."""
        number, acknowledged = batch.number, batch.acknowledged
        if acknowledged > self.sent:
            raise ProtocolError(f"the peer acknowledges batch {acknowledged} of {self.sent}")
        if acknowledged > self.confirmed:
            self.confirmed = acknowledged
        if number <= self.received:
            if number:  # sent again, so the peer does not know that we have it
                self.acknowledged = min(self.acknowledged, number - 1)
            return False
        if number != self.received + 1:
            raise ProtocolError(f"batch {number} came after {self.received}")
        self.received = number
        return True

    @property
    def backlog(self) -> int:
        """Bytes that the peer may not have."""
        kept, confirmed = self._kept, self.confirmed
        while kept and self.sent - len(kept) < confirmed:
            self._kept_bytes -= len(kept.popleft())
        return self._kept_bytes

    def resume(self, peer_has: int) -> None:
        """There is a connection again, or the first: all that the peer has not got is to be written to it.

        It may have got more, over another connection, since it said what it has.
        """
        if not 0 <= peer_has <= self.sent:
            raise ProtocolError(f"the peer says it has batch {peer_has} of {self.sent}")
        self.written = self.confirmed = max(peer_has, self.confirmed)

    def go_on(self, write: Write) -> None:
        """The connection takes something: give it what it has not been given yet."""
        self.write = write
        self.written = max(self.written, self.confirmed)
        if self.backlog:
            unwritten = list(self._kept)[len(self._kept) - (self.sent - self.written) :]
            for framed in unwritten:
                if self.write is None:  # that was enough
                    break
                self.written += 1
                write(framed)
