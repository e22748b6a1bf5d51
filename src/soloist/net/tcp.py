"""Sockets: one connection a pair of nodes, made again when it breaks, with nothing lost in between.

Of two nodes the one whose name comes first dials. A connection counts once both sides have shown who they are;
until then a stranger can do no more than occupy one of a few places for a few seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import socket
import ssl
import stat
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import msgspec

from soloist.core import ProtocolError, UsageError
from soloist.net import handshake
from soloist.net import shortcut as shortcuts
from soloist.net.handshake import Hello, Identity
from soloist.net.security import TLS, Address, check_certificate
from soloist.net.session import Session
from soloist.net.shortcut import same_user
from soloist.net.transport import Link, Receive
from soloist.net.wire import Frames, decode_batch, encode, frame, length_of

log = logging.getLogger("soloist.net")

HANDSHAKE_SECONDS = 5.0
HANDSHAKE_FRAME = 4096
STRANGERS = 64
"""Connections that may be unproven at one time."""
ACKNOWLEDGE_SECONDS = 0.05
GOODBYE_SECONDS = 1.0
SILENCE_SECONDS = 10.0
"""How long a host may leave bytes unanswered before the connection is made anew: by default a quarter of an hour."""
ACKNOWLEDGE_BATCHES = 32
FIRST_RETRY, LAST_RETRY = 0.02, 1.0


class Peer(Session):
    """What we keep of a peer, whether it is connected or not."""

    def __init__(self, name: str, address: Address) -> None:
        super().__init__()
        self.name, self.address = name, address
        self.connection: Connection | None = None
        self.incarnation: str | None = None
        self.lost = asyncio.Event()
        self.connections = 0


class TcpTransport:
    """The transport over TCP and Unix sockets."""

    def __init__(
        self,
        identity: Identity,
        addresses: Mapping[str, Address],
        tls: TLS | None = None,
        insecure: bool = False,
        shortcut: bool = True,
    ) -> None:
        self.identity = identity
        self.listen = addresses[identity.node]
        self.peers = {name: Peer(name, where) for name, where in addresses.items() if name != identity.node}
        self.tls = tls
        self.shortcut = shortcut and not tls  # certificates belong to TCP
        if not (tls or identity.secret or insecure or all(a.local for a in addresses.values())):
            far = next(str(a) for a in addresses.values() if not a.local)
            raise UsageError(
                f"{far} is not on this host: give tls= or secret=, or insecure=True if everybody there is trusted"
            )
        self.receive: Receive = lambda peer, batch: None
        self.servers: list[asyncio.Server] = []
        self.dialling: list[asyncio.Task[None]] = []
        self.strangers: dict[Connection, None] = {}
        """Connections that are not proven yet, oldest first."""
        self.space = memoryview(bytearray(64 * 1024))
        """Where all connections read into: what has arrived is dealt with before anything else is read."""
        self.acknowledging: asyncio.TimerHandle | None = None
        """One for all connections: each wakes the process, and there may be many connections."""
        self.readable: Any = None
        """The sockets of our peers, to see without a turn of the loop whether one has something for us."""

    async def start(self, receive: Receive) -> None:
        self.receive = receive
        self.readable = select.epoll() if hasattr(select, "epoll") else select.poll()
        loop = asyncio.get_running_loop()
        context = self.tls.server() if self.tls else None
        accept = lambda: Connection(self, None)  # noqa: E731
        try:
            if self.listen.unix:
                _make_room_for_socket(self.listen.host)
                self.servers.append(await loop.create_unix_server(accept, self.listen.host))
            else:
                server = await loop.create_server(
                    accept,
                    self.listen.host,
                    self.listen.port,
                    ssl=context,
                    ssl_handshake_timeout=HANDSHAKE_SECONDS if context else None,
                    start_serving=False,
                )
                self.servers.append(server)
                if self.shortcut and (name := shortcuts.name_of(self.listen)):
                    with contextlib.suppress(OSError):  # somebody has taken the name: there is TCP
                        self.servers.append(await loop.create_unix_server(accept, name))
                await server.start_serving()  # last: whoever finds us finds the shortcut, too
        except OSError as error:
            self._drop_all()
            raise UsageError(f"cannot listen at {self.listen}: {os.strerror(error.errno or 0)}") from None
        for peer in self.peers.values():
            if self.identity.node < peer.name:
                self.dialling.append(asyncio.create_task(self._dial(peer), name=f"dial {peer.name}"))

    async def _dial(self, peer: Peer) -> None:
        loop = asyncio.get_running_loop()
        context = self.tls.client() if self.tls else None
        retry = FIRST_RETRY
        in_vain = False
        """Whether the shortcut was there the last time, and led to nothing."""
        while True:
            peer.lost.clear()
            before = peer.connections
            sock = shortcuts.connect(peer.address) if self.shortcut and not in_vain else None
            try:
                make = lambda: Connection(self, peer)  # noqa: E731
                async with asyncio.timeout(HANDSHAKE_SECONDS):
                    if sock:
                        await loop.create_unix_connection(make, sock=sock)
                    elif peer.address.unix:
                        await loop.create_unix_connection(make, peer.address.host)
                    else:
                        name = peer.name if context else None
                        await loop.create_connection(
                            make, peer.address.host, peer.address.port, ssl=context, server_hostname=name
                        )
                await peer.lost.wait()
            except (OSError, ValueError) as error:  # ValueError: a name that cannot be in a certificate
                refused = isinstance(error, ValueError | ssl.SSLError)
                level = logging.WARNING if refused else logging.DEBUG
                log.log(level, "%s: cannot connect to %s: %s", self.identity.node, peer.name, error)
            connected = peer.connections > before
            in_vain = sock is not None and not connected
            retry = FIRST_RETRY if connected else min(2 * retry, LAST_RETRY)
            await asyncio.sleep(retry)

    def link(self, peer: str) -> Link:
        return self.peers[peer].send

    def unread(self) -> bool:
        return bool(self.readable and self.readable.poll(0))

    def backlog(self, peer: str) -> int:
        return self.peers[peer].backlog

    def connected(self) -> set[str]:
        return {name for name, peer in self.peers.items() if peer.connection}

    @property
    def reconnects(self) -> int:
        return sum(max(0, peer.connections - 1) for peer in self.peers.values())

    async def close(self) -> None:
        try:
            await self._say_goodbye()
        finally:
            self._hang_up()
        await asyncio.gather(*self.dialling, return_exceptions=True)

    async def _say_goodbye(self) -> None:
        """What was said last, a token perhaps, shall arrive; but nobody is waited for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                while any(peer.connection and peer.backlog for peer in self.peers.values()):
                    await asyncio.sleep(ACKNOWLEDGE_SECONDS / 10)

    def _hang_up(self) -> None:
        for task in self.dialling:
            task.cancel()
        if self.acknowledging:
            self.acknowledging.cancel()
        self._drop_all()
        if self.listen.unix:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.listen.host)

    def _drop_all(self) -> None:
        while self.servers:
            self.servers.pop().close()
        if hasattr(self.readable, "close"):
            self.readable.close()
        self.readable = None
        for connection in [*self.strangers, *(p.connection for p in self.peers.values() if p.connection)]:
            connection.hang_up()

    def acknowledge_later(self) -> None:
        loop = asyncio.get_running_loop()
        self.acknowledging = loop.call_later(ACKNOWLEDGE_SECONDS, self._acknowledge)

    def _acknowledge(self) -> None:
        """Tell those peers what we have that no batch of ours has told since we last looked."""
        self.acknowledging = None
        behind = False
        for peer in self.peers.values():
            if peer.connection and peer.received > peer.acknowledged:
                behind |= not peer.connection.acknowledge_unless_told()
        if behind:
            self.acknowledge_later()

    # What connections report.

    def made(self, connection: Connection) -> None:
        """A connection begins. If too many are not proven, the oldest of them has to go."""
        accepted = [stranger for stranger in self.strangers if stranger.dialled is None]
        if len(accepted) >= STRANGERS:
            self.strangers.pop(accepted[0])
            accepted[0].refuse("too many connections have not shown who they are")
        self.strangers[connection] = None

    def opened(self, connection: Connection, theirs: Hello) -> None:
        """Both sides are proven: the link goes on where it was."""
        peer = self.peers[theirs.node]
        if peer.incarnation not in (None, theirs.incarnation):
            raise ProtocolError(
                f"{theirs.node!r} has been restarted and knows nothing of the locks it shared; restart all nodes"
            )
        peer.resume(theirs.received)
        peer.incarnation = theirs.incarnation
        if peer.connection:
            peer.connection.hang_up()
        peer.connection = connection
        peer.connections += 1
        connection.peer = peer
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it is a help, and no more
            self.readable.register(connection.socket, select.POLLIN)
        connection.resume_writing()
        log.info("%s: connected to %s", self.identity.node, peer.name)

    def closed(self, connection: Connection) -> None:
        self.strangers.pop(connection, None)
        if peer := connection.peer:
            with contextlib.suppress(AttributeError, KeyError, OSError, ValueError):  # it was not registered
                self.readable.unregister(connection.socket)
            if peer.connection is connection:
                peer.connection = peer.write = None
                log.info("%s: connection to %s is gone", self.identity.node, peer.name)
            peer.lost.set()


