"""One lock at one node: the algorithm's process, the local queue in front of it, and the fence.

The papers give each site one request at a time. A node has many callers; they queue here, first come first
served, and share the node's site. For a semaphore of K a node has K sites of its own, so that K of its callers
can be inside together; what these say to each other never leaves the node.

Nothing here waits: a grant and a message are effects handed to the node.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.core import IDLE, Message, Outbox, Port, Process, ProtocolError, Send, Site
from soloist.net.engine import registering
from soloist.net.engine.layout import Layout
from soloist.net.engine.sites import Asleep, decoder
from soloist.net.engine.ticket import FENCE_BITS, NEVER, Cancellable, Terms, Ticket
from soloist.net.errors import LockError
from soloist.net.link.wire import Envelope
from soloist.views import Holder

log = logging.getLogger("soloist.net")

COUNTERS = 1 << FENCE_BITS
ROUNDS = 100
"""Rounds per site, in which our own sites of a lock may answer each other within one step. Those of the papers come to rest
long before, unless a peer has told them what cannot be."""
ALONE = 1
"""Sites of a lock at a node. Where there is one, a look at it says whether to ask; of a semaphore's the idle ones are sought."""
CONTENDED = 8
"""Looks, before a lock that no peer has spoken of is taken for one that no peer wants."""
TIMER_UNIT = 0.005
"""Seconds. The papers' delays are in units of a message's way; this is a generous one."""


