"""Recovery by views, in simulated time: the very machines of the real locks, on the faults that the published schemes are given.

Each node has a member, a voter and, where one is due, a proposer, as `net` drives them: a member renews its lease every third of it and at once
after a change; a voter looks every tenth of a lease whether there is a reason for a new view, and each further one waits a tenth longer before it
proposes. The lock is run by an algorithm of the catalogue, anew in each epoch. Writing votes down takes no time here.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

import msgspec

from soloist.algorithms import Card
from soloist.core import IDLE, Message, Outbox, Port, PropertyViolated, Site
from soloist.core import Send as LockSend
from soloist.views import (
    Activate,
    Ballot,
    Lease,
    Mail,
    Member,
    Node,
    Proposer,
    Send,
    View,
    VoteFile,
    Voter,
    fence,
)
from soloist.views.messages import Ack, Dead, Renew

LOCK = "x"
BACKGROUND = (Renew, Ack)
"""What is said all the time, whether anybody fails or not."""
RENEWALS, LOOKS = 3, 10
"""Times per lease that a member renews it, and that a voter looks around."""


class Takeover(msgspec.Struct, frozen=True):
    """From the crash of a holder until the next one is inside."""

    time: float
    messages: int
    """Those that the crash has caused; renewals are not among them."""
    renewals: int = 0


class Host:
    """One node: its machines, and its site of the lock in this epoch."""

    def __init__(self, world: World, me: int, view: View) -> None:
        self.world, self.me = world, me
        self.member = Member(node=view.members[me])
        self.voter = Voter.start(VoteFile(cluster="lab", voter=view.voters[me], view=view), "here", 0.0)
        self.proposer: Proposer | None = None
        self.prepared = False
        self.since: float | None = None
        self.round = 0
        self.wants = self.alive = True
        self.kept: list[tuple[str, int, Site, Message]] = []
        self.member.activate(view, 0.0)

    def hear(self, sender: str, to: str, message: Message) -> None:
        machine = {"i": self.member, "v": self.voter, "p": self.proposer}[to[0]]
        if machine:
            machine.receive(sender, message, self.world.now)
        self.settle()

    def renew(self) -> None:
        self.member.renew(self.world.now)
        self.settle()

    def look(self) -> None:
        """What is said again, since it may be lost, and what time alone brings."""
        if self.proposer and self.proposer.decision:
            self.proposer.tell()
        elif self.proposer:
            (self.proposer.prepare if self.prepared else self.proposer.poll)()
        self.settle()

    def settle(self) -> None:
        """Do what the machines ask for, until they ask for nothing."""
        self.consider()
        machines = (("i", self.member), ("v", self.voter), ("p", self.proposer))
        while any(machine and machine.out for _, machine in machines):
            for kind, machine in machines:
                if machine:
                    effects, machine.out = machine.out, []
                    for effect in effects:
                        self.do(f"{kind}{self.me}", effect)
        self.world.try_door(self)

    def do(self, sender: str, effect: Any) -> None:
        if isinstance(effect, Send):
            self.world.post(sender, effect.to, effect.message)
        elif isinstance(effect, Activate):
            self.begin(effect.view)

    def begin(self, view: View) -> None:
        names = sorted(node.incarnation for node in view.members)
        card, size = self.world.card, self.world.card.size(len(names))
        self.epoch, self.sites = view.epoch, names
        self.out = Outbox()
        process = card.start_one(size, names.index(f"i{self.me}"))
        self.port = Port(process, self.out)
        self.mail(self.port.begin())
        self.world.at(0.0, self.renew)
        kept, self.kept = self.kept, []
        for sender, epoch, site, message in kept:
            self.take(sender, epoch, site, message)
        if self.wants and view.epoch > self.world.first:
            self.ask()

    def ask(self) -> None:
        if self.port.process.phase is IDLE:
            self.mail(self.port.acquire())

    def mail(self, sends: list[LockSend]) -> None:
        """The algorithm's messages go to the hosts of its sites, as long as no change of view is under way."""
        for site, to, message, _ in sends if self.member.may_send() else ():
            for j in to:
                self.world.post_lock(self, self.epoch, site, self.sites[j], message)

    def take(self, sender: str, epoch: int, site: Site, message: Message) -> None:
        verdict = self.member.admit(sender, epoch)
        if verdict is Mail.DELIVER:
            self.mail(self.port.deliver(site, message))
        elif verdict is Mail.KEEP:
            self.kept.append((sender, epoch, site, message))
        self.settle()

    def consider(self) -> None:
        """Whether it is for this voter to see to the next view, and whether it is time to wedge everybody."""
        now, voter = self.world.now, self.voter
        assert voter.view
        if self.proposer and self.proposer.view.epoch < voter.view.epoch:
            self.proposer = None
        if not voter.has_reason(now):
            self.since = None
            return
        self.since = now if self.since is None else self.since
        rank = sum(host.alive and host.me < self.me for host in self.world.hosts)
        if self.proposer is None and now - self.since >= rank * self.world.lease / LOOKS:
            self.round += 1
            self.proposer = Proposer(view=voter.view, ballot=Ballot(self.round, f"p{self.me}"))
            self.prepared = False
            self.proposer.poll()
        if self.proposer and not self.prepared and self.proposer.ready():
            self.prepared = True
            self.proposer.prepare()


