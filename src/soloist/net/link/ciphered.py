"""A connection for renewals where there is TLS: the loop has it in the clear, and TLS is done here.

What a loop has encrypted it cannot give away. This way the socket and the state of TLS can be handed over together, once
the handshake is done. On the wire there is one byte before TLS begins, so that a port knows which of the two it will be.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from soloist.net.link.cipher import Encrypted
from soloist.net.link.connection import MALFORMED, Connection
from soloist.net.link.handshake import Mismatch
from soloist.net.link.peer import in_words
from soloist.net.link.wire import frame

if TYPE_CHECKING:
    from soloist.net.link.peer import Peer
    from soloist.net.link.porch import Visitor
    from soloist.net.link.tcp import TcpTransport

FIRST_BYTE = b"\1"
"""TLS never begins with it, and no frame that is short."""


class Ciphered(Connection):
    """What it puts is encrypted, and what it gets is decrypted, by us."""

    ciphered = True

    def __init__(
        self,
        transport: TcpTransport,
        dialled: Peer | None,
        context: ssl.SSLContext,
        visitor: Visitor | None = None,
    ) -> None:
        super().__init__(transport, dialled, pulse=True, visitor=visitor)
        self.cipher = Encrypted(context, dialled.name if dialled else None, server_side=dialled is None)
        self.unsaid: list[bytes] = []
        """Until TLS is up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.dialled:
            transport.write(FIRST_BYTE)  # type: ignore[attr-defined]
        super().connection_made(transport)
        self._say_more()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            said = self.cipher.decrypt(bytes(self.space[:nbytes]))
            self._say_more()
            for body in self.frames.feed(said):
                if self.rest is None:
                    self._greet(body)
                else:
                    self.rest.append(frame(bytes(body)))
        except MALFORMED as error:
            self.refuse(str(error), isinstance(error, Mismatch))
        except OSError as error:  # of TLS; to strangers `soloist.net.link.security` has said so
            if self.dialled:
                self.owner.trouble(self.dialled.name, in_words(error))
            self._say_more()
            self.hang_up(gently=True)
        if self.rest is not None and self.theirs:
            self.cipher.give_back(b"".join((*self.rest, self.frames.buffer)))
            self.owner.pulses.taken(self, self.theirs, b"", self.cipher)

    def _certificate(self) -> ssl.SSLObject | None:
        return self.cipher.tls

    def _put(self, framed: bytes) -> None:
        self.unsaid.append(framed)
        self._say_more()

    def _say_more(self) -> None:
        """What TLS has to say, and then what we have."""
        super()._put(self.cipher.pending())
        while self.cipher.ready and self.unsaid:
            super()._put(self.cipher.encrypt(self.unsaid.pop(0)))
