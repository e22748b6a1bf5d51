"""A reliable, ordered link over connections that come and go, as a state machine without I/O.

Batches are numbered. Whoever receives one acknowledges it, with its next batch or alone; whoever sends keeps
a batch until it is acknowledged. After a reconnection both sides say what they have, and send the rest again;
what arrives twice is dropped. So to those above, a dropped connection is a pause and nothing else.
"""

from __future__ import annotations

from collections import deque

from soloist.core import ProtocolError
from soloist.net.wire import Batch, Control, Envelope, encode


class Session:
    """Our end of the link to one peer."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.acknowledged = 0
        """The last batch that the peer knows we have."""
        self.unacknowledged: deque[tuple[int, bytes]] = deque()
        self.unacknowledged_bytes = 0

    def seal(self, envelopes: list[Envelope], control: list[Control]) -> bytes:
        """The bytes of the next batch; they are kept until the peer acknowledges them."""
        number = self.sent = self.sent + 1
        received = self.acknowledged = self.received
        body = encode(Batch(number, received, envelopes, control))
        self.unacknowledged.append((number, body))
        self.unacknowledged_bytes += len(body)
        return body

    def acknowledgement(self) -> bytes | None:
        """A batch that only says what we have, if the peer does not know yet."""
        if self.acknowledged == self.received:
            return None
        self.acknowledged = self.received
        return encode(Batch(0, self.received, [], []))

    def accept(self, batch: Batch) -> bool:
        """Whether the batch is new. A gap cannot be: links keep order, and a reconnection starts where we are."""
        number, acknowledged, kept = batch.number, batch.acknowledged, self.unacknowledged
        if acknowledged > self.sent:
            raise ProtocolError(f"the peer acknowledges batch {acknowledged} of {self.sent}")
        while kept and kept[0][0] <= acknowledged:
            self.unacknowledged_bytes -= len(kept.popleft()[1])
        if number <= self.received:
            return False
        if number != self.received + 1:
            raise ProtocolError(f"batch {number} came after {self.received}")
        self.received = number
        return True

    def resume(self, peer_has: int) -> list[bytes]:
        """After a reconnection: what the peer has not got."""
        if not self.sent - len(self.unacknowledged) <= peer_has <= self.sent:
            raise ProtocolError(f"the peer says it has batch {peer_has} of {self.sent}")
        self.accept(Batch(0, peer_has, [], []))
        return [body for _, body in self.unacknowledged]
