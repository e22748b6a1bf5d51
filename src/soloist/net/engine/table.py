"""All locks that a node has met: awake, packed, and held."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soloist.algorithms import Card
from soloist.net.engine.instance import Asleep, CallLater, Effects, Instance
from soloist.net.engine.layout import Layout
from soloist.net.errors import ConfigMismatch
from soloist.net.link.wire import LocalView
from soloist.net.member.origin import counter_of, epoch_of
from soloist.net.telemetry.observer import Observer, port_for

if TYPE_CHECKING:
    from soloist.net.hold import Hold

MOST_SITES = 2000
"""Of one semaphore, over all nodes: each permit is a site at every node, and each site keeps something of all others."""
MOST_AWAKE = 1000
"""Locks that are kept ready for use before those that nobody uses are packed."""


class Table:
    """Our part of every lock, by its instance's name."""

    def __init__(
        self,
        members: Sequence[str],
        me: int,
        cards: tuple[Card, Card],
        locality: int,
        effects: Effects,
        call_later: CallLater,
    ) -> None:
        self.members, self.me, self.cards, self.locality = members, me, cards, locality
        self.effects, self.call_later = effects, call_later
        self.observers: list[Observer] = []
        self.origin = self.epoch = 0
        """Once the cluster has begun: the fence that is below all others, and the first half of them all."""
        self.instances: dict[str, Instance] = {}
        self.asleep: dict[str, Asleep] = {}
        """Locks that were not in use when there were many."""
        self.holds: dict[str, list[Hold]] = {}
        """Live holds by instance."""
        self.most_permits = max(1, MOST_SITES // len(members))
        """The largest value of a semaphore."""
        self._most_awake = MOST_AWAKE

    def activate(self, origin: int) -> None:
        """From now on there are locks."""
        self.origin, self.epoch = origin, epoch_of(origin)

    def card_for(self, capacity: int) -> Card:
        lock, semaphore = self.cards
        return lock if capacity == 1 else semaphore

    def instance(self, lock: str, capacity: int) -> Instance:
        """The one place where an instance of an algorithm begins, or wakes up."""
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
        return self.instances.get(lock)

    def _begin(self, lock: str, capacity: int, asleep: Asleep | None) -> Instance:
        if len(self.instances) >= self._most_awake:
            self._let_sleep()
        self.instances[lock] = instance = Instance(
            lock,
            self.card_for(capacity),
            Layout.of(lock, len(self.members), self.me, capacity),
            self.effects,
            self.epoch,
            counter_of(self.origin),
            self.locality,
            port_for(self.observers, lock),
            self.call_later,
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

    # Who has what.

    def inside(self, lock: str) -> int:
        """How many permits are out at this node."""
        instance = self.instances.get(lock)
        return len(instance.inside) if instance else 0

    def held_by(self, lock: str, owner: object) -> Hold | None:
        """The newest hold of a task or thread."""
        return next((hold for hold in reversed(self.holds.get(lock, ())) if hold.key[1] is owner), None)

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

    def known_of(self, lock: str) -> list[LocalView]:
        """Of one lock (and the semaphore of that name), or of all that somebody here wants or has."""
        if not lock:
            return [self._seen(name, each) for name, each in self.instances.items() if each.wanted]
        names = (f"lock:{lock}", f"semaphore:{lock}")
        return [self._seen(name, instance) for name in names if (instance := self.known(name))]

    def _seen(self, name: str, instance: Instance) -> LocalView:
        holds = self.holds.get(name, [])
        since = min((hold.since for hold in holds), default=None)
        held_for = None if since is None else time.monotonic() - since
        note = next((hold.note for hold in holds if hold.note), None)
        here, inside = self.members[self.me], len(instance.inside)
        return LocalView(name, here, inside, instance.waiting, instance.fence, held_for, note)


def mismatch(lock: str, here: int, there: str) -> ConfigMismatch:
    return ConfigMismatch(f"{lock!r} has a capacity of {here} here, not {there}", name=lock.partition(":")[2])
