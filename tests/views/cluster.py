"""Nodes that take over a lock from epoch to epoch, the way a node does it, with everything else left to chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from soloist.algorithms import Card
from soloist.core import IDLE, INSIDE, Message, Outbox, Port, Process, Send, Site
from soloist.views import fence
from soloist.views.carry import Carried, carry, starting_counter

Hold = tuple[str, int | None, int]
"""Node, slot, fence."""


class Wrong(Exception):
    """A promise was broken."""


class Cluster:
    """All nodes of one epoch after another. Each has its own sites only, and its own count of entries."""

    def __init__(
        self,
        card: Card,
        capacity: int,
        seed: int,
        take_over: Callable[..., Carried] = carry,
        count_from: Callable[[int, Iterable[int]], int] = starting_counter,
    ) -> None:
        self.card, self.capacity, self.chance = card, capacity, Random(seed)
        self.take_over, self.count_from = take_over, count_from
        self.epoch = 0
        self.inside: dict[Site, Hold] = {}
        self.entries = self.carried = 0
        self.highest = 0

    def change(self, members: list[str], epoch: int | None = None) -> None:
        """A new view. Holds of nodes that are not in it are gone, and so is all mail."""
        self.epoch = self.epoch + 1 if epoch is None else epoch
        holds = [hold for hold in self.inside.values() if hold[0] in members]
        self.carried += len(holds)
        # Each node works it out by itself, and may have members and holds in any order.
        starts = {}
        for node in members:
            mine = self.chance.sample(holds, len(holds))
            start = self.take_over(
                self.card,
                self.chance.sample(members, len(members)),
                [hold[:2] for hold in mine],
                self.capacity,
            )
            starts[node] = start, mine
        if len({start.hosts for start, _ in starts.values()}) > 1:
            raise Wrong("nodes do not agree on who hosts what")
        self.hosts = starts[members[0]][0].hosts
        self._activate(starts, self.count_from(self.epoch, [hold[2] for hold in holds]))

    def _activate(self, starts: dict[str, tuple[Carried, list[Hold]]], counter: int) -> None:
        self.out = Outbox(self.chance.choice)
        self.ports: dict[Site, Port] = {}
        self.links: dict[tuple[Site, Site], list[tuple[Message, int]]] = {}
        self.timers: list[tuple[Site, str]] = []
        self.inside, self.counters = {}, dict.fromkeys(starts, counter)
        for node, (start, holds) in starts.items():
            for process in start.processes(node):
                self.ports[process.me] = Port(process, self.out)
            for hold, seat in zip(holds, start.seats, strict=True):
                if hold[0] == node:
                    self.inside[seat] = hold
            self.timers += [(site, name) for site, name, _ in start.timers(node)]
        for node, (start, _) in starts.items():
            self._perform(start.mail(node))
        self._judge()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if not (moves := list(self._moves())):
                return
            move, *details = self.chance.choice(moves)
            move(*details)
            self._judge()

    def _moves(self) -> Iterable[tuple[Callable[..., None], object]]:
        for site, port in self.ports.items():
            if port.process.phase is IDLE:
                yield self._acquire, site
            elif port.inside:
                yield self._release, site
        for link, mail in self.links.items():
            if mail:
                yield from [(self._deliver, link)] * 3
        for timer in self.timers:
            yield self._timeout, timer

    def _acquire(self, site: Site) -> None:
        self._perform(self.ports[site].acquire())

    def _release(self, site: Site) -> None:
        self.inside.pop(site)
        self._perform(self.ports[site].release())

    def _deliver(self, link: tuple[Site, Site]) -> None:
        sender, to = link
        message, counter = self.links[link].pop(0)
        node = self.hosts[to]
        self.counters[node] = max(self.counters[node], counter)
        self._perform(self.ports[to].deliver(sender, message))

    def _timeout(self, timer: tuple[Site, str]) -> None:
        self.timers.remove(timer)
        self._perform(self.ports[timer[0]].timeout(timer[1]))

    def _perform(self, sends: list[Send]) -> None:
        for site in self.out.entered:
            self._enter(site)
        for site, name, delay in self.out.timers:
            if (site, name) in self.timers:
                self.timers.remove((site, name))
            if delay is not None:
                self.timers.append((site, name))
        self.out.entered, self.out.timers = [], []
        for sender, sites, message, _ in sends:
            for to in sites:
                self.links.setdefault((sender, to), []).append((message, self.counters[self.hosts[sender]]))

    def _enter(self, site: Site) -> None:
        node = self.hosts[site]
        self.counters[node] += 1
        self.entries += 1
        given = fence(self.epoch, self.counters[node])
        if self.capacity == 1 and given <= self.highest:
            raise Wrong("a fence that is not above all before")
        self.highest = given
        self.inside[site] = node, self.ports[site].process.slot(), given

    def _judge(self) -> None:
        really = {site for site, port in self.ports.items() if port.process.phase is INSIDE}
        if really != set(self.inside):
            raise Wrong(f"sites {sorted(really)} are inside, but {sorted(self.inside)} should be")
        if len(really) > self.capacity:
            raise Wrong("too many are inside")
        for site, (node, slot, _) in self.inside.items():
            if self.hosts[site] != node:
                raise Wrong(f"{node} holds at a site of {self.hosts[site]}")
            if self.card.process.slot is not Process.slot and self.ports[site].process.slot() != slot:
                raise Wrong(f"{node} had slot {slot}")
        slots = [slot for _, slot, _ in self.inside.values() if slot is not None]
        if len(set(slots)) < len(slots):
            raise Wrong("a slot is held twice")


def live(cluster: Cluster, changes: int, steps: int = 40) -> Cluster:
    """Some epochs: at each change one node may have crashed, and one may be new."""
    names = ["a", "b", "c", "d"]
    members = names[:3]
    cluster.change(members, epoch=7)
    for _ in range(changes):
        cluster.run(cluster.chance.randrange(steps))
        gone = cluster.chance.choice([*members, None]) if len(members) > 1 else None
        members = sorted({*members, cluster.chance.choice(names)} - {gone})
        cluster.change(members)
    return cluster
