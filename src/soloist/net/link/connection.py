"""One connection to a peer: a handshake, then batches."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from soloist.core import ProtocolError
from soloist.net.link import handshake
from soloist.net.link.handshake import Hello, Mismatch, Proof, Sorry, Welcome
from soloist.net.link.security import check_certificate
from soloist.net.link.shortcut import same_user
from soloist.net.link.will import LONGEST, Will, read_will
from soloist.net.link.wire import Batch, Frames, Garbled, decode_batch, encode, frame, length_of, salvage

if TYPE_CHECKING:
    from soloist.net.link.peer import Peer
    from soloist.net.link.porch import Visitor
    from soloist.net.link.tcp import TcpTransport

HANDSHAKE_SECONDS = 5.0
HANDSHAKE_FRAME = 64 * 1024
"""Bytes: a hello names all members."""
ACKNOWLEDGE_BATCHES = 32
SILENCE_SECONDS = 10.0
"""Seconds that a host may leave bytes unanswered before the connection is made anew: by default a quarter of an hour."""
IDLE_SECONDS, PROBE_SECONDS, PROBES = 3, 2, 3
"""Seconds until an idle peer is asked whether it lives, seconds between two such questions, and how many are asked: by
default after two hours."""
MOST_WORDS = 500
"""Characters that a peer may use to say why it refuses us."""
HUNG_UP = "it hung up without a word, and its log says why"
READ_AT_ONCE = True
"""Whether what arrives as one whole frame is read here, as `Frames.feed` and `Session.accept` would read it."""
MALFORMED = (ProtocolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Connection(asyncio.BufferedProtocol):
    """A connection that we made (`dialled`), or that somebody made to us."""

    ciphered = False
    """Whether TLS, if there is any, is done by us and not by the loop."""

    def __init__(
        self,
        transport: TcpTransport,
        dialled: Peer | None,
        pulse: bool = False,
        visitor: Visitor | None = None,
        only_will: bool = False,
    ) -> None:
        """It takes the place of the visitor, if there is one, among the strangers.

        With `only_will` it is in the clear where TLS should be: a will may be said there, and nothing else.
        """
        self.owner, self.visitor = transport, visitor
        self.pulse = pulse
        """Whether it is for renewals: then it is not ours once it is open."""
        self.rest: list[bytes] | None = None
        """Frames of such a connection that came with the last word of the handshake."""
        self.peer: Peer | None = None
        """Once the connection is open."""
        self.dialled = dialled
        self.space = transport.space
        self.get_buffer = partial({0: self.space}.get, 0)  # type: ignore[method-assign, assignment]
        """Always our space, whatever the size: a call less for each message than a method."""
        self.only_will = only_will
        self.frames = Frames(LONGEST if only_will else HANDSHAKE_FRAME)
        self.ours: Hello | None = None
        self.sent = self.heard = b""
        """Both hellos, as they went over the wire."""
        self.theirs: Hello | None = None
        self.proven = False
        """Whether the other has shown that it is who it says."""
        self.open = False
        self.decided = asyncio.Event()
        """Once it is open, or never will be."""
        self.wire: asyncio.Transport | None = None
        self.socket: Any = None
        self.timeout: asyncio.TimerHandle | None = None
        self.told = 0
        """The last batch of which the peer knew that we have it, when we last looked."""

    # What asyncio reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.wire = cast(asyncio.Transport, transport)  # uvloop's are not of this class, but do the same
        sock = self.socket = transport.get_extra_info("socket")
        if self.owner.over:
            self.wire.abort()
            return
        if sock and sock.family != socket.AF_UNIX:
            _tune(sock)
        if self.visitor:
            self.owner.strangers.pop(self.visitor, None)
        self.owner.made(self)
        by_shortcut = sock and sock.family == socket.AF_UNIX and not (self.dialled or self.owner.listen.unix)
        if by_shortcut and not same_user(sock):
            self.refuse("it belongs to another user")
            return
        loop = asyncio.get_running_loop()
        self.timeout = loop.call_later(HANDSHAKE_SECONDS, self.refuse, "it did not show who it is in time")
        if self.dialled:
            self._say_hello(self.dialled.name, self.dialled)

    def buffer_updated(self, nbytes: int) -> None:
        space, frames = self.space, self.frames
        # The rule is one whole frame. All that a message needs is in this one function, and so on its way down:
        # a process that wakes for a message has nothing of ours in its caches, and each call costs microseconds.
        whole = READ_AT_ONCE and nbytes >= 4 and not frames.buffer and length_of(space)[0] == nbytes - 4
        batches = []
        peer = None
        try:
            for body in (space[4:nbytes],) if whole and self.open else frames.feed(space[:nbytes]):
                peer = self.peer
                if self.rest is not None:
                    self.rest.append(frame(bytes(body)))
                    continue
                if not self.open or peer is None:
                    self._greet(body)
                    continue
                try:
                    batch = decode_batch(body)
                except msgspec.MsgspecError:
                    batch = self._salvage(body)
                there = batch.acknowledged
                if whole and batch.number == peer.received + 1 and peer.confirmed <= there <= peer.sent:
                    peer.received += 1  # as `accept` does, but for a call
                    peer.confirmed = there
                    batches.append(batch)
                elif peer.accept(batch):
                    batches.append(batch)
        except MALFORMED as error:
            self.refuse(str(error), isinstance(error, Mismatch))
        if self.rest is not None and self.theirs:
            self.owner.pulses.taken(self, self.theirs, b"".join((*self.rest, frames.buffer)))
            return
        if batches and peer:
            self.owner.receive(peer.name, batches)
        if (peer := self.peer) and self.open:
            behind = peer.received - peer.acknowledged
            if behind >= ACKNOWLEDGE_BATCHES:
                self._acknowledge()
            elif behind and self.owner.receipts.timer is None:
                self.told = peer.acknowledged
                self.owner.receipts.look_later()

    def connection_lost(self, error: Exception | None) -> None:
        if self.frames.buffer:
            self.owner.warn(f"{self._who()} broke off in the middle of a frame")
        if self.timeout:
            self.timeout.cancel()
        if (
            self.dialled and not self.theirs
        ):  # as who does not believe our certificate, which it sees when TLS is up for us
            self.dialled.failure = HUNG_UP
        self.open = False
        self.decided.set()
        self.owner.closed(self)

    def eof_received(self) -> None:
        self.pause_writing()

    def pause_writing(self) -> None:
        if self.peer and self.peer.connection is self:
            self.peer.write = None

    def resume_writing(self) -> None:
        if self.peer and self.peer.connection is self and self.wire and not self.wire.is_closing():
            self.peer.go_on(self.wire.write)

    # The handshake.

    def _say_hello(self, to: str, peer: Peer | None) -> None:
        met, received = (peer.incarnation or "", peer.received) if peer else ("", 0)
        self.ours = handshake.hello(self.owner.identity, to, met, received, self.pulse)
        self.sent = encode(self.ours)
        self._put(frame(self.sent))

    def _greet(self, body: memoryview) -> None:
        if self.wire and self.wire.is_closing():
            return  # all has been said
        said = handshake.decode_greeting(body)
        if isinstance(said, Will) and not (self.dialled or self.theirs):
            self._hear_will(said)
        elif self.only_will:
            raise ProtocolError("it does not speak TLS")
        elif isinstance(said, Sorry):
            self._refused(said)
        elif self.theirs is None and isinstance(said, Hello):
            self.heard = bytes(body)
            self._meet(said)
        elif self.theirs and self.ours and isinstance(said, Proof) and not self.proven:
            name = self.theirs.who.node
            handshake.check_proof(self.owner.identity, self.sent, self.heard, said, name)
            self.proven = True
            self._admit(self.ours, self.theirs)
        elif self.proven and self.dialled and isinstance(said, Welcome):
            self._opened()
        else:
            raise ProtocolError(f"it says {type(said).__name__.lower()} out of turn")

    def _hear_will(self, will: Will) -> None:
        """Somebody has died. Its bearer is told that it was heard, and nothing else: not even whether we knew it."""
        self.owner.on_will(read_will(will))
        self._put(frame(encode(Welcome())))
        self.hang_up(gently=True)

    def _meet(self, theirs: Hello) -> None:
        self.theirs = theirs
        handshake.check_hello(self.owner.identity.who, theirs, self.dialled.name if self.dialled else None)
        certificate = self._certificate()
        check_certificate(certificate, theirs.who.node)
        if certificate and theirs.pulse != self.ciphered:
            raise ProtocolError("what is for renewals begins TLS otherwise")
        if self.dialled is None:
            self.pulse = theirs.pulse
            self._say_hello(theirs.who.node, self.owner.peers.get(theirs.who.node))
            self._prove()

    def _certificate(self) -> ssl.SSLObject | None:
        assert self.wire
        tls: ssl.SSLObject | None = self.wire.get_extra_info("ssl_object")
        return tls

    def _admit(self, ours: Hello, theirs: Hello) -> None:
        """It is who it says. The dialler is told what the other thinks of it; a difference both find by themselves."""
        who, meeting = theirs.who, self.owner.meeting
        known = who.node in self.owner.peers
        refusal = meeting.refusal(who) if known or who.joins else None
        if self.dialled and not refusal:
            self._prove()
        if not refusal:
            handshake.check_config(ours.who, who)
        if refusal := refusal or meeting.refusal(who):
            raise ProtocolError(refusal)
        if not known:
            self.owner.admit(who)
        if self.pulse and not self.owner.meeting.renews:
            raise ProtocolError(f"{ours.who.node!r} has no leases to renew")
        if not self.dialled:
            if not self.pulse:  # the thread that takes it says so
                self._put(frame(encode(Welcome())))
            self._opened()

    def _prove(self) -> None:
        self._put(frame(encode(handshake.proof(self.owner.identity, self.sent, self.heard))))

    def _opened(self) -> None:
        assert self.theirs
        if self.timeout:
            self.timeout.cancel()
        self.frames.limit = Frames().limit
        self.owner.strangers.pop(self, None)
        if self.pulse:
            self.rest = []
        else:
            self.owner.opened(self, self.theirs)
        self.decided.set()

    def _refused(self, sorry: Sorry) -> None:
        """Words, for our users: what follows from them is decided by what we found out ourselves."""
        name = self.dialled.name if self.dialled else self.theirs.who.node if self.theirs else ""
        if name in self.owner.peers:
            self.owner.trouble(name, sorry.why[:MOST_WORDS], sorry.mismatch and self.proven)
        self.hang_up()

    # Batches.

    def _salvage(self, body: memoryview) -> Batch:
        """The peer has said something that cannot be read. That harms the locks it was about, and nothing else."""
        assert self.peer
        batch, garbled = salvage(body)
        self.owner.warn(f"{self.peer.name} said what cannot be read, about {garbled or 'nothing we know'}")
        if batch.number == self.peer.received + 1 and garbled:
            self.peer.send([], [Garbled(lock) for lock in garbled])
            batch = msgspec.structs.replace(batch, notices=[*batch.notices, *map(Garbled, garbled)])
        return batch

    def acknowledge_unless_told(self) -> bool:
        """While batches go back, they tell the peer what we have, and nothing else need do so."""
        assert self.peer
        before, self.told = self.told, self.peer.acknowledged
        if self.told != before:
            return False
        self._acknowledge()
        return True

    def _acknowledge(self) -> None:
        if self.peer and self.open and (said := self.peer.acknowledgement()):
            self._put(said)

    # The end.

    def refuse(self, why: str, mismatch: bool = False) -> None:
        """Close this connection, say why in one line, here and there, and harm nothing else."""
        name = self.theirs.who.node if self.theirs else ""
        if self.open:
            self.owner.warn(f"closed the connection to {self._who()}: {why}")
            self.hang_up()
            return
        self.owner.refused += bool(name)
        if self.proven and name in self.owner.peers:
            self.owner.trouble(name, why, mismatch)
        else:
            self.owner.warn(f"closed the connection to {self._who()}: {why}", self._where())
        self._put(frame(encode(Sorry(why, mismatch))))
        self.hang_up(gently=True)

    def hang_up(self, gently: bool = False) -> None:
        """At once, or once what was said last has left."""
        self.frames.buffer.clear()
        self.pause_writing()
        if self.timeout:
            self.timeout.cancel()
        if self.wire and gently:
            self.wire.close()
            asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self.wire.abort)
        elif self.wire:
            self.wire.abort()

    def fileno(self) -> int:
        return self.socket.fileno() if self.socket else -1

    def _put(self, framed: bytes) -> None:
        if self.wire and not self.wire.is_closing():
            try:  # noqa: SIM105 (`contextlib.suppress` takes longer than all else here)
                self.wire.write(framed)
            except RuntimeError:  # uvloop: it has been closed, and nobody has been told
                pass

    def _who(self) -> str:
        if self.peer:
            return self.peer.name
        return repr(self.theirs.who.node) if self.theirs else "a stranger"

    def _where(self) -> str:
        return str(self.wire.get_extra_info("peername") or "a socket") if self.wire else ""


def detach(transport: Any) -> socket.socket:
    """The socket of an asyncio or uvloop transport without TLS, which gives it up: neither end notices."""
    if transport.get_extra_info("ssl_object") is not None:
        raise ProtocolError("TLS cannot be taken from the loop that began it")
    transport.pause_reading()
    sock = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
    transport.abort()
    return sock


def _tune(sock: Any) -> None:
    """Small messages leave at once, and a link that is dead is known to be within seconds."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wanted = {
        "TCP_KEEPIDLE": IDLE_SECONDS,
        "TCP_KEEPALIVE": IDLE_SECONDS,  # what macOS calls it
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": int(SILENCE_SECONDS * 1000),  # Linux
    }
    for option, value in wanted.items():
        if number := getattr(socket, option, None):
            sock.setsockopt(socket.IPPROTO_TCP, number, value)
