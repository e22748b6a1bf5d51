"""A node: one member of a cluster, with its locks.

    async with Node("a", PEERS) as node:
        async with node.lock("orders", timeout=5) as hold:
            ...

Each named lock is an instance of the algorithm of its own; all of them share one mesh of connections. What a
node has to say to a peer in one turn of its loop travels in one batch.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Self

import msgspec

from soloist.core import UsageError
from soloist.net import registry
from soloist.net.arguments import check_name, check_timeout
from soloist.net.cards import chosen, introduction
from soloist.net.engine.inquiry import Inspection
from soloist.net.engine.outgoing import Stats
from soloist.net.engine.switchboard import Switchboard
from soloist.net.engine.ticket import FENCE_BITS, Ticket
from soloist.net.errors import NodeClosed
from soloist.net.life import Life
from soloist.net.link.security import TLS
from soloist.net.link.tcp import TcpTransport
from soloist.net.link.transport import MemoryTransport, Transport
from soloist.net.lock import Hold, Lock
from soloist.net.maker import LockMaker
from soloist.net.member.beginning import Beginning
from soloist.net.member.breaks import Broken
from soloist.net.member.company import Asked, company, wanted_lease
from soloist.net.member.engines import Endpoints, engine
from soloist.net.member.home import default_directory
from soloist.net.member.origin import DataDirectory, by_clock
from soloist.net.seen import Seen
from soloist.net.told import check_rest, check_secret

log = logging.getLogger("soloist.net")

REMIND_SECONDS = 5.0
"""Seconds without all members, after which callers' waiting is worth a line in the log."""


