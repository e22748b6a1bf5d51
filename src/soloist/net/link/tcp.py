"""Sockets: one connection per pair of nodes, made again when it breaks, with nothing lost in between.

Of two nodes the one whose name comes first dials; the other does so only if it is not called. A connection counts once
both sides have shown who they are; until then a stranger can do no more than occupy one of a few places for a few
seconds.
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
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from soloist.core import ProtocolError, UsageError
from soloist.core.errors import printable
from soloist.net.link import shortcut as shortcuts
from soloist.net.link.ciphered import Ciphered
from soloist.net.link.connection import HANDSHAKE_SECONDS, Connection
from soloist.net.link.handshake import Hello, Identity, Who, agreed
from soloist.net.link.peer import Peer, in_words, nowhere
from soloist.net.link.porch import Porch, Visitor
from soloist.net.link.pulses import Pulses
from soloist.net.link.receipts import LOOK_SECONDS, Receipts
from soloist.net.link.security import TLS, Address, address
from soloist.net.link.transport import Link, Meeting, Receive

log = logging.getLogger("soloist.net")

STRANGERS = 64
"""Connections that may be unproven at one time."""
GOODBYE_SECONDS = 1.0
FIRST_RETRY, LAST_RETRY = 0.02, 1.0
PATIENCE_SECONDS = 2.0
"""Seconds to wait for a peer that should call us before we call it."""
NEWCOMER_SECONDS = 0.25
"""Seconds: the same for a node that is no member yet. Others need not know that it is there."""
MOST_GONE = 256
"""Peers that have gone of which is known what was said: one that was only cut off goes on with that."""
REPEAT_SECONDS, MOST_REPEATED = 60.0, 1000
"""Seconds until the same warning is logged again, and warnings that are remembered for that."""


class TcpTransport:
    """The transport over TCP and Unix sockets."""

    def __init__(
        self,
        name: str,
        addresses: Mapping[str, Address],
        secret: bytes = b"",
        tls: TLS | None = None,
        insecure: bool = False,
        shortcut: bool = True,
        listen: Address | None = None,
    ) -> None:
        self.name, self.secret = name, secret
        self.listen = listen or addresses[name]
        self.peers = {peer: Peer(peer, where) for peer, where in addresses.items() if peer != name}
        self.told = frozenset(self.peers)
        """Peers whose addresses our user has told us: nobody else can tell us others."""
        self.tls = tls
        self.shortcut = shortcut and not tls  # certificates belong to TCP
        self.protected = bool(tls or secret or insecure)
        """Whether we may talk to other hosts."""
        far = next((str(a) for a in (self.listen, *addresses.values()) if not a.local), None)
        if far and not self.protected:
            raise UsageError(
                f"{far} is not on this host: give tls= or secret=, or insecure=True if everybody there is trusted"
            )
        self.receive: Receive = lambda peer, batch: None
        self.on_will: Callable[[str], None] = lambda will: None
        """Called with the hash of each will that is heard, from anybody: see `soloist.net.link.will`."""
        self.meeting: Meeting
        self.refused = 0
        """Nodes that said who they are and were not let in, each time."""
        self.warned: dict[str, float] = {}
        """What was logged, and when."""
        self.servers: list[Porch] = []
        self.over = False
        """Whether we have hung up: what was accepted just before has nobody to belong to."""
        self.pulses = Pulses(self)
        self.strangers: dict[Connection | Visitor, None] = {}
        """Connections that are not proven yet, oldest first."""
        self.space = memoryview(bytearray(64 * 1024))
        """Where all connections read into: what has arrived is dealt with before anything else is read."""
        self.receipts = Receipts(self.peers)
        self.readable: Any = None
        """The sockets of our peers, to see without a turn of the loop whether one has something for us."""

    @property
    def out_of_sight(self) -> bool:
        return any(
            not peer.address.unix and not (self.shortcut and shortcuts.name_of(peer.address))
            for peer in self.peers.values()
        )

    @property
    def identity(self) -> Identity:
        return Identity(self.meeting.who, self.secret)

    async def start(self, receive: Receive, meeting: Meeting) -> None:
        self.receive, self.meeting = receive, meeting
        self.over = False
        self.readable = select.epoll() if hasattr(select, "epoll") else select.poll()
        try:
            await self._listen()
        except BaseException as error:  # the caller of `start` may be cancelled, too
            self._drop_all()
            if isinstance(error, OSError):
                raise UsageError(f"cannot listen at {self.listen}: {os.strerror(error.errno or 0)}") from None
            raise
        for peer in self.peers.values():
            self._begin_to_dial(peer)

    def _begin_to_dial(self, peer: Peer) -> None:
        if peer.dialling is None and self.servers:
            peer.dialling = asyncio.create_task(self._dial(peer), name=f"dial {peer.name}")

    async def _listen(self) -> None:
        context = self.tls.server() if self.tls else None
        porch = Porch(self.listen, lambda sock: self.made(Visitor(self, sock, context)), self.warn)
        self.servers.append(porch)
        if self.listen.unix:
            _make_room_for_socket(self.listen.host)
            porch.bind_unix(self.listen.host)
        else:
            await porch.bind()
        if self.shortcut and (name := shortcuts.name_of(self.listen)):
            with contextlib.suppress(OSError):  # somebody has taken the name: there is TCP
                porch.bind_unix(name)
        porch.listen()

    async def _dial(self, peer: Peer) -> None:
        """Call a peer whenever there is no connection; one that should call us only if it does not."""
        retry = 0.0
        by_shortcut = self.shortcut
        while True:
            await peer.absent.wait()
            patience = NEWCOMER_SECONDS if self.meeting.joining else PATIENCE_SECONDS
            await asyncio.sleep((0.0 if self.name < peer.name else patience) + retry)
            if peer.connection:
                continue
            before = peer.connections
            sock = shortcuts.connect(peer.address) if by_shortcut else None
            try:
                await self.call(peer, sock)
            except (OSError, ValueError) as error:  # ValueError: a name that cannot be in a certificate
                peer.failure = in_words(error)
                if isinstance(error, ValueError | ssl.SSLError):
                    self.trouble(peer.name, in_words(error))
                else:
                    log.debug("%s: cannot connect to %s: %s", self.name, peer.name, error)
            connected = peer.connections > before
            by_shortcut = self.shortcut and (
                sock is None or connected
            )  # or else it was there, and led to nothing
            retry = FIRST_RETRY if connected else min(2 * retry + FIRST_RETRY, LAST_RETRY)

    def know(self, addresses: Mapping[str, str]) -> None:
        for name, text in addresses.items():
            if name == self.name or not text:
                continue
            where = address(text)
            peer = self.peers.get(name)
            if peer is None:
                peer = self.peers[name] = Peer(name, where)
            elif name not in self.told:
                peer.address = where
            if self.protected or peer.address.local:
                self._begin_to_dial(peer)
            else:
                self.trouble(name, f"{peer.address} is not on this host; give tls= or secret= to all nodes")

    def admit(self, who: Who) -> None:
        """Somebody has come whom we did not know. We do not call it: members of a view are called."""
        try:
            self.peers[who.node] = Peer(who.node, address(who.address))
        except UsageError as error:
            raise ProtocolError(f"{who.node!r} does not say where it listens: {error}") from None

    def forget(self, names: Collection[str]) -> None:
        for peer in [self.peers[name] for name in names if name in self.peers]:
            if peer.dialling:
                peer.dialling.cancel()
                peer.dialling = None
        gone = [peer for peer in self.peers.values() if not (peer.dialling or peer.connection)]
        for peer in gone[: max(0, len(gone) - MOST_GONE)]:
            del self.peers[peer.name]

    def socket_to(self, peer: str) -> Any:
        there = self.peers.get(peer)
        return there.connection.socket if there and there.connection else None

    def failures(self) -> dict[str, str]:
        tried = [peer for peer in self.peers.values() if peer.dialling and not peer.connection]
        return {peer.name: f"{peer.address}: {peer.failure or 'no answer yet'}" for peer in tried}

    def pulse_lost(self, peer: str) -> None:
        if peer in self.peers:
            self.pulses.lost(self.peers[peer])

    def expect(self, incarnations: Mapping[str, str]) -> None:
        for name, incarnation in incarnations.items():
            peer = self.peers.get(name)
            if peer and peer.incarnation != incarnation:
                if peer.connection:
                    peer.connection.hang_up()
                peer.mean(incarnation)

    def begin_again(self) -> None:
        for peer in self.peers.values():
            if peer.connection:
                peer.connection.hang_up()
            peer.forget()

    def incarnation(self, peer: str) -> str | None:
        return self.peers[peer].incarnation if peer in self.peers else None

    async def call(self, peer: Peer, sock: socket.socket | None, pulse: bool = False) -> None:
        """One connection, until it is open or never will be."""
        loop = asyncio.get_running_loop()
        context = self.tls.client() if self.tls else None
        connection = Connection(self, peer, pulse)
        if pulse and context:
            connection, context = Ciphered(self, peer, context), None
        make = lambda: connection  # noqa: E731
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
        await connection.decided.wait()

    def link(self, peer: str) -> Link:
        return self.peers[peer].send if peer in self.peers else nowhere

    def unread(self) -> bool:
        return bool(self.readable and self.readable.poll(0))

    def backlog(self, peer: str) -> int:
        return self.peers[peer].backlog if peer in self.peers else 0

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
        dialling = [peer.dialling for peer in self.peers.values() if peer.dialling]
        await asyncio.gather(*dialling, return_exceptions=True)

    async def _say_goodbye(self) -> None:
        """What was said last, a token perhaps, shall arrive; but nobody is waited for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                while any(peer.connection and peer.backlog for peer in self.peers.values()):
                    await asyncio.sleep(LOOK_SECONDS / 10)

    def _hang_up(self) -> None:
        for peer in self.peers.values():
            if peer.dialling:
                peer.dialling.cancel()
        self.pulses.close()
        self.receipts.close()
        self._drop_all()
        if self.listen.unix:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.listen.host)

    def _drop_all(self) -> None:
        self.over = True
        while self.servers:
            self.servers.pop().close()
        if hasattr(self.readable, "close"):
            self.readable.close()
        self.readable = None
        for connection in [*self.strangers, *(p.connection for p in self.peers.values() if p.connection)]:
            connection.hang_up()

    # What connections report.

    def made(self, connection: Connection | Visitor) -> None:
        """A connection begins. If too many are not proven, the oldest of them has to go."""
        accepted = [stranger for stranger in self.strangers if stranger.dialled is None]
        if len(accepted) >= STRANGERS:
            self.strangers.pop(accepted[0])
            accepted[0].refuse("too many connections have not shown who they are")
        self.strangers[connection] = None

    def opened(self, connection: Connection, theirs: Hello) -> None:
        """Both sides are proven: the link goes on where it was, or begins, if one of them is another than before."""
        who = theirs.who
        peer = self.peers[who.node]
        if refusal := self.meeting.refusal(who):  # it was none when we looked
            raise ProtocolError(refusal)
        peer.mean(who.incarnation)
        peer.resume(theirs.received if theirs.met == self.identity.who.incarnation else 0)
        if peer.connection:
            peer.connection.hang_up()
        peer.connection = connection
        peer.connections += 1
        peer.absent.clear()
        peer.trouble = peer.failure = ""
        connection.peer, connection.open = peer, True
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it is a help, and no more
            self.readable.register(connection.socket, select.POLLIN)
        connection.resume_writing()
        version = agreed(self.identity.who, who)
        log.info("%s: connected to %s", self.name, peer.name, extra={"protocol": version})
        self.meeting.met(who)
        self.pulses.wanted(peer)

    def closed(self, connection: Connection) -> None:
        self.strangers.pop(connection, None)
        if peer := connection.peer:
            with contextlib.suppress(AttributeError, KeyError, OSError, ValueError):  # it was not registered
                self.readable.unregister(connection.socket)
            if peer.connection is connection:
                peer.connection = peer.write = None
                peer.absent.set()
                log.info("%s: connection to %s is gone", self.name, peer.name)

    def trouble(self, name: str, why: str, mismatch: bool = False) -> None:
        """There is no link to that peer, for a reason that is said once, and told to those who wait."""
        peer, why = self.peers[name], printable(why)
        if peer.connection:
            return  # somebody else, or an attempt that came too late
        if why != peer.trouble:
            peer.trouble = why
            log.warning("%s: no connection to %s: %s", self.name, name, why)
        self.meeting.trouble(name, why, mismatch)

    def warn(self, what: str, where: str = "") -> None:
        """Log it, once in a while. From where it came may differ each time."""
        now, what = time.monotonic(), printable(what)
        if now - self.warned.get(what, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return
        if len(self.warned) >= MOST_REPEATED:
            self.warned.clear()
        self.warned[what] = now
        log.warning("%s: %s%s", self.name, what, f" ({where})" if where else "")

    def descriptors(self) -> list[int]:
        sockets: list[Any] = [sock for server in self.servers for sock in server.sockets]
        sockets += [*self.strangers, *(peer.connection for peer in self.peers.values() if peer.connection)]
        sockets += [self.readable] if hasattr(self.readable, "fileno") else []
        return [number for sock in sockets if (number := sock.fileno()) >= 0]


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
