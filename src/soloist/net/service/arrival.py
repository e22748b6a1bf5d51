"""A connection of a client that was accepted, until it is up: with TLS that takes a while, and some never begin."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Any

from soloist.net.service.visit import GREETING_SECONDS, Visit

if TYPE_CHECKING:
    from soloist.net.service.door import Door


class Arrival:
    """A stranger from the moment it is accepted. asyncio would tell of it only when its TLS is up."""

    def __init__(self, door: Door, sock: socket.socket) -> None:
        self.door, self.socket = door, sock
        self.handed_over = False
        """Whether the loop has the socket, and closes it."""
        self.entering = asyncio.get_running_loop().create_task(self._enter(), name="client")
        self.entering.add_done_callback(self._entered)
        door.came(self)

    async def _enter(self) -> None:
        loop, tls = asyncio.get_running_loop(), self.door.tls
        options: dict[str, Any] = {"ssl": tls, "ssl_handshake_timeout": GREETING_SECONDS} if tls else {}
        self.handed_over = True
        try:
            await loop.connect_accepted_socket(lambda: Visit(self.door, self), self.socket, **options)
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", None) or error.reason or "no TLS"
            self.door.warn("a stranger", str(why))
        except OSError:  # it has gone, or never began
            pass

    def _entered(self, _: object) -> None:
        """It may have been told to go before it began."""
        self.door.up(self)
        if not self.handed_over:
            self.socket.close()

    def turn_away(self, _: str) -> None:
        """Before TLS is up there is nobody to tell."""
        self.hang_up()

    def hang_up(self) -> None:
        self.entering.cancel()

    abort = hang_up
