"""Connections for renewals: one beside each link, which belongs to a thread once it is open.

It is made like any other, by the same handshake; then the loop gives up its socket, and with it the state of its TLS
(`soloist.net.link.ciphered`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from soloist.net.link import shortcut as shortcuts
from soloist.net.link.cipher import Cipher
from soloist.net.link.connection import Connection, detach
from soloist.net.link.handshake import Hello
from soloist.net.link.wire import Frames

if TYPE_CHECKING:
    from soloist.net.link.peer import Peer
    from soloist.net.link.tcp import TcpTransport

log = logging.getLogger("soloist.net")

FIRST_RETRY, LAST_RETRY = 0.02, 1.0


class Pulses:
    """Of one transport. The node that has made a link makes the other connection, too."""

    def __init__(self, owner: TcpTransport) -> None:
        self.owner = owner
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def wanted(self, peer: Peer) -> None:
        """There is a link, or the connection for renewals is gone."""
        ours = peer.connection and peer.connection.dialled
        dialling = peer.name in self.tasks and not self.tasks[peer.name].done()
        if self.owner.meeting.renews and ours and not peer.pulsing and not dialling:
            self.tasks[peer.name] = asyncio.create_task(self._dial(peer), name=f"renew with {peer.name}")

    def lost(self, peer: Peer) -> None:
        peer.pulsing = False
        asyncio.get_running_loop().call_later(FIRST_RETRY, self.wanted, peer)

    def taken(
        self, connection: Connection, theirs: Hello, unread: bytes, cipher: Cipher | None = None
    ) -> None:
        """The handshake is done: from now on it belongs to somebody else."""
        assert connection.wire
        self.owner.peers[theirs.who.node].pulsing = True
        connection.frames = Frames()  # a frame that has begun goes on at the thread
        dialled = connection.dialled is not None
        self.owner.meeting.pulse(theirs.who, detach(connection.wire), unread, dialled, cipher)

    async def _dial(self, peer: Peer) -> None:
        retry = 0.0
        while peer.connection and not peer.pulsing:
            await asyncio.sleep(retry)
            retry = min(2 * retry + FIRST_RETRY, LAST_RETRY)
            try:
                sock = shortcuts.connect(peer.address) if self.owner.shortcut else None
                await self.owner.call(peer, sock, pulse=True)
            except (OSError, ValueError) as error:
                log.debug("%s: no renewals to %s: %s", self.owner.name, peer.name, error)

    def close(self) -> None:
        for task in self.tasks.values():
            task.cancel()
