"""One lock at one node: the algorithm's process, the local queue in front of it, and the fence.

The papers give each site one request at a time. A node has many callers; they queue here, first come first
served, and share the node's site. For a semaphore of K a node has K sites of its own, so that K of its callers
can be inside together; what these say to each other never leaves the node.

Nothing here waits: a grant and a message are effects handed to the node.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from functools import cache, reduce
from operator import or_
from typing import Any, Protocol

import msgspec

from soloist.algorithms import Card, Size
from soloist.core import IDLE, Message, Outbox, Port, Process, ProtocolError, Send, Site
from soloist.net.engine.layout import Layout
from soloist.net.engine.summons import Summons
from soloist.net.errors import LockError
from soloist.net.link.wire import Envelope

log = logging.getLogger("soloist.net")

FENCE_BITS = 40
"""fence = epoch << 40 | counter: below 2^63, and a new epoch is above all that was before."""
COUNTERS = 1 << FENCE_BITS


class Ticket:
    """A caller: first in the local queue, then inside.

    It is let in or failed, once, unless it is withdrawn before. Where it is let in at once, no future is made.
    """

    gone = False
    """Let in, failed or withdrawn: no longer waiting."""
    error: Exception | None = None
    """Why it failed."""
    future: Summons | None = None
    """What the caller awaits. If that is cancelled, though the caller has not run since, it is not let in."""
    fence = 0
    """Not 0 once it is let in."""
    site: Site = -1
    """By which of our sites."""
    slot: int | None = None
    """Which of the K places it has, where the algorithm tells them apart."""
    passed = 0
    """How often in a row the site's place has been passed on from caller to caller."""
    released = False
    shares = 1
    """How many holds of it its holder has: a reentrant lock may be taken again."""

    def fail(self, error: Exception) -> None:
        """It will never be let in, and is told so in the next turn of the loop."""
        self.gone, self.error = True, error
        if self.future and not self.future.done():
            self.future.set_result(None)
            self.future.wake_soon()


class Effects:
    """What instances want done by their node, which looks here after each step of one. Always the same lists."""

    def __init__(self) -> None:
        self.sends: list[tuple[int, Envelope]] = []
        """Messages, with the number of the node that each is for."""
        self.roused: list[Summons] = []
        """Callers that need wait no longer, and have not been told."""