class Instance:
    """Our part of one lock, in one epoch."""

    withheld = False
    """Whether it is held for a node that is lost: nobody is let in in this epoch."""
    halted = False
    """Whether our sites are in a state that no paper knows; then they neither hear nor say anything. Only if it is `broken`."""

    def __init__(
        self,
        lock: str,
        card: Card,
        layout: Layout,
        terms: Terms,
        processes: Sequence[Process],
        counter: int = 0,
        make_port: Callable[[Process, Outbox], Port] = Port,
    ) -> None:
        self.lock, self.layout, self.counter = lock, layout, counter
        self.effects, self.epoch, self.locality, self.call_later, self.door, fences = terms
        self.capacity = layout.places
        self.least_fence = (fences or terms.epoch) << FENCE_BITS
        self.decode = decoder(card)
        self.out = Outbox(random.choice)
        self.ports = {process.me: make_port(process, self.out) for process in processes}
        self.first = next(iter(self.ports.values()))
        self.kept: Port | None = None
        """The site that was inside last, if it had nothing to say when it left: it may have a token still."""
        self.queue: list[Ticket] = []
        self.waiting = 0
        """Callers in the queue that have not withdrawn."""
        self.inside: dict[Site, Ticket] = {}
        self.opening = NEVER
        self.asking = 0
        """Sites that wait to be let in."""
        self.parked: list[Site] = []
        """Sites that are inside, while nobody may be let in by them: the door is closed."""
        self.registering: dict[Site, Ticket] = {}
        self.striking: dict[Site, Ticket] = {}
        """Sites that are inside, while voters are told of a hold that is to begin, or has ended."""
        self.unheard = 0
        """Entries since we last heard of this lock from a peer, or looked whether we would."""
        self.contended = 0
        """How often we shall still look closely, before we take it that no peer wants the lock."""
        self.look_after = 0.0
        """When we shall look again, once we have taken it that none does."""
        self.broken: Exception | None = None
        """Why nobody here will be let in any more."""
        self.timers: dict[tuple[Site, str], Cancellable] = {}
        self._inbox: list[tuple[Site, Site, Message]] = []

    def begin(self) -> None:
        """What sites have to say before anybody asks."""
        for port in self.ports.values():
            self._perform(port.begin())
        self._settle()

    def resume(self, sends: Sequence[Send], timers: Iterable[tuple[Site, str, float]]) -> None:
        """What our sites had under way when this epoch began, where an algorithm never rests."""
        self._perform(sends)
        for site, name, delay in timers:
            self._set_timer(site, name, delay)
        self._settle()

    def seat(self, site: Site, ticket: Ticket | None) -> None:
        """A hold that was carried over is inside at this site; if it has ended since, it goes in and out."""
        if ticket:
            ticket.site = site
            self.inside[site] = ticket
        else:
            self._leave(site)
            self._settle()

    def packed(self) -> Asleep | None:
        """For as long as nobody uses it. None if somebody does, or if there is more to remember."""
        if not self.idle or self.queue or self.timers or self.broken:
            return None
        snapshots = [port.process.snapshot() for port in self.ports.values()]
        layout = self.layout if self.layout.carried else None
        return Asleep(self.capacity, self.counter, msgspec.msgpack.encode(snapshots), layout)

    @property
    def fence(self) -> int:
        return self.least_fence | self.counter

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
            self._ask()
            if self._inbox or self.out.entered or self.out.timers:
                self._settle()
        except Exception as error:
            raise self._halt("a request", error) from error

    def withdraw(self, ticket: Ticket) -> None:
        """The caller has gone. If the request is under way, its grant will be given back at once."""
        if ticket.gone:
            return
        ticket.gone = True
        self.waiting -= 1
        registering.forgo(self, ticket)
        if len(self.queue) > 2 * self.waiting:  # callers that try again and again must not fill it
            self.queue = [each for each in self.queue if not each.gone]

    def release(self, ticket: Ticket) -> None:
        """The caller that was inside with it has left: the place goes to the next caller here, if it is their turn, or back to
        the algorithm."""
        ticket.released = True
        site = ticket.site
        del self.inside[site]
        if (door := self.door) is not None:
            opening = self.opening
            over = next(opening.clock) >= opening.ends
            if (over or (self.capacity > 1 and ticket.known)) and not door.leave(self, ticket):
                return  # this epoch is over: the next view says what becomes of the lock
            if ticket.delay is not None and ticket.registration:
                self.striking[site] = ticket
                return
        self.hand_on(site, ticket)

    def hand_on(self, site: Site, ticket: Ticket) -> None:
        if self.broken and self.halted:
            return
        try:
            passes_on = self.waiting and ticket.passed < self.locality and not self.withheld
            if not (passes_on and self._let_in(site, ticket.passed + 1)):
                self._leave(site)
            if self._inbox or self.out.entered or self.out.timers:
                self._settle()
        except Exception as error:  # the holder is not to blame
            self._halt("a release", error)

    def go_on(self) -> None:
        """The door is open again: those sites have waited for that."""
        parked, self.parked = self.parked, []
        try:
            for site in list(self.registering):
                self.heard_of(self.registering[site].registration)
            for site in parked:
                if not self._let_in(site):
                    self._leave(site)
            self._settle()
        except Exception as error:
            self._halt("an entry", error)

    def fail(self, error: Exception) -> None:
        """Nobody here will ever be let in: tell them, and all who come later."""
        self.broken = error
        told = registering.callers(self)
        for ticket in list(self.registering.values()):
            registering.forgo(self, ticket)
        self.stop()
        for ticket in told:
            ticket.gone, ticket.error = True, error
            self._rouse(ticket)

    def stop(self) -> list[Ticket]:
        """No timer rings any more. Gives those who wait, in order."""
        for timer in self.timers.values():
            timer.cancel()
        waiting = registering.callers(self)
        for ticket in self.registering.values():
            ticket.registration = None
        self.registering.clear()
        self.queue.clear()
        self.waiting = 0
        return waiting

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
        if self.broken and self.halted:
            return
        sender, to, counter, hosts = envelope.sender, envelope.to, envelope.counter, self.layout.hosts
        port = self.ports.get(to)
        if port is None or not 0 <= sender < len(hosts):
            raise ProtocolError(f"{self.lock!r}: site {to} is not here, or site {sender} is nowhere")
        if hosts[sender] != host:
            raise ProtocolError(f"{self.lock!r}: site {sender} is elsewhere")
        if not 0 <= counter < COUNTERS:
            raise ProtocolError(f"{self.lock!r}: a counter of {counter}")
        message = self.decode(envelope.body)
        self.unheard = 0
        self.contended = CONTENDED
        if counter > self.counter:
            self.counter = counter
        try:
            if sends := port.deliver(sender, message):
                self._perform(sends)
            if self._inbox or self.out.entered or self.out.timers:
                self._settle()
        except Exception as error:
            self._halt(f"{type(message).__name__} of site {sender}", error)

    # Inside.

    def _settle(self) -> None:
        """Let our own sites talk until they have nothing more to say to each other."""
        out, inbox = self.out, self._inbox
        rounds = left = 0
        while out.entered or inbox or out.timers:
            while out.timers:
                self._set_timer(*out.timers.pop(0))
            while out.entered:
                site = out.entered.pop(0)
                self.asking -= 1
                if not self._let_in(site):
                    self._leave(site)  # the caller has gone meanwhile
            if inbox:
                if not left:
                    rounds, left = rounds + 1, len(inbox)
                    if rounds > ROUNDS * self.layout.sites:
                        raise ProtocolError("our sites answer each other without end")
                left -= 1
                sender, to, message = inbox.pop(0)
                self._perform(self.ports[to].deliver(sender, message))

    def _perform(self, sends: Sequence[Send]) -> None:
        hosts, ports = self.layout.hosts, self.ports
        sites = len(hosts)
        for sender, addressees, message, _ in sends:
            for to in addressees:
                if to in ports:
                    self._inbox.append((sender, to, message))
                elif not 0 <= to < sites:
                    self.break_off(f"a peer spoke of site {to}, and there are {sites}")
                else:
                    body: Any = message  # see `Envelope.body`
                    envelope = Envelope(self.lock, self.capacity, self.epoch, self.counter, sender, to, body)
                    self.effects.sends.append((hosts[to], envelope))

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
        """The caller that has waited longest, if there is one still, gets the place that this site of ours has.

        The only place where callers are let in.
        """
        queue = self.queue
        while queue:
            ticket = queue[0]
            future = ticket.future
            if ticket.gone or (future and future.cancelled()):
                queue.pop(0)
                self.waiting -= not ticket.gone
                ticket.gone = True
                continue
            counter = self.counter + 1
            ticket.site, ticket.fence = site, self.least_fence | counter
            if self.capacity > 1:
                ticket.slot = self.ports[site].process.slot()
            if ticket.delay is not None and self.door:
                ticket.passed = passed
                registering.register(self, site, ticket)
                return True
            self.inside[site] = ticket
            if (door := self.door) is not None:
                opening = self.opening
                if (now := next(opening.clock)) < opening.ends:
                    ticket.entered = now
                elif not door.enter(self, ticket):
                    ticket.fence = 0
                    self.parked.append(site)
                    return True
            queue.pop(0)
            ticket.gone = True
            ticket.passed = passed
            self.waiting -= 1
            if queue and not self.waiting:
                queue.clear()
            self.counter = counter
            self.unheard += 1
            if future:
                self._rouse(ticket)
            return True
        return False

    def heard_of(self, hold: Holder | None) -> None:
        """Voters know of a hold that is to begin, or that has ended."""
        if hold and (ticket := registering.heard(self, hold)):
            self._rouse(ticket)

    def _rouse(self, ticket: Ticket) -> None:
        if ticket.future and not ticket.future.done():
            ticket.future.set_result(None)
            self.effects.roused.append(ticket.future)

    def _leave(self, site: Site) -> None:
        port = self.kept = self.ports[site]
        if sends := port.release():
            self.kept = None
            self._perform(sends)
        if self.waiting:
            self._ask()

    def _ask(self) -> None:
        """Let as many idle sites ask as there are callers that no asking site stands for."""
        if self.withheld:
            return
        if self.capacity == ALONE:  # a site that is alone and idle is not asking, and not parked
            if self.waiting and self.first.process.phase is IDLE:
                self.asking += 1
                if sends := self.first.acquire():
                    self._perform(sends)
            return
        wanted = self.waiting - self.asking - len(self.parked) - len(self.registering)
        if wanted <= 0:
            return
        idle = [port for port in self.ports.values() if port.process.phase is IDLE]
        random.shuffle(idle)  # or all nodes would crowd into one group, where an algorithm forms groups
        idle.sort(key=lambda port: port is not self.kept)
        for port in idle[:wanted]:
            self.asking += 1
            self._perform(port.acquire())
