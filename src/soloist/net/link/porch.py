"""Where connections wait until they are up.

asyncio tells of a connection only when its TLS is up, so a stranger that never gets that far would not be counted; and one that
comes while `asyncio.Server.close` is called is forgotten, and stays open. Here each one counts among the strangers from
the moment it is accepted.

The will of a dead node comes in the clear, and the TLS of a connection for renewals is not the loop's. So we look at the
first byte before TLS begins: all frames that are short begin with a zero, and TLS never does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from soloist.net.link.ciphered import FIRST_BYTE, Ciphered
from soloist.net.link.connection import HANDSHAKE_SECONDS, Connection
from soloist.net.link.security import Address

if TYPE_CHECKING:
    from soloist.net.link.tcp import TcpTransport

BACKLOG = 100
OUT_OF_FILES_SECONDS = 0.1
"""Seconds to wait if no connection can be accepted because this process has too many files open."""


class Visitor:
    """One connection that was accepted."""

    dialled = None

    def __init__(self, owner: TcpTransport, sock: socket.socket, context: ssl.SSLContext | None) -> None:
        self.owner, self.socket = owner, sock
        self.handed_over = False
        """Whether the loop has the socket, and closes it."""
        self.entering = asyncio.get_running_loop().create_task(self._enter(context), name="tls")
        self.entering.add_done_callback(self._entered)

    async def _enter(self, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        make: Callable[[], Connection] = partial(Connection, self.owner, None, visitor=self)
        if context is None:
            self.handed_over = True
            await loop.connect_accepted_socket(make, self.socket)
            return
        with contextlib.suppress(OSError):  # `soloist.net.link.security` says why
            first = await self._first_byte()
            if first == b"\0":
                make = partial(Connection, self.owner, None, visitor=self, only_will=True)
            elif first == FIRST_BYTE:
                make = partial(Ciphered, self.owner, None, context, visitor=self)
                self.socket.recv(1)
            self.handed_over = True
            if first in (b"\0", FIRST_BYTE):
                await loop.connect_accepted_socket(make, self.socket)
            else:
                await loop.connect_accepted_socket(
                    make, self.socket, ssl=context, ssl_handshake_timeout=HANDSHAKE_SECONDS
                )

    def _entered(self, entering: asyncio.Task[None]) -> None:
        """It may have been told to go before it began."""
        self.owner.strangers.pop(self, None)
        if not self.handed_over:
            self.socket.close()

    async def _first_byte(self) -> bytes:
        """It stays where it is. Nothing, if the other has gone; a TimeoutError, which is an OSError, if it is silent."""
        loop = asyncio.get_running_loop()
        readable = loop.create_future()
        loop.add_reader(self.socket, _done, readable)
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await readable
        finally:
            loop.remove_reader(self.socket)
        return self.socket.recv(1, socket.MSG_PEEK)

    def refuse(self, why: str) -> None:
        self.owner.warn(f"closed the connection to a stranger: {why}")
        self.hang_up()

    def hang_up(self) -> None:
        self.owner.strangers.pop(self, None)
        self.entering.cancel()

    def fileno(self) -> int:
        return self.socket.fileno()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Porch:
    """Listens, as an `asyncio.Server` does, and tells of each stranger, from the very moment: `came` is given the socket."""

    def __init__(
        self,
        where: Address,
        came: Callable[[socket.socket], object],
        warn: Callable[[str], object],
        backlog: int = BACKLOG,
    ) -> None:
        self.where, self.came, self.warn, self.backlog = where, came, warn, backlog
        self.sockets: list[socket.socket] = []

    async def bind(self) -> None:
        """Take the address; nobody is heard before `listen`."""
        where = self.where
        try:  # a number needs no thread that asks for it
            found = socket.getaddrinfo(
                where.host,
                where.port,
                type=socket.SOCK_STREAM,
                flags=socket.AI_PASSIVE | socket.AI_NUMERICHOST,
            )
        except socket.gaierror:
            found = await asyncio.get_running_loop().getaddrinfo(
                where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        for family, address in sorted({(family, address) for family, *_, address in found}):
            self._bind(family, address)

    def bind_unix(self, path: str) -> None:
        self._bind(socket.AF_UNIX, path)

    def _bind(self, family: int, address: Any) -> None:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            if family != socket.AF_UNIX:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
        sock.setblocking(False)
        self.sockets.append(sock)

    def listen(self) -> None:
        for sock in reversed(self.sockets):  # the first last: a dialler that finds it finds the others, too
            sock.listen(self.backlog)
            self._look_at(sock)

    def _look_at(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Without a task: one that is cancelled just after it has accepted somebody would forget the socket."""
        try:
            sock, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            self.warn(f"no connection can be accepted: {error.strerror}")
            loop = asyncio.get_running_loop()
            loop.remove_reader(listening)
            loop.call_later(OUT_OF_FILES_SECONDS, self._look_at, listening)
            return
        sock.setblocking(False)
        self.came(sock)

    def close(self) -> None:
        """Again, it does nothing."""
        loop = asyncio.get_running_loop()
        while self.sockets:
            sock = self.sockets.pop()
            loop.remove_reader(sock)
            sock.close()


__all__ = ["Porch", "Visitor"]