class Connection(asyncio.BufferedProtocol):
    """One connection: a handshake, then batches."""

    def __init__(self, transport: TcpTransport, dialled: Peer | None) -> None:
        self.owner = transport
        self.peer = dialled
        self.dialled = dialled
        self.space = transport.space
        self.get_buffer = partial({0: self.space}.get, 0)  # type: ignore[method-assign, assignment]
        """Always our space, whatever the size: a call less for each message than a method."""
        self.frames = Frames(HANDSHAKE_FRAME)
        self.ours: Hello | None = None
        self.theirs: Hello | None = None
        self.open = False
        self.wire: asyncio.Transport | None = None
        self.timeout: asyncio.TimerHandle | None = None
        self.told = 0
        """The last batch of which the peer knew that we have it, when we last looked."""

    # What asyncio reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.wire = cast(asyncio.Transport, transport)  # uvloop's are not of this class, but do the same
        sock = self.socket = transport.get_extra_info("socket")
        if sock and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SILENCE_SECONDS * 1000))
        self.owner.made(self)
        by_shortcut = sock and sock.family == socket.AF_UNIX and not (self.dialled or self.owner.listen.unix)
        if by_shortcut and not same_user(sock):
            self.refuse("it belongs to another user")
            return
        loop = asyncio.get_running_loop()
        self.timeout = loop.call_later(HANDSHAKE_SECONDS, self.refuse, "it did not show who it is in time")
        if self.dialled:
            self._say_hello(self.dialled)

    def buffer_updated(self, nbytes: int) -> None:
        space, frames = self.space, self.frames
        # The rule is one whole frame. All that a message needs is in this one function, and so on its way down:
        # whoever is woken for a message has nothing of ours in its caches, and each call costs microseconds.
        whole = nbytes >= 4 and not frames.buffer and length_of(space)[0] == nbytes - 4
        batches = []
        try:
            for body in (space[4:nbytes],) if whole and self.open else frames.feed(space[:nbytes]):
                peer = self.peer
                if not self.open or peer is None:
                    self._greet(body)
                    continue
                batch = decode_batch(body)
                if batch.number == peer.received + 1 and peer.confirmed <= batch.acknowledged <= peer.sent:
                    # As `accept` does, but for a call.
                    peer.received += 1
                    peer.confirmed = batch.acknowledged
                    batches.append(batch)
                elif peer.accept(batch):
                    batches.append(batch)
        except (ProtocolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.refuse(str(error))
        if batches and peer:
            self.owner.receive(peer.name, batches)
        if (peer := self.peer) and self.open:
            behind = peer.received - peer.acknowledged
            if behind >= ACKNOWLEDGE_BATCHES:
                self._acknowledge()
            elif behind and self.owner.acknowledging is None:
                self.told = peer.acknowledged
                self.owner.acknowledge_later()

    def connection_lost(self, error: Exception | None) -> None:
        if self.frames.buffer:
            log.warning("%s: %s broke off in the middle of a frame", self.owner.identity.node, self._who())
        if self.timeout:
            self.timeout.cancel()
        self.open = False
        self.owner.closed(self)

    def eof_received(self) -> None:
        self.pause_writing()

    def pause_writing(self) -> None:
        if self.peer and self.peer.connection is self:
            self.peer.write = None

    def resume_writing(self) -> None:
        if self.peer and self.peer.connection is self and self.wire and not self.wire.is_closing():
            self.peer.go_on(self.wire.write)

    # The handshake. The dialler says hello; the other says hello and proves itself; the dialler proves itself.

    def _say_hello(self, to: Peer) -> None:
        self.ours = handshake.hello(self.owner.identity, to.name, to.received)
        self._put(frame(encode(self.ours)))

    def _greet(self, body: memoryview) -> None:
        me = self.owner.identity
        if self.theirs is None:
            self.theirs = handshake.decode_hello(body)
            expected = self.dialled.name if self.dialled else None
            handshake.check_hello(me, self.theirs, expected, frozenset(self.owner.peers))
            assert self.wire
            check_certificate(self.wire.get_extra_info("ssl_object"), self.theirs.node)
            if self.dialled is None:
                self._say_hello(self.owner.peers[self.theirs.node])
                self._prove()
            return
        assert self.ours
        handshake.check_proof(me, self.ours, self.theirs, handshake.decode_proof(body))
        if self.dialled:
            self._prove()
        self._opened()

    def _prove(self) -> None:
        assert self.ours
        assert self.theirs
        self._put(frame(encode(handshake.proof(self.owner.identity, self.ours, self.theirs))))

    def _opened(self) -> None:
        assert self.theirs
        if self.timeout:
            self.timeout.cancel()
        self.frames.limit = Frames().limit
        self.open = True
        self.owner.strangers.pop(self, None)
        self.owner.opened(self, self.theirs)

    # Batches.

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

    def refuse(self, why: str) -> None:
        """Close this connection, say why in one line, and harm nothing else."""
        log.warning("%s: closed the connection to %s: %s", self.owner.identity.node, self._who(), why)
        self.hang_up()

    def hang_up(self) -> None:
        self.frames.buffer.clear()
        self.pause_writing()
        if self.wire:
            self.wire.abort()

    def _put(self, framed: bytes) -> None:
        if self.wire and not self.wire.is_closing():
            self.wire.write(framed)

    def _who(self) -> str:
        if self.peer:
            return self.peer.name
        where: Any = self.wire.get_extra_info("peername") if self.wire else None
        return f"{repr(self.theirs.node) if self.theirs else 'a stranger'} at {where or 'a socket'}"


def _make_room_for_socket(path: str) -> None:
    """Remove a socket that nobody listens at any more; take it from nobody, and remove nothing else."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise UsageError(f"cannot listen at unix:{path}: it is there already, and is no socket")
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(HANDSHAKE_SECONDS)
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
                return
        raise UsageError(f"cannot listen at unix:{path}: somebody listens there already")
