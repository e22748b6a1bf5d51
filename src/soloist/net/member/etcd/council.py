"""The membership of one node where etcd decides: it stands for one voter, which a member renews its lease with.

The member and its rules are those of every `Council`, and so is its thread. What the member says to the voter becomes
a transaction, in a thread that may wait, and what comes of it becomes the voter's answer. Any node makes the next view.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from soloist.core import Message
from soloist.net.member.clock import Clock
from soloist.net.member.council import Council
from soloist.net.member.etcd.chair import ETCD, Chair, Decide, Mark
from soloist.net.member.etcd.desk import Desk, Patience, Watch
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.member.etcd.entry import Errands, OwnEntry, Written
from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.net.member.events import Events
from soloist.net.member.votes import MemoryVotes
from soloist.views import Ballot, Lease, Node, View, fence
from soloist.views.messages import Ack, Decided, Fetch, News, Prepare, Renew, Report

LOOK_SECONDS = 1.0
"""Seconds for which what was seen in etcd is good enough, if nothing is heard of changes."""
WATCH_SECONDS = 10.0
"""Seconds without an event, at most, after which another endpoint is watched."""


def patience(lease: Lease) -> Patience:
    """At first so short that all of three are asked twice while a lease lasts that has been renewed in time. At most so
    long that an etcd that answers slowly, as under load, is heard while the lease lasts."""
    first = min(max(lease.length / 8, 0.25), 2.0)
    return first, max(first, lease.length / 4)


class EtcdCouncil(Council):
    """One node's part in what is agreed upon in etcd."""

    def __init__(
        self, node: Node, cluster: str, etcd: Etcd, lease: Lease, clock: Clock, events: Events, previous: str
    ) -> None:
        super().__init__(node, MemoryVotes(cluster, node.name), clock, events)
        self.lease = lease
        self.desk = Desk(etcd, cluster, patience(lease), self.pulse.do)
        self.watch = Watch(
            etcd,
            cluster,
            min(lease.length, WATCH_SECONDS),
            lambda: self.seen.raw if self.seen else {},
            lambda: self.pulse.do(lambda: self._step(self._look)),
        )
        self.errands = Errands(self.desk, self._step)
        self.own = OwnEntry(self.errands, node, self._wrote, self.pleas.evictions)
        self.chair = Chair(lease)
        self.seen: Snapshot | None = None
        self.seen_at = -math.inf
        self.dead_ones = {previous} - {""}
        """Incarnations that have ended for certain, so that their entries may go."""
        self.join_at = -math.inf
        """When a joiner is to renew its entry."""
        self.answered_at = clock()

    @property
    def newest_view(self) -> View | None:
        return self.member.view or (self.seen.view if self.seen else None)

    # What the thread does.

    def _start(self) -> None:
        self.desk.start()
        self.watch.start()
        self._stop = self.pulse.call_every(self.beat, lambda: self._step(self._beat))

    def _become(self, node: Node) -> None:
        self.dead_ones.add(self.me)
        super()._become(node)
        self.own.begin(node)

    def _tell_of(self, incarnation: str, proof: str) -> None:
        super()._tell_of(incarnation, proof)
        self.dead_ones.add(incarnation)

    def _leave(self, then: Callable[[], None]) -> None:
        """Peers are told why our entry is gone, for their books."""
        with self.gate.step() as member:
            member.leave()
            member.lose_all()
            member.farewell(tuple(self.hearing.incarnations.values()))
        self._perform(self.member)
        self._flush()
        self.desk.ask_last(partial(self.desk.store.remove, self.me), lambda _: then())

    def close(self) -> None:
        super().close()
        self.watch.close()
        self.desk.close()

    # Time.

    def _step(self, work: Callable[[], None]) -> None:
        super()._step(work)
        if not self.ended and not self.member.ended:
            self._preside()

    def _beat(self) -> None:
        if self.clock() - self.seen_at >= LOOK_SECONDS:
            self._look()
        super()._beat()
        if not self.member.ended:
            self.own.keep(self.seen)

    def _renew(self) -> None:
        """One at a time: what is asked for meanwhile is asked for then."""
        if self.errands.busy("write"):
            self.errands.after("write", self._renew)
        else:
            super()._renew()

    def _ask_to_join(self) -> None:
        if self.clock() >= self.join_at or not self.own.revision:
            self.join_at = self.clock() + self.lease.length / 3
            self.own.say(self.member)
            self.own.renew(self._seconds)

    def _look_around(self, now: float) -> None:
        """Who waits only for a view to be made is not starving."""
        silent = now - self.answered_at
        if not self.leased and self.desk.trouble and silent >= self._seconds:
            self.events.starving(f"{self.desk.trouble}, for {silent:.1f} s")

    @property
    def _seconds(self) -> int:
        """What an entry's lease lasts: as the view says, or longer where we are to."""
        view = self.newest_view
        return math.ceil(max(view.lease.length if view else 0.0, self.lease.length))

    def ask_for_newest(self, view: View, number: int) -> None:
        """What is read after it was asked for is as new as that."""

        def see(seen: Snapshot | None) -> None:
            self._see(seen)
            if seen and seen.view:
                self.pleas.confirm(ETCD, seen.view.epoch, number)

        self.errands.ask(f"newest {number}", self.desk.store.read, see)

    # What the member says to its voter.

    def _send(self, to: str, message: Message) -> None:
        if to != ETCD:
            super()._send(to, message)
            return
        match message:
            case Renew() if self.errands.busy("write"):
                self.errands.after("write", self._renew)
            case Renew():
                self.own.say(self.member, message.report, message.deaf)
                self.own.renew(self._seconds, message.number)
            case Report():
                self.own.say(self.member, message, self.member.deaf)
                self.own.keep(self.seen)
            case Fetch():
                self._look()

    def _wrote(self, entry: Entry, number: int, renews: bool, result: Written | None) -> None:
        if entry.node.incarnation != self.me:
            return
        if result is None:  # try again, but not at once
            self.renew_at = self.join_at = self.clock()
            return
        done, seen = result
        self._see(seen)
        if done and number and seen.view:
            promised = seen.change == seen.view.epoch + 1
            facts = (seen.view.epoch, promised, 0, seen.evictions)
            self._hear(ETCD, self.me, Ack(ETCD, number, *facts))
        elif renews and not done:  # an earlier request of ours was done after all: go on from there
            self.renew_at = self.join_at = self.clock()
        if not self.member.ended:
            self.own.keep(seen)

    # What is seen.

    def _look(self) -> None:
        if self.errands.busy("look"):
            self.errands.after("look", self._look)
        self.errands.ask("look", self.desk.store.read, self._see)

    def _see(self, seen: Snapshot | None) -> None:
        if seen is None:
            return
        self.seen, self.seen_at = seen, self.clock()
        self.answered_at = self.seen_at
        if (self.own.revision and self.me not in seen.entries) or (self.member.view and not seen.view):
            self._lose_entry(seen)
            return
        self.own.revision = seen.revisions.get(self.me, 0)
        if seen.view and seen.view.epoch > self.member.epoch:
            self._hear(ETCD, self.me, Decided(seen.view))
        news = News(evictions=seen.evictions)  # which may come after the wedge
        changing = self.member.view and seen.change == self.member.epoch + 1
        if changing and (seen.evictions or not self.member.wedged):
            self._hear(ETCD, self.me, Prepare(seen.change, Ballot(0, ETCD), news=news))

    def _lose_entry(self, seen: Snapshot) -> None:
        """It does not come back: the next view is made without us, so this incarnation is over."""
        view = self.member.view or seen.view
        if view is None:  # nobody has ever been a member
            self.own.revision = 0
        elif not self.member.ended:
            self.own.origin = max(self.own.origin, fence(view.epoch + 1, 0))  # should etcd have forgotten it
            with self.gate.step() as member:
                member.end(view)

    # The next view.

    def _preside(self) -> None:
        seen = self.seen
        if seen is None:
            return
        for each in self.dead_ones & seen.entries.keys():
            self.errands.ask("remove " + each, partial(self.desk.store.remove, each), self._see)
        if self.me not in seen.entries or self.member.ended or self.errands.busy("decide"):
            return
        store = self.desk.store
        match self.chair.consider(seen, self.me, self.hearing.incarnations.values(), self.clock()):
            case Mark(epoch):
                self.errands.ask("decide", partial(store.mark, epoch, seen), self._see)
            case Decide(view, absent):
                self.errands.ask("decide", partial(store.decide, view, seen, absent), self._see)
