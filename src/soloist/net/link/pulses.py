"""Connections for renewals: one beside each link, which belongs to a thread once it is open.

It is made like any other, by the same handshake; then the loop gives up its socket. With TLS it begins in the clear, with
the name of whoever calls, and all that follows is TLS, which the thread itself speaks: nobody can take a TLS that has begun
from the loop.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING

from soloist.core import ProtocolError
from soloist.net.link import shortcut as shortcuts
from soloist.net.link.connection import HANDSHAKE_SECONDS, Connection, detach
from soloist.net.link.handshake import Hello, PulseHello
from soloist.net.link.wire import encode, frame

if TYPE_CHECKING:
    from soloist.net.link.tcp import Peer, TcpTransport

log = logging.getLogger("soloist.net")

FIRST_RETRY, LAST_RETRY = 0.02, 1.0


class Pulses:
    """Of one transport. Whoever has made a link makes the other connection, too."""

    def __init__(self, owner: TcpTransport) -> None:
        self.owner = owner
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def wanted(self, peer: Peer) -> None:
        """There is a link, or the connection for renewals is gone."""
        ours = peer.connection and peer.connection.dialled
        if self.owner.meeting.renews and ours and not peer.pulsing and peer.name not in self.tasks:
            task = asyncio.create_task(self._dial(peer), name=f"renew with {peer.name}")
            self.tasks[peer.name] = task
            task.add_done_callback(lambda _: self.tasks.pop(peer.name, None))

    def lost(self, peer: Peer) -> None:
        peer.pulsing = False
        asyncio.get_running_loop().call_later(FIRST_RETRY, self.wanted, peer)

    def taken(self, connection: Connection, theirs: Hello, unread: bytes) -> None:
        """After a handshake, in the clear."""
        assert connection.wire
        self.owner.peers[theirs.who.node].pulsing = True
        sock = detach(connection.wire)
        self.owner.meeting.pulse(
            theirs.who.node, theirs.who.incarnation, sock, unread, connection.dialled is not None
        )

    def called(self, connection: Connection, hello: PulseHello, unread: bytes) -> None:
        """Somebody says who it is; if that is a peer of ours, TLS will show."""
        assert self.owner.tls
        assert connection.wire
        peer = self.owner.peers.get(hello.node)
        if not peer or not peer.incarnation or not peer.connection or not self.owner.meeting.renews:
            raise ProtocolError(f"{hello.node!r} is not connected here")
        peer.pulsing = True
        sock = detach(connection.wire)
        self.owner.meeting.pulse(
            peer.name, peer.incarnation, sock, unread, True, self.owner.tls.server(), server=True
        )

    async def _dial(self, peer: Peer) -> None:
        retry = 0.0
        while peer.connection and not peer.pulsing:
            await asyncio.sleep(retry)
            retry = min(2 * retry + FIRST_RETRY, LAST_RETRY)
            try:
                if self.owner.tls:
                    await self._call_in_the_clear(peer)
                else:
                    sock = shortcuts.connect(peer.address) if self.owner.shortcut else None
                    await self.owner.call(peer, sock, pulse=True)
            except (OSError, ValueError) as error:
                log.debug("%s: no renewals to %s: %s", self.owner.name, peer.name, error)

    async def _call_in_the_clear(self, peer: Peer) -> None:
        assert self.owner.tls
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(peer.address.host, peer.address.port, type=socket.SOCK_STREAM)
        family, kind, number, _, where = found[0]
        sock = socket.socket(family, kind, number)
        try:
            sock.setblocking(False)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await loop.sock_connect(sock, where)
                await loop.sock_sendall(sock, frame(encode(PulseHello(self.owner.name))))
        except BaseException:
            sock.close()
            raise
        if not peer.incarnation:
            sock.close()
            return
        peer.pulsing = True
        self.owner.meeting.pulse(peer.name, peer.incarnation, sock, b"", True, self.owner.tls.client())

    def close(self) -> None:
        for task in self.tasks.values():
            task.cancel()
