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
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any, Self

import msgspec

from soloist.algorithms import Card, find
from soloist.core import ProtocolError, UsageError
from soloist.net import registry
from soloist.net.arguments import check_name
from soloist.net.engine.inquiry import Inquiry, Inspection
from soloist.net.engine.instance import FENCE_BITS, Cancellable, Effects, Instance, Ticket, begins
from soloist.net.engine.outgoing import EAGER, Outgoing, Stats
from soloist.net.engine.table import Table, mismatch
from soloist.net.engine.turns import Turns
from soloist.net.errors import ConfigMismatch, LockError, NodeClosed
from soloist.net.link.handshake import Who, incarnation
from soloist.net.link.security import TLS, address
from soloist.net.link.tcp import TcpTransport
from soloist.net.link.transport import Transport
from soloist.net.link.wire import Answer, Batch, Control, Envelope, LocalView, Muster, Question, Refusal
from soloist.net.lock import Lock, Locks, OnLost, RLock, Semaphore
from soloist.net.member.beginning import Beginning
from soloist.net.member.origin import DataDirectory, by_clock, epoch_of

log = logging.getLogger("soloist.net")

WAKE = b"\xc0"
"""The body of an envelope that only says that a lock exists (msgpack's nil)."""
REMIND_SECONDS = 5.0
"""After so long without all members, callers' waiting is worth a line in the log."""