class World:
    """All nodes, their clock, and what is on its way."""

    first = 1

    def __init__(self, card: Card, nodes: int, delay: float, lease: float, seed: int) -> None:
        self.card, self.delay, self.lease = card, delay, lease
        self.chance = Random(f"{seed}/views")
        self.now, self.tick = 0.0, count().__next__
        self.heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.caused = self.renewals = 0
        self.inside: list[tuple[float, int]] = []
        self.hosts: list[Host] = []
        members = tuple(Node(f"n{i}", f"i{i}") for i in range(nodes))
        voters = tuple(f"v{i}" for i in range(nodes))
        view = View(epoch=self.first, voters=voters, members=members, lease=Lease(lease))
        for me in range(nodes):
            self.hosts.append(Host(self, me, view))
        for host in self.hosts:
            self.again(host, host.renew, lease / RENEWALS)
            self.again(host, host.look, lease / LOOKS)
            host.settle()

    def at(self, after: float, action: Callable[..., None], *arguments: Any) -> None:
        heappush(self.heap, (self.now + after, self.tick(), action, arguments))

    def again(self, host: Host, action: Callable[[], None], every: float) -> None:
        """Beats of different nodes begin at different moments."""

        def beat() -> None:
            if host.alive:
                action()
                self.at(every, beat)

        self.at(every * self.chance.random(), beat)

    def run(self, until: Callable[[], bool], limit: float) -> None:
        while not until():
            self.now, _, action, arguments = heappop(self.heap)
            if self.now > limit:
                raise PropertyViolated("service", f"nobody entered by time {limit:g}")
            action(*arguments)

    def post(self, sender: str, to: str, message: Message) -> None:
        host = self.hosts[int(to[1:])]
        if int(sender[1:]) == host.me:
            self.at(0.0, self.arrive, host, sender, to, message)
            return
        self.count(message)
        self.at(self.way(), self.arrive, host, sender, to, message)

    def post_lock(self, sender: Host, epoch: int, site: Site, to: str, message: Message) -> None:
        host = self.hosts[int(to[1:])]
        self.count(message)
        self.at(self.way(), self.arrive_lock, host, f"i{sender.me}", epoch, site, message)

    def way(self) -> float:
        return self.delay * self.chance.random()

    def count(self, message: Message) -> None:
        if isinstance(message, BACKGROUND):
            self.renewals += 1
        else:
            self.caused += 1

    def arrive(self, host: Host, sender: str, to: str, message: Message) -> None:
        if host.alive:
            host.hear(sender, to, message)

    def arrive_lock(self, host: Host, sender: str, epoch: int, site: Site, message: Message) -> None:
        if host.alive:
            host.take(sender, epoch, site, message)

    def try_door(self, host: Host) -> None:
        """Whom the algorithm lets in goes in if the member's lease is good."""
        if host.out.entered and host.member.enter(LOCK, 0, fence(host.epoch, len(self.inside) + 1), self.now):
            host.out.entered.clear()
            self.inside.append((self.now, host.me))
            holders = [h.me for h in self.hosts if h.alive and h.member.holding(LOCK, 0, self.now)]
            if len(holders) > 1:
                raise PropertyViolated("exclusion", f"nodes {holders} are inside at time {self.now:g}")


def takeover(card: Card, nodes: int, delay: float, lease: float, seed: int, proof: bool) -> Takeover:
    """One holder crashes while all others wait; with a proof of its end, or by its silence."""
    world = World(card, nodes, delay, lease, seed)
    world.run(lambda: world.now >= 2 * lease * (1 + world.chance.random() / 2), 4 * lease)
    holder = world.hosts[world.chance.randrange(nodes)]
    holder.ask()
    holder.settle()
    world.run(lambda: bool(world.inside), world.now + 100 * delay)
    for host in world.hosts:
        host.ask()
    crash = world.now + delay / 2
    world.run(lambda: world.now >= crash, crash + lease)
    holder.alive = False
    began, world.caused, world.renewals = world.now, 0, 0
    if proof:
        for host in world.hosts:
            if host.alive:
                world.post(f"i{holder.me}", f"v{host.me}", Dead(f"i{holder.me}", "pidfd"))
    world.run(lambda: len(world.inside) > 1, began + 20 * lease + 100 * delay)
    return Takeover(world.inside[-1][0] - began, world.caused, world.renewals)
