"""Clients whose TLS is not up yet: they count among the strangers from the moment at which they are accepted.

asyncio tells of a connection only when its TLS is up, so whoever never gets that far would not be counted, and a node has only so
many files.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

from soloist.net.link.porch import Listening
from soloist.net.service.visit import GREETING_SECONDS, Visit

if TYPE_CHECKING:
    from soloist.net.link.security import Address
    from soloist.net.service.door import Door


class Arrival:
    """One of them."""

    def __init__(self, door: Door, sock: socket.socket) -> None:
        self.door, self.socket = door, sock
        self.handed_over = False
        """Whether the loop has the socket, and closes it."""
        self.entering = asyncio.get_running_loop().create_task(self._enter(), name="tls")
        self.entering.add_done_callback(self._entered)

    async def _enter(self) -> None:
        self.handed_over = True
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Visit(self.door),
                self.socket,
                ssl=self.door.tls,
                ssl_handshake_timeout=GREETING_SECONDS,
            )

    def _entered(self, entering: asyncio.Task[None]) -> None:
        """It may have been told to go before it began."""
        self.door.known(self)
        if not self.handed_over:
            self.socket.close()

    def turn_away(self, why: str) -> None:
        """Without a word: there is no TLS to say it in."""
        self.entering.cancel()


class Arrivals(Listening):
    """The port of a door, where clients come over TLS."""

    def __init__(self, door: Door, where: Address) -> None:
        super().__init__(where, lambda why: door.warn("clients", why))
        self.door = door

    def arrived(self, sock: socket.socket) -> None:
        self.door.stranger(Arrival(self.door, sock))
