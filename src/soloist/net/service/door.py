"""A place where clients come in, with what it stands of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any

from soloist.core import UsageError
from soloist.net.link.security import Address
from soloist.net.service.arrival import Arrival, Arrivals
from soloist.net.service.rights import Book, Limits
from soloist.net.service.visit import Visit

if TYPE_CHECKING:
    from soloist.net.link.porch import Listening
    from soloist.net.service.client_port import ClientPort
    from soloist.net.service.control import ControlServer

log = logging.getLogger("soloist.net")

CLOSE_SECONDS = 1.0
REPEAT_SECONDS = 10.0
"""Seconds until the same complaint about strangers is worth another line in the log."""
PREFIX = "client:"
"""What the name of a client begins with in its certificate."""


class Door:
    """One that listens. Without a `book` whoever gets in is the node's user, and no names are asked for."""

    def __init__(
        self,
        server: ControlServer,
        limits: Limits,
        where: str,
        book: Book | None = None,
        tls: ssl.SSLContext | None = None,
        trusted: bool = False,
    ) -> None:
        self.server, self.limits, self.where, self.book, self.tls = server, limits, where, book, tls
        self.open = trusted
        """Whether nobody has to show who it is."""
        self.visits: dict[Visit, None] = {}
        self.strangers: dict[Visit | Arrival, None] = {}
        self._listening: asyncio.Server | Listening | None = None
        self._warned: dict[str, float] = {}

    async def open_unix(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_unix_server(lambda: Visit(self), sock=listening, backlog=1024)

    async def open_port(self, address: Address) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self.tls:
                listening = self._listening = Arrivals(self, address)
                await listening.bind()
                listening.listen()
            else:
                self._listening = await loop.create_server(
                    lambda: Visit(self), address.host, address.port, backlog=1024
                )
        except OSError as error:
            if self._listening:
                self._listening.close()
            raise UsageError(f"cannot listen for clients at {address}: {error.strerror or error}") from None

    # What visits report.

    def came(self, visit: Visit) -> None:
        """A connection is up."""
        if len(self.visits) >= self.limits.connections:
            visit.turn_away(
                f"this node serves {self.limits.connections} connections, and has no room for more"
            )
            self.warn("clients", f"more than {self.limits.connections} connections")
            return
        self.visits[visit] = None
        self.stranger(visit)

    def stranger(self, visit: Visit | Arrival) -> None:
        """One more. If too many have not shown who they are, the oldest of them has to go."""
        if len(self.strangers) >= self.limits.strangers:
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            oldest.turn_away("too many connections have not shown who they are")
            self.warn("strangers", "too many connections have not shown who they are")
        self.strangers[visit] = None

    def known(self, visit: Visit | Arrival) -> None:
        self.strangers.pop(visit, None)

    def went(self, visit: Visit) -> None:
        self.visits.pop(visit, None)
        self.strangers.pop(visit, None)
        self.server.went(visit)

    def certified(self, transport: asyncio.Transport) -> str:
        """The name of a client, as its certificate says; empty if it is none of a client."""
        certificate: Any = transport.get_extra_info("peercert") or {}
        names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI"]
        return next((name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)), "")

    def warn(self, program: str, why: str) -> None:
        """Log it; of whom nobody knows, once in a while."""
        now = time.monotonic()
        if self.book is not None:
            if now - self._warned.get(why, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return
            if len(self._warned) > 100:
                self._warned.clear()
            self._warned[why] = now
        log.warning("%s: dropped %s on %s: %s", self.server.node.name, program, self.where, why)

    async def close(self) -> None:
        if self._listening:
            self._listening.close()
        for arrival in [each for each in self.strangers if isinstance(each, Arrival)]:
            arrival.turn_away("the port is closed")
        for visit in list(self.visits):
            visit.hang_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self.visits:
                    await asyncio.sleep(0.005)
        for visit in list(self.visits):  # it does not read what was said last
            visit.transport.abort()
        while self.visits:
            await asyncio.sleep(0)


async def opened(server: ControlServer, port: ClientPort, limits: Limits | None = None) -> Door:
    """A door at that port."""
    tls = port.tls.server() if port.tls else None
    free = not (port.secrets or tls)
    door = Door(server, limits or Limits(), "the port for clients", port.book(), tls, free)
    await door.open_port(port.address)
    return door
