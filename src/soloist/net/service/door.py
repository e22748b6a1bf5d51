"""A place where clients come in, with what it stands of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
import time
from typing import TYPE_CHECKING, Any

from soloist.core import UsageError
from soloist.net.link.porch import Porch
from soloist.net.link.security import Address
from soloist.net.service import files
from soloist.net.service.account import Account
from soloist.net.service.arrival import Arrival
from soloist.net.service.rights import Book, Limits
from soloist.net.service.visit import Visit

if TYPE_CHECKING:
    from soloist.net.service.client_port import ClientPort
    from soloist.net.service.control import ControlServer

log = logging.getLogger("soloist.net")

BACKLOG = 1024
SPACE = 64 * 1024
CLOSE_SECONDS = 1.0
REPEAT_SECONDS = 10.0
MOST_COMPLAINTS = 20
"""Lines in that time, each once, about those whom nobody knows: they would fill the log."""
MOST_ACCOUNTS = 1000
"""Names beyond which those accounts are forgotten in which there is nothing."""
PREFIX = "client:"
"""What the name of a client begins with in its certificate."""


class Door:
    """One that listens. Without a `book` all who get in are the node's user, and no names are asked for."""

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
        self.visits: dict[Visit | Arrival, None] = {}
        self.strangers: dict[Visit | Arrival, None] = {}
        self.accounts: dict[str, Account] = {}
        self.space = memoryview(bytearray(SPACE))
        """Where all connections read into."""
        self._porch: Porch | None = None
        self._warned: set[str] = set()
        self._warned_since = -REPEAT_SECONDS

    async def listen(self, address: Address) -> None:
        """It takes one connection in each turn of the loop, so that a crowd at the door lets others work."""
        porch = self._porch = Porch(
            address, lambda sock: Arrival(self, sock), lambda why: self.warn("a stranger", why), BACKLOG
        )
        try:
            if address.unix:
                porch.bind_unix(address.host)
                os.chmod(address.host, 0o600)  # before it listens: nobody else ever gets in
            else:
                await porch.bind()
            porch.listen()
        except OSError as error:
            porch.close()
            where = address.host if address.unix else address
            raise UsageError(f"cannot open {self.where} {where}: {error.strerror or error}") from None

    # What visits report.

    def came(self, visit: Visit | Arrival) -> None:
        """If too many have not shown who they are, the oldest of them has to go."""
        if isinstance(visit, Arrival):
            if self.tls is None:
                return  # it is up at once
        elif visit.arrival:
            self.up(visit.arrival)
        if len(self.visits) >= self.limits.connections:
            visit.turn_away(
                f"this node serves {self.limits.connections} connections, and has no room for more"
            )
            self.warn("clients", f"more than {self.limits.connections} connections")
            return
        self.visits[visit] = None
        if len(self.strangers) >= self.limits.strangers:
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            oldest.turn_away("too many connections have not shown who they are")
            self.warn("strangers", "too many connections have not shown who they are")
        self.strangers[visit] = None

    def up(self, arrival: Arrival) -> None:
        """It is counted no longer: its connection is, if there is one."""
        self.visits.pop(arrival, None)
        self.strangers.pop(arrival, None)

    def known(self, visit: Visit) -> None:
        """It has shown who it is."""
        self.strangers.pop(visit, None)

    def account(self, visit: Visit, name: str, back: bool) -> Account:
        """The account of this client, with this connection in it; an error if it has too many, unless it has come back in place of one."""
        if self.book is None:  # a program of the node's own user, by itself
            account = Account("this one", self.limits)
        else:
            shown = bool(name and (self.tls or self.book.proves(name)))
            account = self._account(f"client {name!r}" if shown else f"the one at {visit.peername[0]}")
        if not back:
            account.check_connection()
        account.connections += 1
        return account

    def _account(self, key: str) -> Account:
        if key not in self.accounts:
            if len(self.accounts) >= MOST_ACCOUNTS:
                epoch = self.server.node.epoch
                self.accounts = {who: each for who, each in self.accounts.items() if not each.nothing(epoch)}
            self.accounts[key] = Account(key, self.limits)
        return self.accounts[key]

    def went(self, visit: Visit) -> None:
        if self.visits.pop(visit, self) is self:
            return  # it was told before
        self.strangers.pop(visit, None)
        if visit.account:
            visit.account.connections -= 1
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
            if now - self._warned_since >= REPEAT_SECONDS:
                self._warned_since = now
                self._warned.clear()
            if why in self._warned or len(self._warned) >= MOST_COMPLAINTS:
                return
            self._warned.add(why)
        log.warning("%s: dropped %s on %s: %s", self.server.node.name, program, self.where, why)

    async def close(self) -> None:
        if self._porch:
            self._porch.close()
        for visit in list(self.visits):
            visit.hang_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self.visits:
                    await asyncio.sleep(0.005)
        for visit in list(self.visits):  # it does not read what was said last
            visit.abort()
        while self.visits:
            await asyncio.sleep(0)


async def opened(server: ControlServer, port: ClientPort, limits: Limits | None = None) -> Door:
    """A door at that port."""
    tls = port.tls.server() if port.tls else None
    if tls:
        tls.sslobject_class = ssl.SSLObject  # who fails is logged by the door, once in a while
    free = not (port.secrets or tls)
    limits = limits or Limits(connections=files.room(Limits().connections))
    door = Door(server, limits, "the port for clients", port.book(), tls, free)
    await door.listen(port.address)
    return door
