"""What happens to the bytes of a connection that no loop has: nothing, or TLS."""

from __future__ import annotations

import ssl
from typing import Protocol

from soloist.net.link.security import check_certificate

READ_BYTES = 64 * 1024


class Cipher(Protocol):
    """Between a socket and frames. It waits for nothing."""

    ready: bool
    """Whether anything may be said yet."""

    def encrypt(self, data: bytes) -> bytes:
        """Only when `ready`."""

    def decrypt(self, data: bytes) -> bytes:
        """What can be read so far. Raises OSError or ProtocolError if the other cannot be trusted."""

    def pending(self) -> bytes:
        """What the protocol itself wants to send."""


class Plain:
    """Nothing."""

    ready = True

    def encrypt(self, data: bytes) -> bytes:
        return data

    def decrypt(self, data: bytes) -> bytes:
        return data

    def pending(self) -> bytes:
        return b""


class Encrypted:
    """TLS, from its handshake on. The peer's certificate must bear its name, at either end, if that is given."""

    def __init__(self, context: ssl.SSLContext, peer: str | None, server_side: bool) -> None:
        self.ready = False
        self._peer = peer
        self._given_back = b""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_side,
            server_hostname=None if server_side else peer,
        )
        self._shake_hands()

    def _shake_hands(self) -> None:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        if self._peer is not None:
            check_certificate(self.tls, self._peer)
        self.ready = True

    def give_back(self, data: bytes) -> None:
        """What was decrypted and belongs to the next reader."""
        self._given_back = data

    def encrypt(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self._outgoing.read()

    def decrypt(self, data: bytes) -> bytes:
        self._incoming.write(data)
        if not self.ready:
            self._shake_hands()
        read, self._given_back = bytearray(self._given_back), b""
        while self.ready:
            try:
                some = self.tls.read(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            if not some:  # the peer has said its last
                break
            read += some
        return bytes(read)

    def pending(self) -> bytes:
        return self._outgoing.read()