class Node:
    """A member of a cluster. Use it with `async with`, or call `start` and `close`.

    `peers` maps the name of every member, this one included, to its address: `host:port` or `unix:/path`. All
    members must be given the same. Beyond this host, `tls` or `secret` is required (or `insecure=True`).
    Nodes of one user on one host take a shortcut beside their ports (see `soloist.net.link.shortcut`); with
    `shortcut=False` they use TCP as all others do.
    """

    loop: asyncio.AbstractEventLoop
    """Once it is started."""
    thread: int
    """The thread of that loop."""

    def __init__(
        self,
        name: str,
        peers: Mapping[str, str],
        *,
        algorithm: str = "naimi-trehel",
        semaphore_algorithm: str = "raymond-k",
        cluster: str = "soloist",
        lease: float | None = None,
        tls: TLS | None = None,
        secret: str | bytes | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        transport: Transport | None = None,
        insecure: bool = False,
        locality: int = 1,
        shortcut: bool = True,
    ) -> None:
        if name not in peers:
            raise UsageError(f"node {name!r} is not among its peers: {', '.join(sorted(peers))}")
        if lease is not None:
            raise UsageError("lease: surviving crashes is not built yet; leave it at None (fixed membership)")
        if locality < 0:
            raise UsageError(f"locality must not be negative, but is {locality}")
        self.name = name
        self.members = sorted(peers)
        self.me = self.members.index(name)
        self.lock_card = _card(algorithm, "1")
        self.semaphore_card = _card(semaphore_algorithm, "K")
        self.locality = locality
        self._data = DataDirectory(data_dir, cluster, name) if data_dir is not None else None
        key = secret.encode() if isinstance(secret, str) else secret or b""
        self.transport: Transport = transport or TcpTransport(
            name, {peer: address(where) for peer, where in peers.items()}, key, tls, insecure, shortcut
        )
        algorithms = f"{algorithm} {semaphore_algorithm}"
        who = Who(cluster, name, algorithms, tuple(self.members), incarnation(), origin=0)
        self.beginning = Beginning(who, self._say, self._begin_all)
        effects = Effects()
        self.outgoing = Outgoing(self.members, self.me, self.transport, effects, self._broken)
        self.turns = Turns(self.transport, effects)
        cards = (self.lock_card, self.semaphore_card)
        self.table = Table(self.members, self.me, cards, locality, effects, self._later)
        self.inquiry = Inquiry(name, self.table, self.outgoing, self.transport)
        self.instances, self.asleep, self.holds = self.table.instances, self.table.asleep, self.table.holds
        self.observers, self.stats = self.table.observers, self.outgoing.stats
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reminder: asyncio.TimerHandle | None = None
        self._closed = False
        self.forked = False
        """Whether this is a copy in the child of a fork; the sockets are the parent's."""
        self.usable = False
        """Started, and neither closed nor forked."""
        registry.guard(self)

    @property
    def epoch(self) -> int:
        """The first half of all fences; 0 until the cluster has begun."""
        return self.table.epoch

    # Life.

    async def start(self) -> Self:
        """Go and meet the others. Whoever asks for a lock meanwhile waits until all have met."""
        self.loop = self._loop = self.outgoing.loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.beginning.begin_above(max(by_clock(), self._data.open() if self._data else 0))
        try:
            await self.transport.start(self._receive, self.beginning)
        except BaseException:
            self._close_data()
            raise
        self.usable = not self._closed
        registry.enter(self)
        self.beginning.go_on()
        self._reminder = self.loop.call_later(REMIND_SECONDS, self._remind)
        return self

    def _begin_all(self, origin: int) -> None:
        """All members have met: from now on there are locks."""
        beginning = self.beginning
        try:
            if self._data:
                self._data.store(epoch_of(origin))
        except OSError as error:
            beginning.failure = f"data_dir cannot be written: {error.strerror}"
            log.error("%s: %s", self.name, beginning.why())
            return
        self.table.activate(origin)
        callers, mail = beginning.end()
        for lock, capacity, ticket in callers:
            try:
                self.request(lock, capacity, ticket)
            except LockError as error:
                ticket.fail(error)
        for peer, envelope in mail:
            self._take(peer, envelope)
        self.turns.rouse_soon()
        self.outgoing.flush_soon()

    def _remind(self) -> None:
        if self.usable and not self.beginning.over:
            log.warning("%s: nobody is let in yet; %s", self.name, self.beginning.why())

    async def close(self) -> None:
        """Leave. Whoever still holds a lock here loses it; whoever waits gets `NodeClosed`."""
        if self._closed:
            return
        if self._loop and self._loop.is_closed():  # there is nobody left to tell, and nothing to tell it with
            self._closed = self.outgoing.closed = True
            self.usable = False
            self._close_data()
            return
        if not self.forked:
            if self._loop:
                self.check_loop()
            self.outgoing.flush()
        self._closed = self.outgoing.closed = True
        self.usable = False
        for hold in [hold for holds in self.holds.values() for hold in holds]:
            hold.lose("the node was closed")
        for instance in self.instances.values():
            instance.fail(self._closed_while(instance.lock))
        for lock, _, ticket in self.beginning.end()[0]:
            ticket.fail(self._closed_while(lock))
        self.turns.rouse_soon()
        registry.leave(self)
        if self._reminder:
            self._reminder.cancel()
        if not self.forked:
            await self.transport.close()
            self._close_data()

    def _close_data(self) -> None:
        if self._data:
            self._data.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _closed_while(self, lock: str) -> NodeClosed:
        return NodeClosed(f"node {self.name!r} was closed while {lock!r} was waited for")

    def check_usable(self) -> None:
        """Raise if this node is no longer, or is in the child of a fork, where its connections are not."""
        if self._closed:
            raise NodeClosed(f"node {self.name!r} is closed")
        self.check_process()
        if self._loop is None:
            raise NodeClosed(f"node {self.name!r} has not been started; use it with `async with`")

    def check_process(self) -> None:
        if self.forked:
            raise NodeClosed(f"node {self.name!r} belongs to the parent of this process; make a new one here")

    def check_loop(self) -> None:
        """Raise unless the loop that runs is that of this node. There is one thread for it, and no other."""
        self.check_process()
        if self.loop.is_closed():
            raise NodeClosed(f"the event loop of node {self.name!r} is closed; start a new node in this one")
        if asyncio.get_running_loop() is not self.loop:
            raise UsageError(
                f"node {self.name!r} belongs to another event loop; use it there (for threads there is SyncNode)"
            )

    # Locks.

    def lock(
        self, name: str, *, timeout: float | None = None, note: str | None = None, on_lost: OnLost = "cancel"
    ) -> Lock:
        """A lock by name. The same name is the same lock, on every node."""
        return Lock(self, name, timeout=timeout, note=note, on_lost=on_lost)

    def rlock(
        self, name: str, *, timeout: float | None = None, note: str | None = None, on_lost: OnLost = "cancel"
    ) -> RLock:
        """A lock that the task which holds it may take again; the fence stays the same."""
        return RLock(self, name, timeout=timeout, note=note, on_lost=on_lost)

    def semaphore(
        self,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
    ) -> Semaphore:
        """A semaphore: at most `value` permits are out at a time. All nodes must say the same value."""
        return Semaphore(self, name, value, permits=permits, timeout=timeout, note=note, on_lost=on_lost)

    def locks(self, *names: str, timeout: float | None = None, note: str | None = None) -> Locks:
        """Several locks, all or none, always taken in the same order, so that nobody waits in a circle."""
        return Locks(
            [self.lock(name, note=note) for name in sorted({check_name(name) for name in names})], timeout
        )

    async def inspect(self, name: str) -> Inspection:
        """Who holds it, since when, with which note, and who waits: asked of all nodes."""
        return Inspection.of(name, await self._ask(check_name(name)), self.members)

    async def taken(self, instance: str, lock: str, limit: int) -> bool:
        """Whether so many are inside: as far as is known here, or else as far as the others know."""
        if self.table.inside(instance) >= limit:
            return True
        found = await self._ask(lock)
        return (
            sum(view.holding for views in found.values() for view in views if view.lock == instance) >= limit
        )

    async def _ask(self, lock: str) -> dict[str, list[LocalView]]:
        self.check_usable()
        self.check_loop()
        return await self.inquiry.ask(lock)

    async def holders(self) -> list[LocalView]:
        """All locks that are held or waited for, anywhere."""
        views = await self._ask("")
        busy = [view for found in views.values() for view in found if view.holding or view.waiting]
        return sorted(busy, key=lambda view: (view.lock, view.node))

    def descriptors(self) -> list[int]:
        """The files that belong to this node alone."""
        return self.transport.descriptors() + (self._data.descriptors() if self._data else [])

    def missing(self) -> list[str]:
        """Peers that cannot be reached at this moment."""
        return sorted(set(self.members) - {self.name} - self.transport.connected())

    def trouble(self) -> str:
        """Why callers may have to wait, though nobody holds what they want: in words, or nothing."""
        missing = [peer for peer in self.missing() if peer not in self.beginning.troubles]
        away = [f"not connected: {', '.join(missing)}"] if missing and self.beginning.over else []
        return "; ".join([*away, *filter(None, [self.beginning.why()])])

    # What locks ask of their node.

    def request(self, lock: str, capacity: int, ticket: Ticket) -> None:
        """For a caller who has checked that this node is usable."""
        instance = self.instances.get(lock)
        if instance is None or instance.capacity != capacity:
            if not self.beginning.over:
                self.beginning.wait(lock, capacity, ticket)
                return
            instance = self._instance(lock, capacity)
        try:
            instance.request(ticket)
        finally:
            if self.turns.roused:
                self.turns.rouse_soon()
            self.outgoing.after_call()

    def withdraw(self, lock: str, ticket: Ticket) -> None:
        if self._closed or ticket.gone:
            return
        if self.beginning.over:
            self.instances[lock].withdraw(ticket)
        else:
            ticket.gone = True

    def release(self, lock: str, ticket: Ticket) -> None:
        if self._closed or ticket.released:
            return
        try:
            self.instances[lock].release(ticket)
        finally:
            if self.turns.roused:
                self.turns.rouse_soon()
            self.outgoing.after_call()

    async def listen(self) -> None:
        """Let what peers have said be read."""
        await self.turns.listen()
        self.check_usable()

    async def room(self) -> None:
        """Wait while a peer is far behind."""
        await self.outgoing.room()
        self.check_usable()

    def _instance(self, lock: str, capacity: int) -> Instance:
        """Where an algorithm says something before anybody asks, all nodes must hear that the lock exists."""
        if lock not in self.instances and lock not in self.asleep and begins(self.table.card_for(capacity)):
            self.outgoing.say_to_all(Envelope(lock, capacity, self.table.epoch, 0, 0, 0, msgspec.Raw(WAKE)))
        return self.table.instance(lock, capacity)

    def _later(self, delay: float, timeout: Callable[..., None], *args: Any) -> Cancellable:
        """As the loop's `call_later`, for instances: what they say then is sent."""
        return self.loop.call_later(delay, self._timed_out, timeout, args)

    def _timed_out(self, timeout: Callable[..., None], args: tuple[Any, ...]) -> None:
        try:
            timeout(*args)
        finally:
            self.turns.rouse_soon()
            self.outgoing.flush_soon()

    # What peers say.

    def _receive(self, peer: str, batches: list[Batch]) -> None:
        """All that has come from a peer. Those whom it lets in go on here and now: no task is running."""
        if self._closed:
            return
        outgoing, turns = self.outgoing, self.turns
        outgoing.hearing = True
        try:
            for batch in batches:
                self.stats.messages_received += len(batch.envelopes)
                for envelope in batch.envelopes:
                    self._take(peer, envelope)
                for said in batch.control:
                    self._heard(peer, said)
            outgoing.hearing = False
            outgoing.eager = EAGER
            if outgoing.sends or outgoing.control:
                outgoing.send_all()
            turns.rouse_now()
        except (KeyboardInterrupt, SystemExit) as leaving:
            self.loop.call_soon(_raise, leaving)  # uvloop would take what comes out of here for our failure
        finally:
            outgoing.hearing = False
            if turns.roused:
                turns.rouse_soon()
            if outgoing.sends or outgoing.control:  # something failed before they were sent
                outgoing.flush_soon()

    def _take(self, peer: str, envelope: Envelope) -> None:
        """One message of one lock."""
        if envelope.epoch != self.table.epoch:
            if not self.beginning.over:
                self.beginning.keep(peer, envelope)  # from one who knows already that all have met
            return  # of another company: whatever it was about is over
        try:
            instance = self.instances.get(envelope.lock)
            if instance is None or instance.capacity != envelope.capacity:
                instance = self._instance_for(peer, envelope)
            if len(envelope.body) > len(WAKE):  # or else all it says is that the lock exists
                instance.deliver(self.outgoing.numbers.get(peer), envelope)
        except Exception as error:  # whatever a peer may say: the rest of the batch is still good
            what = "%s: a message of %s about %r was dropped: %r"
            log.error(what, self.name, peer, envelope.lock, error)

    def _instance_for(self, peer: str, envelope: Envelope) -> Instance:
        """Of a lock of which we hear for the first time, or with another capacity than ours."""
        most = self.table.most_permits
        if not 1 <= envelope.capacity <= most:
            raise ProtocolError(f"a capacity of {envelope.capacity}, where {most} is the most")
        try:
            return self.table.instance(envelope.lock, envelope.capacity)
        except ConfigMismatch as error:
            instance = self.instances[envelope.lock]
            self._say(peer, Refusal(envelope.lock, instance.capacity))
            instance.fail(error)
            raise

    def _say(self, peer: str, control: Control) -> None:
        self.outgoing.say(peer, control)

    def _heard(self, peer: str, said: Control) -> None:
        match said:
            case Question():
                self.inquiry.asked(peer, said)
            case Answer():
                self.inquiry.answered(peer, said)
            case Muster():
                self.beginning.hear(peer, said)
            case Refusal():
                if instance := self.table.known(said.lock):  # without that peer nobody here will be let in
                    instance.fail(mismatch(said.lock, instance.capacity, f"{said.capacity} at {peer}"))
            case _:
                self._broken(
                    said.lock, f"between {self.name!r} and {peer!r} something was said that cannot be read"
                )

    def _broken(self, lock: str, why: str) -> None:
        """What was lost may have been a token: nobody may go on with this lock as if nothing had happened."""
        if instance := self.table.known(lock):
            instance.break_off(why)
            self.turns.rouse_soon()


def _raise(error: BaseException) -> None:
    raise error


def _card(name: str, capacity: str) -> Card:
    card = find(name)
    if card.capacity != capacity:
        use = "semaphores" if card.capacity == "K" else "locks"
        raise UsageError(f"{name} is for {use}; choose another, `soloist algorithms` lists them")
    return card


__all__ = ["FENCE_BITS", "Inspection", "Node", "Stats"]