class Cancellable(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[..., Cancellable]
"""As the event loop's `call_later`."""

CONTENDED = 8
TIMER_UNIT = 0.005
"""Seconds. The papers' delays are in units of a message's way; this is a generous one."""


@cache
def _size(card: Card, sites: int, capacity: int) -> Size:
    return card.size(sites, capacity if card.capacity == "K" else 1)


@cache
def begins(card: Card) -> bool:
    """Whether the algorithm has something to say before anybody asks."""
    return card.process.begin is not Process.begin


@cache
def decoder(card: Card) -> Callable[[msgspec.Raw], Message]:
    decode: Callable[[Any], Message] = msgspec.msgpack.Decoder(reduce(or_, card.process.handlers)).decode
    return decode


class Asleep(msgspec.Struct, frozen=True, gc=False):
    """Our part of a lock that nobody here uses, packed: about a sixth of what it is awake."""

    capacity: int
    counter: int
    snapshots: bytes
    """Of its sites, one after the other, as msgpack."""


class Instance:
    """Our part of one lock."""

    def __init__(
        self,
        lock: str,
        card: Card,
        layout: Layout,
        effects: Effects,
        epoch: int = 0,
        counter: int = 0,
        locality: int = 1,
        make_port: Callable[[Process, Outbox], Port] = Port,
        call_later: CallLater | None = None,
        asleep: Asleep | None = None,
    ) -> None:
        self.lock, self.card, self.layout, self.epoch, self.locality = lock, card, layout, epoch, locality
        self.capacity = layout.places
        self.effects = effects
        self.decode = decoder(card)
        self.out = Outbox(random.choice)
        self.ports = {process.me: make_port(process, self.out) for process in self._processes(asleep)}
        self.watched = make_port is not Port
        self.first = next(iter(self.ports.values()))
        self.kept: Port | None = None
        """The site that was inside last, if it had nothing to say when it left: it may have a token still."""
        self.counter = asleep.counter if asleep else counter
        self.queue: list[Ticket] = []
        self.waiting = 0
        """Callers in the queue that have not withdrawn."""
        self.inside: dict[Site, Ticket] = {}
        self.asking = 0
        """Sites that wait to be let in."""
        self.entries = 0
        self.unheard = 0
        """Entries since we last heard of this lock from a peer, or looked whether we would."""
        self.contended = 0
        """How often we shall still look closely, before we take it that no peer wants the lock."""
        self.broken: Exception | None = None
        """Why nobody here will be let in any more."""
        self.halted = False
        """Whether our sites are in a state that no paper knows; then they neither hear nor say anything."""
        self.call_later = call_later
        self.timers: dict[tuple[Site, str], Cancellable] = {}
        self._inbox: list[tuple[Site, Site, Message]] = []
        if asleep is None:
            for port in self.ports.values():
                self._perform(port.begin())
            self._settle()

    def _processes(self, asleep: Asleep | None) -> list[Process]:
        if asleep:
            snapshots = msgspec.msgpack.decode(asleep.snapshots, type=list[bytes])
            return [self.card.process.restore(snapshot) for snapshot in snapshots]
        size = _size(self.card, self.layout.sites, self.layout.places)
        return [self.card.start_one(size, site) for site in self.layout.mine()]

    def packed(self) -> Asleep | None:
        """For as long as nobody uses it. None if somebody does, or if there is more to remember."""
        if not self.idle or self.queue or self.timers or self.broken:
            return None
        snapshots = [port.process.snapshot() for port in self.ports.values()]
        return Asleep(self.capacity, self.counter, msgspec.msgpack.encode(snapshots))

    @property
    def fence(self) -> int:
        return self.epoch << FENCE_BITS | self.counter

    @property
    def wanted(self) -> bool:
        """Whether somebody here waits or is inside."""
        return bool(self.waiting or self.inside)

    @property
    def idle(self) -> bool:
        """Whether nobody here wants or has anything."""
        return not self.waiting and all(port.process.phase is IDLE for port in self.ports.values())

    # What callers do.

    def request(self, ticket: Ticket) -> None:
        if self.broken:
            raise self.broken
        self.queue.append(ticket)
        self.waiting += 1
        try:
            if self.capacity > 1:
                self._ask()
            elif self.first.process.phase is IDLE:  # as there
                self.asking += 1
                if sends := self.first.acquire():
                    self._perform(sends)
            if self.out.entered or self._inbox or self.out.timers:
                self._settle()
        except Exception as error:
            raise self._halt("a request", error) from error

    def withdraw(self, ticket: Ticket) -> None:
        """The caller has gone. If the request is under way, its grant will be given back at once."""
        if ticket.gone:
            return
        ticket.gone = True
        self.waiting -= 1
        if len(self.queue) > 2 * self.waiting:  # whoever tries again and again must not fill it
            self.queue = [each for each in self.queue if not each.gone]

    def release(self, ticket: Ticket) -> None:
        if ticket.released:
            return
        ticket.released = True
        site = ticket.site
        del self.inside[site]
        if self.halted:
            return
        try:
            if (
                not self.waiting
                or ticket.passed >= self.locality
                or not self._let_in(site, ticket.passed + 1)
            ):
                port = self.kept = self.ports[site]  # as `_leave`
                if self.watched:
                    sends = port.release()
                else:
                    process, out = port.process, self.out
                    process.phase = IDLE
                    process.release()
                    sends, out.sends = out.sends, []
                if sends:
                    self.kept = None
                    self._perform(sends)
                if self.waiting:
                    self._ask()
            if self._inbox or self.out.entered or self.out.timers:
                self._settle()
        except Exception as error:  # the holder is not to blame
            self._halt("a release", error)

    def fail(self, error: Exception) -> None:
        """Nobody here will ever be let in: tell them, and whoever comes later."""
        self.broken = error
        for timer in self.timers.values():
            timer.cancel()
        for ticket in self.queue:
            if not ticket.gone:
                ticket.gone, ticket.error = True, error
                self._rouse(ticket)
        self.queue.clear()
        self.waiting = 0

    def break_off(self, why: str) -> LockError:
        """Something of this lock, a token perhaps, is lost. Callers are told; no other lock is harmed."""
        name = self.lock.partition(":")[2]
        log.error("%r is broken: %s", name, why)
        error = LockError(f"{name!r} is broken: {why}", name=name)
        self.fail(error)
        return error

    def _halt(self, what: str, error: Exception) -> LockError:
        """A step has ended half-way: in this state no proof speaks of our sites, so nothing more is done with them."""
        self.halted = True
        for left in (self.out.sends, self.out.entered, self.out.timers, self._inbox):
            left.clear()
        return self.break_off(f"{what} failed half-way: {error!r}")

    # What peers do.

    def deliver(self, host: int | None, envelope: Envelope) -> None:
        """What a node, given by its number, has said to one of our sites. What cannot be said is dropped; what fails
        while our site deals with it breaks the lock."""
        if self.halted:
            return
        sender, to, counter, layout = envelope.sender, envelope.to, envelope.counter, self.layout
        port = self.ports.get(to)
        if port is None or not 0 <= sender < layout.sites:
            raise ProtocolError(f"{self.lock!r}: site {to} is not here, or site {sender} is nowhere")
        if layout.hosts[sender // layout.places] != host:
            raise ProtocolError(f"{self.lock!r}: site {sender} is elsewhere")
        if not 0 <= counter < COUNTERS:
            raise ProtocolError(f"{self.lock!r}: a counter of {counter}")
        message = self.decode(envelope.body)
        self.unheard = 0
        self.contended = CONTENDED
        if counter > self.counter:
            self.counter = counter
        out = self.out
        try:
            if self.watched:
                sends = port.deliver(sender, message)
            else:  # as there, but for a call; the decoder knows no kinds of messages but those that are handled
                port.handlers[type(message)](port.process, sender, message)
                sends, out.sends = out.sends, []
            if sends:
                self._perform(sends)
            if self.capacity > 1 or self._inbox or out.timers:
                self._settle()
            elif out.entered:  # as there
                self.asking -= 1
                if not self._let_in(out.entered.pop()):
                    self._leave(to)
                    self._settle()
        except Exception as error:
            self._halt(f"{type(message).__name__} of site {sender}", error)

    # Inside.

    def _settle(self) -> None:
        """Let our own sites talk until they have nothing more to say to each other."""
        out, inbox = self.out, self._inbox
        while inbox or out.entered or out.timers:
            while out.timers:
                self._set_timer(*out.timers.pop(0))
            while out.entered:
                site = out.entered.pop(0)
                self.asking -= 1
                if not self._let_in(site):
                    self._leave(site)  # whoever asked has gone meanwhile
            if inbox:
                sender, to, message = inbox.pop(0)
                self._perform(self.ports[to].deliver(sender, message))

    def _perform(self, sends: Sequence[Send]) -> None:
        hosts, places, sites = self.layout.hosts, self.capacity, self.layout.sites
        for sender, addressees, message, _ in sends:
            for to in addressees:
                if to in self.ports:
                    self._inbox.append((sender, to, message))
                elif not 0 <= to < sites:
                    self.break_off(f"a peer spoke of site {to}, and there are {sites}")
                else:
                    body: Any = message  # see there
                    envelope = Envelope(self.lock, places, self.epoch, self.counter, sender, to, body)
                    self.effects.sends.append((hosts[to // places], envelope))

    def _set_timer(self, site: Site, name: str, delay: float | None) -> None:
        if earlier := self.timers.pop((site, name), None):
            earlier.cancel()
        if delay is not None and self.call_later:
            self.timers[site, name] = self.call_later(delay * TIMER_UNIT, self._timeout, site, name)

    def _timeout(self, site: Site, name: str) -> None:
        del self.timers[site, name]
        try:
            self._perform(self.ports[site].timeout(name))
            self._settle()
        except Exception as error:
            self._halt(f"the timer {name!r}", error)

    def _let_in(self, site: Site, passed: int = 0) -> bool:
        """Whoever has waited longest, if there is somebody still, gets the place that this site of ours has."""
        queue = self.queue
        while queue:
            ticket = queue.pop(0)
            if ticket.gone:
                continue
            ticket.gone = True
            self.waiting -= 1
            if not self.waiting:
                queue.clear()
            if (future := ticket.future) and future.cancelled():
                continue
            self.counter += 1
            self.entries += 1
            self.unheard += 1
            ticket.site, ticket.fence = site, self.epoch << FENCE_BITS | self.counter
            if passed:
                ticket.passed = passed
            if self.capacity > 1:
                ticket.slot = self.ports[site].process.slot()
            self.inside[site] = ticket
            if future:  # as `_rouse`
                future.set_result(None)
                self.effects.roused.append(future)
            return True
        return False

    def _rouse(self, ticket: Ticket) -> None:
        if ticket.future and not ticket.future.done():
            ticket.future.set_result(None)
            self.effects.roused.append(ticket.future)

    def _leave(self, site: Site) -> None:
        self.kept = self.ports[site]
        if sends := self.kept.release():
            self.kept = None
            self._perform(sends)
        if self.waiting:
            self._ask()

    def _ask(self) -> None:
        """Let as many idle sites ask as there are callers that no asking site stands for."""
        wanted = self.waiting - self.asking
        if wanted <= 0:
            return
        if self.capacity == 1:
            if self.first.process.phase is IDLE:
                self.asking += 1
                if sends := self.first.acquire():
                    self._perform(sends)
            return
        idle = [port for port in self.ports.values() if port.process.phase is IDLE]
        random.shuffle(idle)  # or all nodes would crowd into one group, where an algorithm forms groups
        idle.sort(key=lambda port: port is not self.kept)
        for port in idle[:wanted]:
            self.asking += 1
            self._perform(port.acquire())
