"""One connection of one client: who is it, what does it say, and does it read what it is told?"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.core import ProtocolError, UsageError
from soloist.core.errors import printable
from soloist.net.link.wire import Frames, encode, frame, length_of
from soloist.net.service.dialogue import (
    MOST_LIVE,
    VERSION,
    Acquire,
    Bye,
    Challenge,
    Greeting,
    Hello,
    Proof,
    Release,
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
    from soloist.net.service.account import Account
    from soloist.net.service.arrival import Arrival
    from soloist.net.service.door import Door

log = logging.getLogger("soloist.net")

MALFORMED = (ProtocolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
GREETING_SECONDS = 10.0
SESSION_BYTES = 16
LEAST_FRAME = 5
"""Bytes."""
FRAMES_A_TURN = 64
"""Who sends more than that at once is heard again when others have had their turn."""


class Visit(asyncio.BufferedProtocol):
    """Served by a door: what comes in there, and what goes out."""

    transport: asyncio.Transport
    account: Account | None = None
    """The account of the client, once it is known."""
    peername: Any = None

    def __init__(self, door: Door, arrival: Arrival | None = None) -> None:
        self.door, self.server, self.arrival = door, door.server, arrival
        self.frames = Frames(door.limits.frame)
        self.space = door.space
        self.get_buffer = partial({0: door.space}.get, 0)  # type: ignore[method-assign, assignment]
        """Whatever the size: a call less for each request than a method."""
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
        self.peername = transport.get_extra_info("peername")
        self._patience = asyncio.get_running_loop().call_later(
            GREETING_SECONDS, self._drop, "it did not show in time who it is"
        )
        self.door.came(self)

    def buffer_updated(self, size: int) -> None:
        """The rule is one whole frame. What is more than can be heard in one turn is kept, for others read into the same place."""
        frames, data = self.frames, self.space[:size]
        if LEAST_FRAME <= size <= frames.limit and not frames.buffer and length_of(data)[0] == size - 4:
            self._hear(iter((data[4:],)))
            return
        much = size > FRAMES_A_TURN * LEAST_FRAME
        self._hear(frames.feed(bytes(data) if much else data), FRAMES_A_TURN if much else size)

    def _hear(self, bodies: Iterator[memoryview], turn: int = FRAMES_A_TURN) -> None:
        turns = self.server.node.turns
        turns.heeded = True
        try:
            for body in bodies:
                self._next(body)
                if turns.roused:
                    turns.rouse_now()
                if self.transport.is_closing():
                    return
                turn -= 1
                if not turn:
                    self.transport.pause_reading()
                    asyncio.get_running_loop().call_soon(self._go_on, bodies)
                    return
        except MALFORMED as error:
            self._drop(printable(str(error)))
        finally:
            turns.heeded = False
            if turns.roused:
                turns.rouse_soon()

    def _go_on(self, bodies: Iterator[memoryview]) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()
            self._hear(bodies)

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
            self._refuse(_unknown(name, name in book.known))
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
            self.account = self.door.account(self, rights.name, back=hello.session in self.server.sessions)
            session, resumed = self.server.session(self, hello, rights)
        except UsageError as error:
            self._refuse(str(error))
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
                live=session.resume(accumulate(hello.live)) if resumed else (),
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
        if session.pulse:
            session.pulse.hang_up()  # it has another one now
        session.pulse = self
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
        elif isinstance(request, Release):
            session.requests.release(request.number)
        elif isinstance(request, Acquire):
            session.requests.acquire(request)
        elif isinstance(request, Bye):
            session.end()
        else:
            session.asked(request)

    # What it is told.

    def say(self, reply: Reply) -> None:
        transport = self.transport
        if transport.is_closing():
            return
        transport.write(frame(encode(reply)))
        if transport.get_write_buffer_size() > self.door.limits.unread:
            self._drop("it does not read")
            self.abort()

    def _put(self, greeting: Greeting) -> None:
        if not self.transport.is_closing():
            self.transport.write(frame(encode(greeting)))

    def _refuse(self, why: str) -> None:
        self._put(Sorry(why))
        self._drop(why)

    def turn_away(self, why: str) -> None:
        self._put(Sorry(why))
        self.hang_up()

    def _drop(self, why: str) -> None:
        self.door.warn(self.program, why)
        self.hang_up()

    def hang_up(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()


def _unknown(name: str, known: bool) -> str:
    if known:
        return f"client {name!r} has no secret here: give it a secret_file in [client.{name}]"
    return (
        f"no client is called {name!r} here"
        if name
        else "a client needs a name here: soloist://NAME@HOST:PORT"
    )
