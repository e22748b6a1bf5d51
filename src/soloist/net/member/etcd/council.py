"""The membership of one node where etcd decides: it stands for one voter, which a member renews its lease with.

The member and its rules are those of every `Council`, and so is its thread. What the member says to the voter becomes
a transaction, in a thread that may wait, and what comes of it becomes the voter's answer. Any node makes the next view.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial

import msgspec

from soloist.core import Message
from soloist.net.member.clock import Clock
from soloist.net.member.council import Council, Events
from soloist.net.member.etcd.chair import ETCD, Chair, Decide, Mark
from soloist.net.member.etcd.desk import Desk, Watch
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.member.etcd.store import Entry, Snapshot
from soloist.net.member.votes import MemoryVotes
from soloist.views import Ballot, Lease, Node, View, fence
from soloist.views.messages import Ack, Decided, Fetch, News, Prepare, Renew, Report

log = logging.getLogger("soloist.net")

LOOK_SECONDS = 1.0
"""How long what was seen in etcd is good enough, if nothing is heard of changes."""
WATCH_SECONDS = 10.0
"""After so long without an event, at most, another endpoint is watched."""
Written = tuple[bool, Snapshot]


def patience(lease: Lease) -> float:
    """Seconds for one endpoint to answer: all of three, twice, while a lease lasts that has been renewed in time."""
    return min(max(lease.length / 8, 0.25), 2.0)


class EtcdCouncil(Council):
    """One node's part in what is agreed upon in etcd."""

    def __init__(
        self, node: Node, cluster: str, etcd: Etcd, lease: Lease, clock: Clock, events: Events, previous: str
    ) -> None:
        super().__init__(node, MemoryVotes(cluster, node.name), clock, events)
        self.lease = lease
        self.origin = 0
        """The fence below all those of a cluster that begins now."""
        self.desk = Desk(etcd, cluster, patience(lease), self.pulse.do)
        self.watch = Watch(etcd, cluster, min(lease.length, WATCH_SECONDS), self._stirred)
        self.chair = Chair(lease)
        self.seen: Snapshot | None = None
        self.seen_at = -math.inf
        self.written = 0
        """The revision of our entry; 0 while there has been none."""
        self.wanted = Entry(node)
        """What our entry is to say."""
        self.dead_ones = {previous} - {""}
        self.join_at = -math.inf
        """When a joiner is to renew its entry."""
        self.answered_at = clock()
        self._busy: set[str] = set()
        """What etcd is being asked for."""
        self._again: set[str] = set()

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
        self.written, self.wanted = 0, Entry(node)

    def _tell_of(self, incarnation: str, proof: str) -> None:
        log.warning("%s: %s has ended (%s)", self.name, self._name_of(incarnation), proof)
        self.dead_ones.add(incarnation)

    def _leave(self, then: Callable[[], None]) -> None:
        with self.gate.step() as member:
            member.leave()
            member.lose_all()
            member.ended = True
        self._perform(self.member)
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
        self._keep_written()

    def _renew(self) -> None:
        """One at a time: what is asked for meanwhile is asked for then."""
        if "write" in self._busy:
            self._again.add("renew")
        else:
            super()._renew()

    def _ask_to_join(self) -> None:
        if self.clock() >= self.join_at or not self.written:
            self.join_at = self.clock() + self.lease.length / 3
            self._write(self._entry(), renews=True)

    def _look_around(self, now: float) -> None:
        silent = now - self.answered_at
        if not self.leased and self.desk.trouble and silent >= self._lease():
            self.events.starving(f"{self.desk.trouble}, for {silent:.1f} s")

    def _lease(self) -> float:
        view = self.newest_view
        return view.lease.length if view else self.lease.length

    # What the member says to its voter.

    def _send(self, to: str, message: Message) -> None:
        if to != ETCD:
            super()._send(to, message)
            return
        match message:
            case Renew() if "write" in self._busy:
                self._again.add("renew")
            case Renew():
                self._write(self._entry(message.report, message.deaf), renews=True, number=message.number)
            case Report():
                self.wanted = self._entry(message, self.wanted.deaf)
                self._keep_written()
            case Fetch():
                self._look()

    def _entry(self, report: Report | None = None, deaf: tuple[str, ...] = ()) -> Entry:
        evictions = self.wishes.evictions()
        return Entry(self.member.node, self.origin, self.member.epoch, report, deaf, evictions)

    def tell_voters(self, message: Message) -> None:
        """Only wishes to break a lock come here: they stand in our entry for as long as somebody has them."""
        self._keep_written()

    def _keep_written(self) -> None:
        """If our entry does not say what it is to say, say it."""
        self.wanted = msgspec.structs.replace(self.wanted, evictions=self.wishes.evictions())
        found = self.seen.entries.get(self.me) if self.seen else None
        if found and self.written and found != self.wanted and not self.member.ended:
            self._write(self.wanted)

    def _write(self, entry: Entry, renews: bool = False, number: int = 0) -> None:
        self.wanted = entry
        seconds = math.ceil(max(self._lease(), self.lease.length))
        store, at = self.desk.store, self.written
        work = partial(store.renew, entry, at, seconds) if renews else partial(store.write, entry, at)
        self._ask("write", work, partial(self._wrote, entry, number, renews))

    def _wrote(self, entry: Entry, number: int, renews: bool, result: Written | None) -> None:
        if entry.node.incarnation != self.me:
            return
        if result is None:  # try again, but not at once
            self._again.discard("renew")
            self.renew_at = self.join_at = self.clock()
            return
        done, seen = result
        self._see(seen)
        if done and number and seen.view:
            promised = seen.change == seen.view.epoch + 1
            facts = (seen.view.epoch, promised, 0, seen.evictions)
            self._hear(ETCD, self.me, Ack(ETCD, number, *facts))
        elif renews and not done:  # an earlier request of ours was done after all: go on from there
            self._again.add("renew")
            self.join_at = self.clock()
        self._keep_written()

    # What is seen.

    def _stirred(self, changes: dict[str, bytes | None]) -> None:
        """In the thread of the watch. Renewals change no value, and are no news."""
        seen = self.seen
        if not seen or not changes or any(seen.raw.get(key) != value for key, value in changes.items()):
            self.pulse.do(lambda: self._step(self._look))

    def _look(self) -> None:
        self._ask("look", self.desk.store.read, self._see)

    def _see(self, seen: Snapshot | None) -> None:
        if seen is None:
            return
        now = self.clock()
        self.seen, self.seen_at = seen, now
        if (self.written and self.me not in seen.entries) or (self.member.view and not seen.view):
            self._lose_entry(seen)
            return
        self.written = seen.revisions.get(self.me, 0)
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
            self.written = 0
        elif not self.member.ended:
            self.origin = max(self.origin, fence(view.epoch + 1, 0))  # should etcd have forgotten it
            with self.gate.step() as member:
                member.end(view)

    # The next view.

    def _preside(self) -> None:
        seen = self.seen
        if seen is None:
            return
        for each in self.dead_ones & seen.entries.keys():
            self._ask("remove " + each, partial(self.desk.store.remove, each), self._see)
        if self.me not in seen.entries or self.member.ended or "decide" in self._busy:
            return
        store = self.desk.store
        match self.chair.consider(seen, self.me, self.hearing.incarnations.values(), self.clock()):
            case Mark(epoch):
                self._ask("decide", partial(store.mark, epoch, seen), self._see)
            case Decide(view, absent):
                self._ask("decide", partial(store.decide, view, seen, absent), self._see)

    def _ask(self, what: str, work: Callable[[], object], then: Callable[..., None]) -> None:
        """Once at a time; what is wanted again meanwhile is looked for again afterwards."""
        if what in self._busy:
            self._again.add(what)
            return
        self._busy.add(what)
        self.desk.ask(work, lambda result: self._step(partial(self._answered, what, then, result)))

    def _answered(self, what: str, then: Callable[..., None], result: object) -> None:
        self._busy.discard(what)
        if result is not None:
            self.answered_at = self.clock()
        then(result)
        if "look" in self._again - self._busy:
            self._again.discard("look")
            self._look()
        if "renew" in self._again and "write" not in self._busy:
            self._again.discard("renew")
            self._renew()
