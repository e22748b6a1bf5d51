"""One connection of one client: who is it, what does it say, and does it read what it is told?"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.core import ProtocolError, UsageError
from soloist.net.link.connection import printable
from soloist.net.link.wire import Frames, encode, frame
from soloist.net.service.dialogue import (
    MOST_LIVE,
    VERSION,
    Bye,
    Challenge,
    Greeting,
    Hello,
    Proof,
    Renew,
    Reply,
    Request,
    Sorry,
    Welcome,
    decode_greeting,
    decode_request,
)
from soloist.net.service.rights import LOCAL, Rights, code
from soloist.net.service.session import Session

if TYPE_CHECKING:
    from soloist.net.service.door import Door

log = logging.getLogger("soloist.net")

MALFORMED = (ProtocolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
GREETING_SECONDS = 10.0
SESSION_BYTES = 16


class Visit(asyncio.Protocol):
    """Served by a door: what comes in there, and what goes out."""

    transport: asyncio.Transport

    def __init__(self, door: Door) -> None:
        self.door, self.server = door, door.server
        self.frames = Frames(door.limits.frame)
        self.program = "a client"
        self.session: Session | None = None
        self.pulse = False
        """Whether it is for renewals alone."""
        self._hello: Hello | None = None
        self._said = b""
        self._nonce = os.urandom(SESSION_BYTES)
        self._patience: asyncio.TimerHandle | None = None
        self._next: Callable[[Any], None] = self._greeted

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._patience = asyncio.get_running_loop().call_later(GREETING_SECONDS, self._too_long)
        self.door.came(self)

    def data_received(self, data: bytes) -> None:
        try:
            for body in self.frames.feed(data):
                self._next(body)
                if self.transport.is_closing():
                    return
        except MALFORMED as error:
            self._drop(printable(str(error)))

    def connection_lost(self, error: Exception | None) -> None:
        if self._patience:
            self._patience.cancel()
        self.door.went(self)

    # Who it is.

    def _greeted(self, body: memoryview) -> None:
        try:
            hello = decode_greeting(body)
        except MALFORMED:
            raise ProtocolError("it did not say hello") from None
        if not isinstance(hello, Hello) or len(hello.live) > MOST_LIVE:
            raise ProtocolError("it did not say hello")
        self.program = printable(hello.program[:200]) or self.program
        if hello.version != VERSION:
            self._put(Welcome(VERSION, self.server.cluster, self.server.node.name, os.getpid()))
            raise ProtocolError(f"it speaks version {hello.version}, we speak {VERSION}")
        self._hello, self._said = hello, bytes(body)
        if self.door.book is None:
            self._admit(LOCAL, b"")
            return
        book, name = self.door.book, hello.client
        if self.door.tls:
            name = self.door.certified(self.transport)
            if not name:
                self._refuse(
                    "its certificate names no client; `soloist keys DIR --client NAME` makes one that does"
                )
                return
        if self.door.tls or self.door.open:
            self._admit(book.rights(name), b"")
            return
        if not book.secret_of(name):
            who = (
                f"no client is called {name!r} here"
                if name
                else "a client needs a name here: soloist://NAME@HOST:PORT"
            )
            self._refuse(who)
            return
        self._next = self._proven
        self._put(Challenge(self._nonce))

    def _proven(self, body: memoryview) -> None:
        proof, hello, book = decode_greeting(body), self._hello, self.door.book
        assert hello
        assert book
        secret = book.secret_of(hello.client)
        theirs = code(secret, "client", self._said, self._nonce)
        if not isinstance(proof, Proof) or not hmac.compare_digest(theirs, proof.code):
            self._refuse("the client's secret is not the one of this node")
            return
        self._admit(book.rights(hello.client), code(secret, "node", self._said, self._nonce))

    def _admit(self, rights: Rights, proof: bytes) -> None:
        hello = self._hello
        assert hello
        if self._patience:
            self._patience.cancel()
        self.door.known(self)
        if hello.pulse:
            self._begin_pulse(hello, rights, proof)
            return
        try:
            session, resumed = self.server.session(self, hello, rights)
        except UsageError as error:  # it wants a lease that nobody can give it
            self._refuse(str(error))
            return
        if session is None:
            self._refuse("that session belongs to another client, or goes on over a later connection")
            return
        self.session, self._next = session, self._asked
        lease = session.rights.session
        self._put(
            Welcome(
                VERSION,
                self.server.cluster,
                self.server.node.name,
                os.getpid(),
                lease=lease.length if lease else 0.0,
                renewed=bool(lease) or self.server.bounded(),
                resumed=resumed,
                live=session.resume(hello.live) if resumed else (),
                code=proof,
                instance=session.instance,
            )
        )
        session.remind()

    def _begin_pulse(self, hello: Hello, rights: Rights, proof: bytes) -> None:
        session = self.server.sessions.get(hello.session)
        if session is None or session.rights.name != rights.name:
            self._refuse("there is no such session")
            return
        self.session, self.pulse, self._next = session, True, self._renewed
        self._put(
            Welcome(
                VERSION,
                self.server.cluster,
                self.server.node.name,
                os.getpid(),
                code=proof,
                instance=session.instance,
            )
        )

    # What it says.

    def _renewed(self, body: memoryview) -> None:
        request: Request = decode_request(body)
        if not isinstance(request, Renew):
            raise ProtocolError(f"{type(request).__name__} on a connection for renewals")
        assert self.session
        self.say(self.session.renew(request.number))

    def _asked(self, body: memoryview) -> None:
        request, session = decode_request(body), self.session
        assert session
        if session.visit is not self:
            self.hang_up()  # the client has come back on another connection
        elif isinstance(request, Bye):
            session.end()
        else:
            session.handle(request)

    # What it is told.

    def say(self, reply: Reply) -> None:
        transport = self.transport
        if transport.is_closing():
            return
        transport.write(frame(encode(reply)))
        if transport.get_write_buffer_size() > self.door.limits.unread:
            self._drop("it does not read")
            transport.abort()

    def _put(self, greeting: Greeting) -> None:
        if not self.transport.is_closing():
            self.transport.write(frame(encode(greeting)))

    def _refuse(self, why: str) -> None:
        self._put(Sorry(why))
        self._drop(why)

    def turn_away(self, why: str) -> None:
        self._put(Sorry(why))
        self.hang_up()

    def _too_long(self) -> None:
        self._drop("it did not show in time who it is")

    def _drop(self, why: str) -> None:
        self.door.warn(self.program, why)
        self.hang_up()

    def cut(self) -> None:
        """Now, and not once all is written: whoever asks at the other end is told so by the kernel."""
        sock = self.transport.get_extra_info("socket")
        with (
            contextlib.suppress(OSError, AttributeError),
            socket.socket(fileno=os.dup(sock.fileno())) as same,
        ):
            same.shutdown(socket.SHUT_RDWR)
        self.hang_up()

    def hang_up(self) -> None:
        self.transport.close()
