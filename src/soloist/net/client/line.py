"""One connection of a client to its node, in the loop."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from soloist.core import ProtocolError
from soloist.net.client.greeting import Greeting
from soloist.net.errors import NodeClosed
from soloist.net.link.security import Address
from soloist.net.link.wire import Frames, length_of
from soloist.net.service.dialogue import Welcome, decode_reply

if TYPE_CHECKING:
    from soloist.net.client.client import Client

ANSWER_FRAME = 64 * 1024 * 1024
"""Bytes. A node is trusted; a list of all holders may be long."""
SPACE = 64 * 1024
"""Bytes that are read at once, into a place of our own: asyncio's takes longer to get than a word to read."""
LEAST_FRAME = 5
"""Bytes."""
GREETING_SECONDS = 5.0
CLOSE_SECONDS = 1.0
WRONG = (ProtocolError, msgspec.MsgspecError, NodeClosed)
"""What cannot be gone on from."""


class Line(asyncio.BufferedProtocol):
    """Made by `dial`. Once it `begins`, the client hears what the node says, and of the end."""

    transport: asyncio.Transport
    open = False

    def __init__(self, client: Client, greeting: Greeting) -> None:
        self.client, self.greeting = client, greeting
        self.frames = Frames(ANSWER_FRAME)
        self.space = memoryview(bytearray(SPACE))
        self.get_buffer = partial({0: self.space}.get, 0)  # type: ignore[method-assign, assignment]
        """Whatever the size: a call less for each answer than a method."""
        self.welcomed: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()
        self.early: list[bytes] = []
        """What came behind the welcome before the client was in the session that it is about."""
        self.why = ""
        """It ended for a reason that is worth telling."""
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.transport.write(self.greeting.hello())

    def buffer_updated(self, size: int) -> None:
        """The rule is one whole frame."""
        frames, data = self.frames, self.space[:size]
        whole = size >= LEAST_FRAME and not frames.buffer and length_of(data)[0] == size - 4
        try:
            for body in (data[4:],) if whole else frames.feed(data):
                if self.open:
                    self.client.heard(decode_reply(body))
                else:
                    self._greeted(body)
        except WRONG as error:
            self._fail(error)

    def _greeted(self, body: memoryview) -> None:
        if self.greeting.welcome:
            self.early.append(bytes(body))
        elif answer := self.greeting.heard(body):
            self.transport.write(answer)
        elif self.greeting.welcome and not self.welcomed.done():
            self.welcomed.set_result(self.greeting.welcome)

    def begins(self) -> None:
        """The client is in the session of this line. Called by the loop, for a caller that is let in goes on at once."""
        if self.client.contact.line is not self:
            return
        self.open = True
        try:
            for body in self.early:
                self.client.heard(decode_reply(body))
        except WRONG as error:
            self._fail(error)
        self.early.clear()
        if self.gone.is_set():
            self._lost()

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, NodeClosed):
            what = (
                f"is no node of ours: {error}" if self.open else "does not speak as a port for clients does"
            )
            error = NodeClosed(f"{self.greeting.where} {what}")
        self.why = str(error)
        if not self.welcomed.done():
            self.welcomed.set_exception(error)
        self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.gone.set()
        if not self.welcomed.done():
            self.welcomed.set_exception(NodeClosed(f"{self.greeting.where} hung up"))
        elif self.open:
            self._lost()

    def _lost(self) -> None:
        self.client.contact.line_lost(self, self.why or f"{self.greeting.where} is gone")

    async def end(self) -> None:
        """Close it, and wait for that: TLS says goodbye, and a loop that is closed meanwhile leaves the socket behind."""
        self.transport.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.gone.wait()
        except TimeoutError:
            self.transport.abort()
            await self.gone.wait()

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def fileno(self) -> int:
        sock = self.transport.get_extra_info("socket")
        return int(sock.fileno()) if sock else -1


async def dial(
    client: Client, place: Address, greeting: Greeting, tls: ssl.SSLContext | None
) -> tuple[Line, Welcome]:
    """Connect, and be welcome."""
    loop, where = asyncio.get_running_loop(), greeting.where
    line, kept = Line(client, greeting), False
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            if place.unix:
                await loop.create_unix_connection(lambda: line, place.host)
            else:
                name = place.host if tls else None
                await loop.create_connection(
                    lambda: line, place.host, place.port, ssl=tls, server_hostname=name
                )
            welcome = await line.welcomed
            kept = True
            return line, welcome
    except TimeoutError:
        raise NodeClosed(f"{where} does not answer") from None
    except ssl.SSLError as error:
        raise NodeClosed(f"{where}: no TLS with it: {error.reason or error}") from None
    except OSError as error:
        reason = error.strerror or error
        if place.unix:
            raise NodeClosed(
                f"no daemon answers at {place.host} ({reason}); start it with `soloist node`"
            ) from None
        raise NodeClosed(f"no node answers at {place} ({reason})") from None
    finally:
        if not kept and hasattr(
            line, "transport"
        ):  # refused; or the caller that wanted it is gone, welcome or not
            line.transport.abort()
        if line.welcomed.done() and not line.welcomed.cancelled():
            line.welcomed.exception()  # somebody may not have waited for it
