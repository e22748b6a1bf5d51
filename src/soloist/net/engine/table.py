"""All locks that a node has met: awake, packed, and held; and the view that they belong to."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from soloist.algorithms import Card
from soloist.core import Process, Send
from soloist.net.cards import of_view
from soloist.net.engine import withheld
from soloist.net.engine.holdings import Holdings
from soloist.net.engine.instance import Instance
from soloist.net.engine.layout import Layout
from soloist.net.engine.registering import callers
from soloist.net.engine.sites import Asleep, fresh
from soloist.net.engine.ticket import Caller, CallLater, Door, Effects, Terms, Ticket
from soloist.net.errors import ConfigMismatch
from soloist.net.link.wire import LockState
from soloist.net.telemetry.observer import port_for, tell_of_lock
from soloist.views import Holder, View

if TYPE_CHECKING:
    from soloist.views.carry import Carried

MOST_SITES = 2000
"""Sites of one semaphore, over all nodes: each permit is a site at every node, and each site keeps something of all others."""
MOST_AWAKE = 1000
"""Locks that are kept ready for use before those that nobody uses are packed."""
MOST_ASLEEP = 100_000
"""Names that are kept packed before the next view is asked for, with which those vanish that nobody uses."""


class Table(Holdings):
    """Our part of every lock, by its instance's name."""

    door: Door | None = None
    view: View
    """Who is a member, in which epoch, and what was held when it began. Once it has."""
    terms: Terms

    def __init__(
        self,
        node: str,
        members: Collection[str],
        cards: tuple[Card, Card],
        locality: int,
        effects: Effects,
        call_later: CallLater,
    ) -> None:
        super().__init__()
        self.node, self.cards, self.locality = node, cards, locality
        self.effects, self.call_later = effects, call_later
        self.epoch = 0
        """Of the view; 0 while there is none."""
        self.names = sorted(members)
        """Of the members. A node's number is its place here."""
        self.me = self.names.index(node)
        self.instances: dict[str, Instance] = {}
        self.asleep: dict[str, Asleep] = {}
        """Locks that were not in use when there were many."""
        self.held: dict[str, list[Holder]] = {}
        """Locks that were held when the epoch began, and have not been met in it."""
        self.abandoned: set[tuple[str, int]] = set()
        """Registered holds of ours that were lost, by lock and fence."""
        self._hosts: dict[str, str] = {}
        """The names of the members, by incarnation."""
        self._seated: dict[tuple[str, int], Ticket] = {}
        """Those of our callers who were inside then, by lock and fence."""
        self._most_awake = MOST_AWAKE
        self.crowded: Callable[[], None] = lambda: None
        """Called when too many names are packed; and again, while there are."""

    @property
    def most_permits(self) -> int:
        """The largest value of a semaphore."""
        return max(1, MOST_SITES // len(self.names))

    @property
    def several(self) -> str:
        return self.cards[1].name

    @property
    def prompt(self) -> bool:
        return self.cards[1].prompt

    # From view to view.

    def wedge(self) -> tuple[list[Caller], list[Caller]]:
        """The epoch is over, and so are all instances. Gives those who wait, in order, and those who are inside."""
        waiting, inside = [], []
        for lock, instance in self.instances.items():
            waiting += [Caller(lock, instance.capacity, ticket) for ticket in instance.stop()]
            inside += [Caller(lock, instance.capacity, ticket) for ticket in instance.inside.values()]
        self.instances.clear()
        self.asleep.clear()
        return waiting, inside

    def give_up_waiting(self) -> list[Caller]:
        """Those who wait, who do so no longer: somebody will tell them why."""
        found = []
        for lock, instance in self.instances.items():
            for ticket in callers(instance):
                instance.withdraw(ticket)
                found.append(Caller(lock, instance.capacity, ticket))
        return found

    def activate(self, view: View, inside: Iterable[Caller] = ()) -> None:
        """From now on there are locks, and these are the members. Those are inside whose holds it carries over."""
        self.view, self.epoch, self.cards = view, view.epoch, of_view(view, self.cards)
        self.names = sorted(member.name for member in view.members)
        self.me = self.names.index(self.node)
        self.terms = Terms(
            self.effects, view.epoch, self.locality, self.call_later, self.door, view.fence_epoch
        )
        self._hosts = {member.incarnation: member.name for member in view.members}
        self.held, self.withheld = by_lock(view.holders), withheld.by_lock(view.withheld)
        self.abandoned &= {(each.hold.lock, each.hold.fence) for each in view.registered}
        self._seated = {(lock, ticket.fence): ticket for lock, _, ticket in inside if not ticket.released}
        for lock in list(self.held):
            if any(map(self._ours, self.held[lock])) or self._start(lock).busy:
                self._carry_over(lock)

    def card_for(self, capacity: int) -> Card:
        lock, semaphore = self.cards
        return lock if capacity == 1 else semaphore

    def instance(self, lock: str, capacity: int) -> Instance:
        """Where an instance of an algorithm begins, or wakes up."""
        instance = self.known(lock)
        if instance is None:
            return self._begin(lock, capacity, None)
        if instance.capacity != capacity:
            raise mismatch(lock, instance.capacity, str(capacity))
        return instance

    def known(self, lock: str) -> Instance | None:
        """A lock that this node has met; awake, if it was asleep."""
        if asleep := self.asleep.pop(lock, None):
            return self._begin(lock, asleep.capacity, asleep)
        return self._carry_over(lock) if lock in self.held else self.instances.get(lock)

    def _ours(self, hold: Holder) -> bool:
        return self._hosts[hold.incarnation] == self.node

    def _start(self, lock: str) -> Carried:
        """How a held lock begins: the same at all nodes."""
        from soloist.views.carry import carry  # after a change of view, which most programs never see

        holds = self.held[lock]
        holders = [(self._hosts[hold.incarnation], hold.slot if hold.slot >= 0 else None) for hold in holds]
        return carry(self.card_for(holds[0].size), self.names, holders, holds[0].size)

    def _carry_over(self, lock: str) -> Instance:
        """Our part of a lock that was held when this epoch began: everybody begins it with its holders inside."""
        start, holds = self._start(lock), self.held.pop(lock)
        capacity = holds[0].size
        hosts = tuple(map(self.names.index, start.hosts))
        layout = Layout.seated(hosts, self.me, capacity)
        mail = start.mail(self.node)
        card, counter = self.card_for(capacity), self.view.counter
        instance = self._awake(lock, card, layout, start.processes(self.node), counter, mail)
        instance.resume(mail, start.timers(self.node))
        for hold, site in zip(holds, start.seats, strict=True):
            if self._ours(hold) and (lock, hold.fence) not in self.abandoned:
                instance.seat(site, self._seated.pop((lock, hold.fence), None))
        return instance

    def _begin(self, lock: str, capacity: int, asleep: Asleep | None) -> Instance:
        card, layout = self.card_for(capacity), Layout.of(lock, len(self.names), self.me, capacity)
        if asleep:
            layout = asleep.layout or layout
            return self._awake(lock, card, layout, asleep.processes(card), asleep.counter)
        instance = self._awake(lock, card, layout, fresh(card, layout), self.view.counter)
        if not instance.withheld:
            instance.begin()
        return instance

    def _awake(
        self,
        lock: str,
        card: Card,
        layout: Layout,
        processes: Sequence[Process],
        counter: int,
        mail: Sequence[Send] = (),
    ) -> Instance:
        """The one place where an instance is made."""
        if self.observers:
            hosts = [self.names[host] for host in layout.hosts]
            tell_of_lock(self.observers, lock, self.epoch, card, layout.places, hosts, processes, mail)
        if len(self.instances) >= self._most_awake:
            self._let_sleep()
        self.instances[lock] = instance = Instance(
            lock, card, layout, self.terms, processes, counter, port_for(self.observers, lock)
        )
        instance.withheld = lock in self.withheld
        return instance

    def _let_sleep(self) -> None:
        """Pack all locks that nobody here uses at this moment. What is in use may double before the next time."""
        for lock, instance in list(self.instances.items()):
            if asleep := instance.packed():
                self.asleep[lock] = asleep
                del self.instances[lock]
        self._most_awake = max(MOST_AWAKE, 2 * len(self.instances))
        if len(self.asleep) > MOST_ASLEEP:
            self.crowded()

    # Who has what.

    @property
    def counted(self) -> int:
        """What no fence that was given or heard of here counts beyond, in this view."""
        awake = [instance.counter for instance in self.instances.values()]
        return max([self.view.counter, *awake, *(asleep.counter for asleep in self.asleep.values())])

    def inside(self, lock: str) -> int:
        """How many permits are out at this node."""
        instance = self.instances.get(lock)
        return len(instance.inside) if instance else 0

    def known_of(self, lock: str) -> list[LockState]:
        """Of one lock (and the semaphore of that name), or of all that somebody here wants or has."""
        names = [f"lock:{lock}", f"semaphore:{lock}"] if lock else list(self.withheld)
        lost = [state for name in names for state in withheld.states(self.withheld.get(name, ()))]
        if not lock:
            return [*lost, *(self._seen(name, each) for name, each in self.instances.items() if each.wanted)]
        return [*lost, *(self._seen(name, known) for name in names if (known := self.known(name)))]

    def _seen(self, name: str, instance: Instance) -> LockState:
        holds = self.holds.get(name, [])
        since = min((hold.since for hold in holds), default=None)
        held_for = None if since is None else time.monotonic() - since
        note = next((hold.note for hold in holds if hold.note), None)
        inside = len(instance.inside)
        return LockState(name, self.node, inside, instance.waiting, instance.fence, held_for, note)


def by_lock(holders: Iterable[Holder]) -> dict[str, list[Holder]]:
    found: dict[str, list[Holder]] = {}
    for hold in holders:
        found.setdefault(hold.lock, []).append(hold)
    return found


def mismatch(lock: str, here: int, there: str) -> ConfigMismatch:
    return ConfigMismatch(f"{lock!r} has a capacity of {here} here, not {there}", name=lock.partition(":")[2])