class Node(Life, LockMaker, Seen):
    """A member of a cluster. Use it with `async with`, or call `start` and `close`.

    `peers` maps the name of every member, this one included, to its address: `host:port` or `unix:/path`. All
    members must be given the same. To join a cluster that is there, give `join` instead: some of its members, and where
    this node is to `listen`, and the `address` by which others find it, if that is another. `lease`: seconds after which a
    member that is silent is left out; "auto": 10 with three nodes or more, or with etcd; None: none. With one, `voters` names
    those of `peers` who vote; with `voter_only` this node does, and has no locks. Beyond this host, `tls` or `secret` is required (or `insecure=True`).
    Nodes of one user on one host take a shortcut beside their ports (see `soloist.net.link.shortcut`); with
    `shortcut=False` they use TCP. With a lease, a node with peers on other hosts has a sentinel, a child that tells
    them of its end (unless `sentinel=False`). `etcd`: endpoints of the one that decides who is a member.
    """

    _shown = "break_lock close lease observers start stats voter_only"

    def __init__(
        self,
        name: str,
        peers: Mapping[str, str] | None = None,
        *,
        join: Mapping[str, str] | None = None,
        listen: str = "",
        address: str = "",
        voters: Iterable[str] | None = None,
        voter_only: bool = False,
        algorithm: str | None = None,
        semaphore_algorithm: str | None = None,
        cluster: str = "soloist",
        lease: Asked = "auto",
        etcd: Endpoints | None = None,
        tls: TLS | None = None,
        secret: str | bytes | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        transport: Transport | None = None,
        insecure: bool = False,
        locality: int = 1,
        shortcut: bool = True,
        sentinel: bool = True,
    ) -> None:
        asked = lease if etcd is not None else wanted_lease(lease, peers, join, voters, voter_only)
        (terms, begin), in_memory = engine(asked, etcd), isinstance(transport, MemoryTransport)
        voting = "etcd" if etcd else "lease" if terms else ""
        told = company(name, peers, join, listen, address, voters, voter_only, voting, in_memory)
        check_rest(cluster, tls, data_dir, locality, transport)
        super().__init__(name)
        self.lease, self.voter_only, self.voting = terms.length if terms else None, voter_only, voting
        cards = chosen(algorithm, semaphore_algorithm)
        if terms and not data_dir and not in_memory:
            data_dir = default_directory(cluster, name)
        self._data = DataDirectory(data_dir, cluster, name) if data_dir else None
        key = check_secret(secret)
        self.transport: Transport = transport or TcpTransport(
            name, told.parsed(), key, tls, insecure, shortcut, told.listens()
        )
        self.board = board = Switchboard(name, told.members, cards, locality, self.transport)
        self.request, self.release, self.lose = board.request, board.release, board.lose
        self.table, self.turns, self.outgoing = board.table, board.turns, board.outgoing
        self.instances, self.asleep, self.holds = self.table.instances, self.table.asleep, self.table.holds
        self.observers, self.stats = self.table.observers, self.outgoing.stats
        who = introduction(cluster, name, told.addresses, cards, (bool(algorithm), bool(semaphore_algorithm)))
        self._membership = partial(begin, terms, told, board, self.transport)
        self._sentinel = sentinel
        self._outlived = 0.0
        self.beginning = board.lobby = Beginning(who, self.outgoing.say, lambda origin: None)
        self._reminder: asyncio.TimerHandle | None = None
        registry.guard(self)

    def serve_others(self, outlived: float = 0.0) -> None:
        """Other processes will use the locks of this node, and go on when it dies: call it before `start`.

        Then nobody takes the end of this process for a proof that nothing is held here any more. Clients elsewhere go on so long
        believing that they hold something: where nobody is there to out-wait the process before, that is at a birth, this one does.
        """
        self.beginning.who = msgspec.structs.replace(self.beginning.who, serves=True)
        self._outlived = outlived
        if self._data:
            self._data.serves, self._data.outlives = True, outlived

    async def obtain(self, lock: Lock, timeout: float | None) -> list[Ticket]:
        """What a client does in its place: see `Home`."""
        raise NotImplementedError("a node deals with requests itself")

    def let_go(self, hold: Hold) -> None:
        """A node passes on at once what is lost."""

    def descriptors(self) -> list[int]:
        """The files that belong to this node alone."""
        data = self._data.descriptors() if self._data else []
        return [*self.transport.descriptors(), *self.beginning.descriptors(), *data]

    def written_in(self, path: str | os.PathLike[str]) -> None:
        """The file that describes its cluster, for words to users: call it before `start`."""
        if self._data:
            self._data.source = str(path)

    async def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """Take the lock, or the semaphore, of that name from its holders, everywhere; callers that wait go on.

        It is agreed upon: when this returns, nobody has a good hold of it from before. Who did gets `LockLost`; a node that
        does not answer is waited for as long as its lease lasts. Needs a lease.
        """
        self._home.check_usable()
        self.check_loop()
        name, timeout = check_name(name), check_timeout(timeout)
        if self.beginning.breaks is None:
            raise UsageError(
                f"{name!r} cannot be broken: without a lease nobody can make sure that its holder no longer has it; "
                "give the nodes a lease, or restart them all"
            )
        return await self.beginning.breaks.ask(name, timeout)

    # Life.

    async def start(self) -> Self:
        """Go and meet the others. Callers that ask for a lock meanwhile wait until all have met."""
        self.begin_life()
        self.board.loop = self.outgoing.loop = self.loop
        if self._data:
            self._data.incarnation = self.beginning.who.incarnation
        above = max(by_clock(), self._data.open() if self._data else 0)
        try:
            self.beginning = self.board.lobby = self._membership(
                self.beginning.who, self._sentinel, self._data
            )
            self.beginning.begin_above(above)
            outlived = self._data.outlived if self._data else self._outlived
            self.beginning.outwaits = time.monotonic() + outlived
            await self.transport.start(self.board.receive, self.beginning)
        except BaseException:
            self.beginning.close()
            self.forsake()
            raise
        self.usable = not self.closed
        registry.enter(self)
        self.beginning.start()
        self._reminder = self.loop.call_later(REMIND_SECONDS, self._remind)
        return self

    def _remind(self) -> None:
        if self.usable and not self.beginning.open and (why := self.beginning.why()):
            log.warning("%s: nobody is let in yet; %s", self.name, why)

    async def close(self) -> None:
        """Leave. Holders of a lock here lose it; callers that wait get `NodeClosed`."""
        try:
            if self.at_home and self.usable:
                self.check_loop()
                await self.beginning.finish()
        finally:
            await self._close()

    async def _close(self) -> None:
        if self.closed:
            return
        if self.at_home and self.started:
            self.check_loop()
            self.outgoing.flush()
        self.closed, self.usable = True, False
        registry.leave(self)
        if self.at_home or self.forked:
            self._end()
        try:
            if self.at_home:
                try:
                    await self.beginning.leave()
                finally:  # one that is cancelled while it says goodbye leaves no port open
                    await self.transport.close()
        finally:
            if not self.forked:
                self.forsake()

    def _end(self) -> None:
        for hold in [hold for holds in self.holds.values() for hold in holds]:
            hold.lose("the node was closed")
        self.board.end(self._closed_while)
        for lock, _, ticket in self.beginning.end()[0]:
            ticket.fail(self._closed_while(lock))
        if self._reminder:
            self._reminder.cancel()

    def forsake(self) -> None:
        """Let go of the data directory: another process may have it."""
        if self._data:
            self._data.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _closed_while(self, lock: str) -> NodeClosed:
        return NodeClosed(f"node {self.name!r} was closed while {lock!r} was waited for")


__all__ = ["FENCE_BITS", "Inspection", "Node", "Stats"]
