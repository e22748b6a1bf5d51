"""Carrying holders over: who hosts which site of a held lock in a new epoch, and how its sites start.

Which node hosts which site is free in a new epoch, so the holders get the sites at which the canonical prefix (`prefix`)
has them inside: for a lock that is site 0, for slot s site s. The other sites are dealt to the nodes in order. Everybody who
knows the view comes to the same answer, without a message.

What a node does with it, for each lock of the view that is held (a lock that is not starts as ever, when it is wanted):

- its sites are `sites(node)`, and `hosts` says where all the others are;
- their processes are the copies `processes(node)`. begin() has been called: calling it once more would make a second token;
- it sends what is in `mail(node)`, and sets what is in `timers(node)`: nothing, unless the algorithm never rests;
- the hold that was `holders[i]` is inside at `seats[i]`. One that has ended since it was reported leaves at once.

Fences: a carried hold keeps the one that it has. All nodes start the lock's counter for the new epoch at `starting_counter`,
which is 0: fences of this epoch are above all of earlier ones whatever the counter is, and nobody has entered in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.core import Process, Send, Site, UsageError
from soloist.views.prefix import Prefix, Slots, prefix
from soloist.views.view import fence

Holder = tuple[str, int | None]
"""The node of a hold, and its slot (None where the algorithm does not tell them apart)."""


class Carried(msgspec.Struct, frozen=True):
    """The start of a held lock in a new epoch."""

    hosts: tuple[str, ...]
    """The node of each site: as many sites for each as the lock has places."""
    seats: tuple[Site, ...]
    """The site at which each holder is inside, in the order in which they were given."""
    prefix: Prefix

    @property
    def busy(self) -> bool:
        """Whether something is under way: then every node must begin the lock at once, whether it is wanted there or not."""
        return bool(self.prefix.mail or self.prefix.timers)

    def sites(self, node: str) -> list[Site]:
        return [site for site, host in enumerate(self.hosts) if host == node]

    def processes(self, node: str) -> list[Process]:
        """Copies of the processes of a node's sites, each with an outbox of its own until a port gives it another."""
        return [self.prefix.process(site) for site in self.sites(node)]

    def mail(self, node: str) -> list[Send]:
        """What a node has to send, its own other sites included: in this order, before anything else."""
        return [
            (flight.sender, (flight.to,), flight.message, -1)
            for flight in self.prefix.mail
            if self.hosts[flight.sender] == node
        ]

    def timers(self, node: str) -> list[tuple[Site, str, float]]:
        """The timers that a node has to set, with their delays from now."""
        return [timer for timer in self.prefix.timers if self.hosts[timer[0]] == node]


def carry(
    card: Card,
    nodes: Sequence[str],
    holders: Sequence[Holder],
    capacity: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Carried:
    """How a lock that is held starts in the new epoch. The order of nodes and holders makes no difference to others."""
    return _carry(
        card, tuple(sorted(nodes)), tuple(holders), capacity, tuple(sorted((options or {}).items()))
    )


@lru_cache(maxsize=4096)
def _carry(
    card: Card,
    members: tuple[str, ...],
    holders: tuple[Holder, ...],
    capacity: int,
    options: tuple[tuple[str, Any], ...],
) -> Carried:
    """Held locks may be many, and differ in little."""
    slots = _slots(card, members, holders, capacity)
    order = sorted(range(len(holders)), key=lambda i: (slots[i] or 0, holders[i][0]))
    start = prefix(card, len(members) * capacity, capacity, [slots[i] for i in order], dict(options))
    seats = dict(zip(order, start.holders, strict=True))
    taken = {site: holders[i][0] for i, site in seats.items()}
    return Carried(_deal(members, taken, capacity), tuple(seats[i] for i in range(len(holders))), start)


def starting_counter(epoch: int, fences: Iterable[int]) -> int:
    """With which all nodes start counting the entries of a lock in an epoch, given the fences of the holds carried over.

    The first entry of the epoch has a fence of `fence(epoch, 1)` (unless the view says that fences go on, `View.fences`). A site that enters after another in this epoch has
    heard of it, and counts on from there.
    """
    for each in fences:
        if each >= fence(epoch, 0):
            raise UsageError(
                f"a hold carried into epoch {epoch} has fence {each}, which is not of an earlier one"
            )
    return 0


def _slots(card: Card, members: tuple[str, ...], holders: tuple[Holder, ...], capacity: int) -> Slots:
    """The slot of each holder, or None for all where the algorithm has none. Who has none so far takes one that is free."""
    if len(set(members)) < len(members):
        raise UsageError(f"nodes must have names of their own, not {', '.join(members)}")
    for node, _ in holders:
        if node not in members:
            raise UsageError(f"{node} holds, but is not one of {', '.join(members)}")
    if len(holders) > capacity:
        raise UsageError(f"{len(holders)} holders, where at most {capacity} can be inside")
    if card.process.slot is Process.slot:
        return (None,) * len(holders)
    kept = [slot for _, slot in holders if slot is not None]
    if len(set(kept)) < len(kept) or not set(kept) <= set(range(capacity)):
        raise UsageError(f"slots must be different ones from 0 to {capacity - 1}, not {kept}")
    free = iter(sorted(set(range(capacity)) - set(kept)))
    new = {
        i: next(free)
        for i in sorted(range(len(holders)), key=lambda i: holders[i][0])
        if holders[i][1] is None
    }
    return tuple(new.get(i, slot) for i, (_, slot) in enumerate(holders))


def _deal(members: tuple[str, ...], taken: Mapping[Site, str], places: int) -> tuple[str, ...]:
    """Each node gets as many sites as there are places, if possible in different groups: an algorithm that forms groups
    takes sites by their number modulo K, and the callers of one node should be able to be inside together."""
    hosts = dict(taken)
    left = Counter(dict.fromkeys(members, places))
    left.subtract(hosts.values())
    for group in range(places):
        there = {node for site, node in hosts.items() if site % places == group}
        free = [site for site in range(group, len(members) * places, places) if site not in hosts]
        wanting = [node for node in members if node not in there and left[node]]
        dealt = dict(zip(free, wanting, strict=False))
        hosts |= dealt
        left.subtract(dealt.values())
    rest = left.elements()
    return tuple(hosts[site] if site in hosts else next(rest) for site in range(len(members) * places))
