"""A node: one member of a cluster, with its locks.

    async with Node("a", PEERS) as node:
        async with node.lock("orders", timeout=5) as hold:
            ...

Each named lock is an instance of the algorithm of its own; all of them share one mesh of connections. What a
node has to say to a peer in one turn of its loop travels in one batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Self
from weakref import WeakSet

import msgspec

from soloist.algorithms import Card, find
from soloist.core import ProtocolError, UsageError
from soloist.net.arguments import check_name
from soloist.net.engine.instance import (
    FENCE_BITS,
    Asleep,
    CallLater,
    Cancellable,
    Effects,
    Instance,
    Ticket,
    begins,
)
from soloist.net.engine.layout import Layout
from soloist.net.errors import ConfigMismatch, LockError, NodeClosed
from soloist.net.link.handshake import Who, incarnation
from soloist.net.link.security import TLS, address
from soloist.net.link.tcp import TcpTransport
from soloist.net.link.transport import Transport
from soloist.net.link.wire import (
    Answer,
    Batch,
    Control,
    Envelope,
    Garbled,
    LocalView,
    Muster,
    Question,
    Refusal,
)
from soloist.net.lock import Hold, Lock, Locks, OnLost, RLock, Semaphore
from soloist.net.member.beginning import Beginning
from soloist.net.member.origin import DataDirectory, by_clock, counter_of, epoch_of
from soloist.net.telemetry.observer import Observer, port_for

log = logging.getLogger("soloist.net")

sched_yield = getattr(os, "sched_yield", lambda: None)

LONG_HOLD = 0.001
"""Seconds. After a hold of that length, or more, we step aside when the lock is handed over."""
LONG_ASIDE, STAY_SECONDS = 0.001, 1.0
"""If stepping aside takes longer than that, others want the processor as well, and it is not done again for a while."""
HIGH_WATER = 8 * 1024 * 1024
"""Bytes that a peer may leave unacknowledged before new requests wait."""
MOST_SITES = 2000
"""Of one semaphore, over all nodes: each permit is a site at every node, and each site keeps something of all others."""
MOST_AWAKE = 1000
"""Locks that are kept ready for use before those that nobody uses are packed."""
MOST_ENVELOPES = 256
"""In one batch: with names and tokens of any sane length it fits into a frame."""
MOST_VIEWS = 200
"""In one answer, for the same reason."""
WAKE = b"\xc0"
"""The body of an envelope that only says that a lock exists (msgpack's nil)."""
EAGER = 2
"""How often in a row callers are not made to wait: for a release, and the request of whoever asks again.

What callers say first leaves at once, the rest together at the end of this turn of the loop. So a lock is handed
over without delay, and whoever uses many locks at a time still sends few batches.
"""
TURN_SECONDS = 0.005
"""How long callers who find their lock here may go on before the loop has a turn, whatever there is to read: whoever
connects, whoever is dialled and whatever a timer is for needs turns, too."""
LISTEN_TURNS = 4
"""How many turns of the loop what has arrived may take to be read; two are the rule."""
REMIND_SECONDS = 5.0
"""After so long without all members, callers' waiting is worth a line in the log."""
ASK_SECONDS = 1.0
"""How long `inspect` waits for answers."""


class Inspection(msgspec.Struct, frozen=True):
    """What the cluster knows of a lock at about this time."""

    lock: str
    holders: list[LocalView]
    waiting: dict[str, int]
    fence: int
    unreachable: list[str]
    """Nodes that did not answer; what they hold is not known."""


@dataclass(slots=True)
class Stats:
    """Counts since the node started."""

    entries: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    batches_sent: int = 0


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
        self.epoch = self.origin = 0
        """Once the cluster has begun: the first half of all fences, and the fence that is below them all."""
        self.stats = Stats()
        self.observers: list[Observer] = []
        self.instances: dict[str, Instance] = {}
        self.asleep: dict[str, Asleep] = {}
        """Locks that were not in use when there were many."""
        self._most_awake = MOST_AWAKE
        self.holds: dict[str, list[Hold]] = {}
        """Live holds by instance."""
        self._effects = Effects()
        self._outgoing, self._roused = self._effects.sends, self._effects.roused
        self._call_later: CallLater = self._later
        """Made once, for all instances: idle locks should cost little."""
        self._numbers = {member: number for number, member in enumerate(self.members)}
        self._links = {
            number: self.transport.link(member) for member, number in self._numbers.items() if member != name
        }
        self._control: dict[str, list[Control]] = {}
        self._flushing = False
        """Whether a flush will come."""
        self._hearing = False
        """Whether what a peer has said is being dealt with; a flush comes at its end."""
        self._eager = EAGER
        self.most_permits = max(1, MOST_SITES // len(self.members))
        """The largest value of a semaphore."""
        self.entered = 0.0
        """When somebody here was last let in."""
        self.turn_due = TURN_SECONDS
        """From when on whoever comes next lets the loop have a turn."""
        self._stays_until = 0.0
        """When we may step aside again."""
        self._questions: dict[int, dict[str, list[LocalView]]] = {}
        self._partial: dict[tuple[int, str], list[LocalView]] = {}
        """Answers of which parts have come."""
        self._answered: dict[int, asyncio.Event] = {}
        self._question = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reminder: asyncio.TimerHandle | None = None
        self._closed = False
        self.forked = False
        """Whether this is a copy in the child of a fork; the sockets are the parent's."""
        self.usable = False
        """Started, and neither closed nor forked."""
        _ALL.add(self)
        self.behind: set[str] = set()
        """Peers that have left much unacknowledged."""

    # Life.

    async def start(self) -> Self:
        """Go and meet the others. Whoever asks for a lock meanwhile waits until all have met."""
        self.loop = self._loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.beginning.begin_above(max(by_clock(), self._data.open() if self._data else 0))
        try:
            await self.transport.start(self._receive, self.beginning)
        except BaseException:
            self._close_data()
            raise
        self.usable = not self._closed
        _NODES[self.name] = self
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
        self.epoch, self.origin = epoch_of(origin), origin
        callers, mail = beginning.end()
        for lock, capacity, ticket in callers:
            try:
                self.request(lock, capacity, ticket)
            except LockError as error:
                ticket.fail(error)
        for peer, envelope in mail:
            self._take(peer, envelope)
        self._rouse_soon()
        self._flush_soon()

    def _remind(self) -> None:
        if self.usable and not self.beginning.over:
            log.warning("%s: nobody is let in yet; %s", self.name, self.beginning.why())

    async def close(self) -> None:
        """Leave. Whoever still holds a lock here loses it; whoever waits gets `NodeClosed`."""
        if self._closed:
            return
        if self._loop and self._loop.is_closed():  # there is nobody left to tell, and nothing to tell it with
            self._closed, self.usable = True, False
            self._close_data()
            return
        if not self.forked:
            if self._loop:
                self.check_loop()
            self._flush()
        self._closed = True
        self.usable = False
        for hold in [hold for holds in self.holds.values() for hold in holds]:
            hold.lose("the node was closed")
        for instance in self.instances.values():
            instance.fail(self._closed_while(instance.lock))
        for lock, _, ticket in self.beginning.end()[0]:
            ticket.fail(self._closed_while(lock))
        self._rouse_soon()
        if _NODES.get(self.name) is self:
            del _NODES[self.name]
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
        views = await self._ask(check_name(name))
        mine = [view for found in views.values() for view in found]
        return Inspection(
            name,
            holders=[view for view in mine if view.holding],
            waiting={view.node: view.waiting for view in mine if view.waiting},
            fence=max((view.fence for view in mine), default=0),
            unreachable=sorted(set(self.members) - set(views)),
        )

    async def taken(self, instance: str, lock: str, limit: int) -> bool:
        """Whether so many are inside: as far as is known here, or else as far as the others know."""
        if self.inside(instance) >= limit:
            return True
        views = await self._ask(lock)
        return (
            sum(view.holding for found in views.values() for view in found if view.lock == instance) >= limit
        )

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
            if instance is None and lock not in self.asleep and begins(self._card_for(capacity)):
                self._wake(lock, capacity)
            instance = self._instance(lock, capacity)
        try:
            instance.request(ticket)
        finally:
            if self._roused:
                self._rouse_soon()
            if self._outgoing:
                if self._eager:  # see there
                    self._eager -= 1
                    self._send_all()
                else:
                    self._flush_soon()

    def inside(self, lock: str) -> int:
        """How many permits are out at this node."""
        instance = self.instances.get(lock)
        return len(instance.inside) if instance else 0

    def withdraw(self, lock: str, ticket: Ticket) -> None:
        if self._closed or ticket.gone:
            return
        if self.beginning.over:
            self.instances[lock].withdraw(ticket)
        else:
            ticket.gone = True

    def deaf(self, instance: Instance) -> bool:
        """Callers here have taken this lock so often in a row that it is time to look: does somebody else want it?

        A caller that finds the lock here takes it without a turn of the loop. If it did nothing else, no peer
        would be heard any more.
        """
        instance.unheard = 0
        if self.transport.unread():
            return True
        if not instance.contended:
            return False
        instance.contended -= 1
        sched_yield()  # whoever wants it may be about to say so, and wait for this processor
        return self.transport.unread()

    async def listen(self) -> None:
        """Let what peers have said be read."""
        for _ in range(LISTEN_TURNS):
            await asyncio.sleep(0)
            if not self.transport.unread():
                break
        self.turn_due = time.monotonic() + TURN_SECONDS
        self.check_usable()

    def release(self, lock: str, ticket: Ticket) -> None:
        if self._closed or ticket.released:
            return
        try:
            self.instances[lock].release(ticket)
        finally:
            if self._roused:
                self._rouse_soon()
            if self._outgoing:
                if self._eager:  # see there
                    self._eager -= 1
                    self._send_all()
                else:
                    self._flush_soon()

    def step_aside(self, since: float) -> None:
        """A lock that was held since then is on its way to another process. Let that one run, if it is here.

        On one host it is woken on our own processor, as a rule, and would wait there until we have nothing more to
        do. Not after short holds: where many want a lock again and again, whoever steps aside before it asks again
        comes too late.
        """
        now = time.monotonic()
        if now - since >= LONG_HOLD and now >= self._stays_until:
            sched_yield()
            if time.monotonic() - now > LONG_ASIDE:
                self._stays_until = now + STAY_SECONDS

    def forget(self, hold: Hold, last: bool = True) -> None:
        holds = self.holds.get(hold.key[0], ())
        if hold not in holds:
            return
        if len(holds) == 1:
            del self.holds[hold.key[0]]
        else:
            self.holds[hold.key[0]].remove(hold)
        if last:
            for observer in self.observers:
                observer.on_exit(hold.first or hold)

    def held_by(self, lock: str, owner: object) -> Hold | None:
        """The newest hold of a task or thread."""
        return next((hold for hold in reversed(self.holds.get(lock, ())) if hold.key[1] is owner), None)

    async def room(self) -> None:
        """Wait while a peer is far behind: a request more would only make it worse."""
        while self.behind:
            await asyncio.sleep(0.01)
            self.check_usable()
            self.behind = {peer for peer in self.behind if self.transport.backlog(peer) > HIGH_WATER}

    def _instance(self, lock: str, capacity: int) -> Instance:
        """The one place where an instance of an algorithm begins, or wakes up."""
        instance = self._known(lock)
        if instance is None:
            return self._begin(lock, capacity, None)
        if instance.capacity != capacity:
            raise _mismatch(lock, instance.capacity, str(capacity))
        return instance

    def _known(self, lock: str) -> Instance | None:
        """A lock that this node has met; awake, if it was asleep."""
        if asleep := self.asleep.pop(lock, None):
            return self._begin(lock, asleep.capacity, asleep)
        return self.instances.get(lock)

    def _begin(self, lock: str, capacity: int, asleep: Asleep | None) -> Instance:
        if len(self.instances) >= self._most_awake:
            self._let_sleep()
        card = self._card_for(capacity)
        layout = Layout.of(lock, len(self.members), self.me, capacity)
        make_port = port_for(self.observers, lock)
        self.instances[lock] = instance = Instance(
            lock,
            card,
            layout,
            self._effects,
            self.epoch,
            counter_of(self.origin),
            self.locality,
            make_port,
            self._call_later,
            asleep,
        )
        return instance

    def _let_sleep(self) -> None:
        """Pack all locks that nobody here uses at this moment. What is in use may double before the next time."""
        for lock, instance in list(self.instances.items()):
            if asleep := instance.packed():
                self.asleep[lock] = asleep
                del self.instances[lock]
        self._most_awake = max(MOST_AWAKE, 2 * len(self.instances))

    def _card_for(self, capacity: int) -> Card:
        return self.lock_card if capacity == 1 else self.semaphore_card

    def _wake(self, lock: str, capacity: int) -> None:
        """Where an algorithm says something before anybody asks, all nodes must hear that the lock exists."""
        for host in range(len(self.members)):
            if host != self.me:
                envelope = Envelope(lock, capacity, self.epoch, 0, 0, 0, msgspec.Raw(WAKE))
                self._outgoing.append((host, envelope))
        self._flush_soon()

    def _later(self, delay: float, timeout: Callable[..., None], *args: Any) -> Cancellable:
        """As the loop's `call_later`, for instances: what they say then is sent."""
        return self.loop.call_later(delay, self._timed_out, timeout, args)

    def _timed_out(self, timeout: Callable[..., None], args: tuple[Any, ...]) -> None:
        try:
            timeout(*args)
        finally:
            self._rouse_soon()
            self._flush_soon()

    # Messages.

    def _flush_soon(self) -> None:
        if not (self._flushing or self._hearing):
            self._flushing = True
            assert self._loop
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """The end of a turn, or of what a peer has said."""
        self._flushing = False
        self._eager = EAGER
        if not self._closed and (self._outgoing or self._control):
            self._send_all()

    def _send_all(self) -> None:
        """One batch a peer for all that is to be said."""
        outgoing = self._outgoing
        if len(outgoing) == 1:  # the rule
            host, envelope = outgoing.pop()
            self._send(host, [envelope])
        elif outgoing:
            by_host: dict[int, list[Envelope]] = {}
            for host, envelope in outgoing:
                by_host.setdefault(host, []).append(envelope)
            outgoing.clear()
            for host, envelopes in by_host.items():
                for start in range(0, len(envelopes), MOST_ENVELOPES):
                    self._send(host, envelopes[start : start + MOST_ENVELOPES])
        if self._control:
            control_of, self._control = self._control, {}
            for peer, control in control_of.items():
                send = self._links[self._numbers[peer]]
                for each in control:
                    send([], [each])

    def _send(self, host: int, envelopes: list[Envelope]) -> None:
        try:
            backlog = self._links[host](envelopes, [])
        except (OverflowError, TypeError, ValueError) as error:
            self._send_what_can_be_sent(host, envelopes, error)
            return
        self.stats.messages_sent += len(envelopes)
        self.stats.batches_sent += 1
        if backlog > HIGH_WATER:
            self.behind.add(self.members[host])

    def _send_what_can_be_sent(self, host: int, envelopes: list[Envelope], error: Exception) -> None:
        """A peer that counts beyond all measure makes us say what cannot be written; that harms no other lock."""
        if len(envelopes) == 1:
            instance = self._known(envelopes[0].lock)
            if instance:
                instance.break_off(f"{self.name} cannot write a message to {self.members[host]}: {error!r}")
                self._rouse_soon()
            return
        for envelope in envelopes:
            self._send(host, [envelope])

    def _receive(self, peer: str, batches: list[Batch]) -> None:
        if self._closed:
            return
        self._hearing = True
        try:
            for batch in batches:
                self.stats.messages_received += len(batch.envelopes)
                for envelope in batch.envelopes:
                    self._take(peer, envelope)
                for said in batch.control:
                    self._heard(peer, said)
            self._hearing = False
            self._eager = EAGER
            if self._outgoing or self._control:
                self._send_all()
            while self._roused:  # those whom this has let in go on here and now: no task is running
                caller = self._roused.pop(0)
                if wake := caller.wake:
                    caller.context.run(wake, caller)
        except (KeyboardInterrupt, SystemExit) as leaving:
            self.loop.call_soon(_raise, leaving)  # uvloop would take what comes out of here for our failure
        finally:
            self._hearing = False
            if self._roused:
                self._rouse_soon()
            if self._outgoing or self._control:  # something failed before they were sent
                self._flush_soon()

    def _take(self, peer: str, envelope: Envelope) -> None:
        """One message of one lock."""
        if envelope.epoch != self.epoch:
            if not self.beginning.over:
                self.beginning.keep(peer, envelope)  # from one who knows already that all have met
            return  # of another company: whatever it was about is over
        try:
            instance = self.instances.get(envelope.lock)
            if instance is None or instance.capacity != envelope.capacity:
                instance = self._instance_for(peer, envelope)
            if len(envelope.body) > len(WAKE):  # or else all it says is that the lock exists
                instance.deliver(self._numbers.get(peer), envelope)
        except Exception as error:  # whatever a peer may say: the rest of the batch is still good
            what = "%s: a message of %s about %r was dropped: %r"
            log.error(what, self.name, peer, envelope.lock, error)

    def _rouse_soon(self) -> None:
        """Let those go on who need wait no longer, in the next turn of the loop."""
        callers = self._roused[:]
        self._roused.clear()
        for caller in callers:
            caller.wake_soon()

    def _instance_for(self, peer: str, envelope: Envelope) -> Instance:
        """Of a lock of which we hear for the first time, or with another capacity than ours."""
        if not 1 <= envelope.capacity <= self.most_permits:
            raise ProtocolError(f"a capacity of {envelope.capacity}, where {self.most_permits} is the most")
        try:
            return self._instance(envelope.lock, envelope.capacity)
        except ConfigMismatch as mismatch:
            instance = self.instances[envelope.lock]
            self._say(peer, Refusal(envelope.lock, instance.capacity))
            instance.fail(mismatch)
            raise

    # Questions.

    async def _ask(self, lock: str) -> dict[str, list[LocalView]]:
        self.check_usable()
        self.check_loop()
        self._question += 1
        number = self._question
        found = self._questions[number] = {self.name: self._views(lock)}
        done = self._answered[number] = asyncio.Event()
        asked = self.transport.connected() & self._numbers.keys()
        for peer in asked:
            self._say(peer, Question(number, lock))
        try:
            async with asyncio.timeout(ASK_SECONDS):
                while len(found) <= len(asked):
                    done.clear()
                    await done.wait()
        except TimeoutError:
            pass
        finally:
            del self._questions[number], self._answered[number]
            self._partial = {key: views for key, views in self._partial.items() if key[0] != number}
        return found

    def _say(self, peer: str, control: Control) -> None:
        self._control.setdefault(peer, []).append(control)
        self._flush_soon()

    def _heard(self, peer: str, said: Control) -> None:
        if isinstance(said, Question):
            self._answer(peer, said)
        elif isinstance(said, Refusal):
            self._refused(peer, said)
        elif isinstance(said, Muster):
            self.beginning.hear(peer, said)
        elif isinstance(said, Garbled):
            self._garbled(peer, said.lock)
        elif said.number in self._questions:
            views = self._partial.setdefault((said.number, peer), [])
            views += said.views
            if not said.more:
                self._questions[said.number][peer] = self._partial.pop((said.number, peer))
                self._answered[said.number].set()

    def _answer(self, peer: str, question: Question) -> None:
        views = self._views(question.lock)
        for start in range(0, max(1, len(views)), MOST_VIEWS):
            end = start + MOST_VIEWS
            self._say(peer, Answer(question.number, views[start:end], more=end < len(views)))

    def _refused(self, peer: str, refusal: Refusal) -> None:
        """Without that peer nobody here will be let in."""
        if instance := self._known(refusal.lock):
            instance.fail(_mismatch(refusal.lock, instance.capacity, f"{refusal.capacity} at {peer}"))

    def _garbled(self, peer: str, lock: str) -> None:
        """What was lost may have been a token: nobody may go on with this lock as if nothing had happened."""
        if instance := self._known(lock):
            instance.break_off(f"between {self.name!r} and {peer!r} something was said that cannot be read")
            self._rouse_soon()

    def _views(self, lock: str) -> list[LocalView]:
        """Of one lock (and the semaphore of that name), or of all that somebody here wants or has."""
        if not lock:
            return [self._view(name, each) for name, each in self.instances.items() if each.wanted]
        names = (f"lock:{lock}", f"semaphore:{lock}")
        return [self._view(name, instance) for name in names if (instance := self._known(name))]

    def _view(self, name: str, instance: Instance) -> LocalView:
        holds = self.holds.get(name, [])
        since = min((hold.since for hold in holds), default=None)
        held_for = None if since is None else time.monotonic() - since
        note = next((hold.note for hold in holds if hold.note), None)
        return LocalView(
            name, self.name, len(instance.inside), instance.waiting, instance.fence, held_for, note
        )


_ALL: WeakSet[Node] = WeakSet()


def _forked() -> None:
    """In the child of a fork no node is usable that was there before, and none of its connections is kept open.

    A socket that a child keeps would still seem alive when its node has gone. It is not closed but replaced: its number
    may not be used for another file while an object here believes that it is its own.
    """
    for node in _ALL:
        node.forked, node.usable = True, False
        with contextlib.suppress(OSError):
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in node.descriptors():
                os.dup2(nothing, number, inheritable=False)
            os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

_NODES: dict[str, Node] = {}
"""The nodes of this process, by name: what a pickled lock comes back to."""


def local_node(name: str) -> Node:
    try:
        return _NODES[name]
    except KeyError:
        raise NodeClosed(
            f"no node {name!r} runs in this process; start it before unpickling its locks"
        ) from None


def _raise(error: BaseException) -> None:
    raise error


def _mismatch(lock: str, here: int, there: str) -> ConfigMismatch:
    return ConfigMismatch(f"{lock!r} has a capacity of {here} here, not {there}", name=lock.partition(":")[2])


def _card(name: str, capacity: str) -> Card:
    card = find(name)
    if card.capacity != capacity:
        use = "semaphores" if card.capacity == "K" else "locks"
        raise UsageError(f"{name} is for {use}; choose another, `soloist algorithms` lists them")
    return card


__all__ = ["FENCE_BITS", "Inspection", "Node", "Stats"]
