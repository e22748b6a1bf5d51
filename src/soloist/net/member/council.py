"""The membership of one node: its voter, member and proposer, driven in a thread of their own.

The thread is that of a `Pulse`: no loop, and no body that computes for a minute, keeps it from renewing a lease or from
stopping this node when the others make a view without it. Only the member is shared with the loop, behind a `Gate`. What
concerns the loop is told to `Events`, whose methods are called in the thread.
"""

from __future__ import annotations

import logging
import random
import socket
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from soloist.core import Message, ProtocolError
from soloist.net.link.wire import encode
from soloist.net.member.cipher import Cipher
from soloist.net.member.clock import Clock
from soloist.net.member.gate import Gate
from soloist.net.member.renewal import Pulse
from soloist.net.member.votes import CannotStore, Votes
from soloist.views import (
    Activate,
    Ballot,
    Dropped,
    Effect,
    Lost,
    Member,
    Node,
    Proposer,
    Send,
    Store,
    View,
    Voter,
)
from soloist.views.messages import Bye, Dead, Decided, Fetch, Join, Said

log = logging.getLogger("soloist.net")

MOST_BEAT_SECONDS = 0.25
"""How often is looked whether somebody has fallen silent, at least."""
RANK_SECONDS = 0.15
"""How much longer each further voter waits before it proposes, too."""
DEFAULT_LEASE = 10.0
"""Seconds, while no view has told."""
PATIENT_BEATS = 6
"""After so many beats without a decision a proposer tries a higher ballot."""

VOTER = "voter"
"""The addressee, where a voter is meant whose id is not known."""


class Events(Protocol):
    """What the loop must hear of. Called in the thread."""

    def activated(self, view: View) -> None: ...

    def lost(self, lock: str, fence: int) -> None: ...

    def dropped(self, view: View) -> None:
        """This incarnation is out, and never acts again."""

    def renewed(self) -> None:
        """There is a lease again, after there was none."""


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """What one node says to another in one step: to whom there, and what."""

    incarnation: str
    """Of the sender."""
    hears: list[str]
    """Peers that the sender has heard lately."""
    said: list[tuple[str, Said]]


decode_parcel = msgspec.msgpack.Decoder(Parcel).decode


class Council:
    """One node's part in what is agreed upon."""

    def __init__(self, node: Node, votes: Votes, clock: Clock, events: Events, previous: str = "") -> None:
        self.votes, self.clock, self.events = votes, clock, events
        self.name, self.previous = node.name, previous
        """The incarnation that used the same data directory before: since we have it, that one has ended."""
        self.gate = Gate(Member(node=node), clock, self._drain_soon)
        self.voter: Voter | None = None
        self.proposer: Proposer | None = None
        self.pulse = Pulse(self._heard, self._lost_peer)
        self.on_lost_peer: Callable[[str], None] = lambda peer: None
        self.incarnations: dict[str, str] = {}
        """Of the peers that are connected, by name, as their parcels say."""
        self.heard_at: dict[str, float] = {}
        """When each of them last said something."""
        self.heard_by: dict[str, bool] = {}
        """Whether each of them says that it hears us."""
        self.fellows: dict[str, float] = {}
        """The incarnations of our view, and since when each has been in it with us."""
        self.left_out: tuple[View, float] | None = None
        """The view that we were left out of, and when."""
        self.round = 0
        self.reason_since: float | None = None
        self.patience = 0
        self.prepared = False
        """Whether our proposer has asked everybody to wedge."""
        self.changing_since: float | None = None
        self.leased = False
        self.beat = MOST_BEAT_SECONDS
        self.renew_at = 0.0
        self.ended = False
        self._parcels: dict[str, list[tuple[str, Message]]] = {}
        self._stop: Callable[[], None] | None = None

    @property
    def member(self) -> Member:
        return self.gate.member

    @property
    def me(self) -> str:
        return self.member.me

    # What the node asks; from any thread.

    def start(self) -> None:
        """With what the vote file says: a voter of old votes at once, and a member joins."""
        self.pulse.do(self._start)

    def meet(
        self,
        peer: str,
        incarnation: str,
        sock: socket.socket,
        unread: bytes,
        cipher: Cipher | None = None,
        first: bytes = b"",
    ) -> None:
        """There is a connection to that peer, for us alone. `first` is said before anything else."""

        def meet() -> None:
            self.incarnations[peer] = incarnation
            self.pulse.add(peer, sock, unread, cipher)
            if first:
                self.pulse.send(peer, first)

        if self.ended:
            sock.close()
        else:
            self.pulse.do(meet)

    def born(self, view: View) -> None:
        """All voters and members have met, nobody has ever voted: this is the first view."""
        self.pulse.do(lambda: self._step(lambda: self._install(view)))

    def dead(self, incarnation: str, proof: str) -> None:
        """That process has ended: for certain."""
        self.pulse.do(lambda: self._step(lambda: self._tell_of(incarnation, proof)))

    def leave(self, then: Callable[[], None]) -> None:
        """Let nobody in any more; once nothing is held here, say so, and never act again."""
        self.pulse.do(lambda: self._step(lambda: self._leave(then)))

    def fetch(self) -> None:
        """There is a later view than ours."""
        self.pulse.do(lambda: self._step(self._fetch))

    def become(self, node: Node) -> None:
        """Begin again as another incarnation: the one before was left out of a view."""
        self.pulse.do(lambda: self._step(lambda: self._become(node)))

    def close(self) -> None:
        self.ended = True
        self.pulse.close()
        self.votes.close()

    def _drain_soon(self) -> None:
        self.pulse.do(lambda: self._step(lambda: None))

    # What the thread does.

    def _start(self) -> None:
        now = self.clock()
        if self.votes.bad:
            log.warning("%s does not vote: %s", self.name, self.votes.bad)
        else:
            self.voter = Voter.start(self.votes.file, self.votes.place, now)
        self._stop = self.pulse.call_every(self.beat, lambda: self._step(self._beat))

    def _install(self, view: View) -> None:
        now = self.clock()
        self._set_pace(view)
        if self.voter:
            self.voter.receive(self.me, Decided(view), now)
            self._perform(self.voter)
        if self.voter and self.voter.stopped:
            return  # what cannot be stored must not begin
        with self.gate.mutex:
            self.member.receive(self.me, Decided(view), now)
        self._renew()

    def _become(self, node: Node) -> None:
        with self.gate.mutex:
            self.gate.member = Member(node=node)
        self.changing_since = None

    def _fetch(self) -> None:
        with self.gate.mutex:
            for voter in self.member.known_voters():
                self.member.say(voter, Fetch(self.member.epoch))

    def _leave(self, then: Callable[[], None]) -> None:
        with self.gate.mutex:
            self.member.leave()
            self.member.lose_all()
            if self.member.view:
                self.member.farewell(tuple(self.incarnations.values()))
        self._perform(self.member)
        if self.voter and self.voter.view:
            self.voter.receive(self.me, Bye(self.me), self.clock())
        self._flush()
        then()

    def _tell_of(self, incarnation: str, proof: str) -> None:
        log.warning("%s: %s has ended (%s)", self.name, self._name_of(incarnation), proof)
        for peer in self.pulse.peers():
            self._say_to(peer, VOTER, Dead(incarnation, proof))
        self._hear(self.me, VOTER, Dead(incarnation, proof))

    def _step(self, work: Callable[[], None]) -> None:
        """Everything goes through here: do it, then do what it asks for, until nothing is left to do."""
        if self.ended:
            return
        work()
        self._settle()
        self._consider()
        self._settle()
        self._flush()

    def _settle(self) -> None:
        machines: list[Any] = [self.member, self.voter, self.proposer]
        while any(machine and machine.out for machine in machines):
            for machine in machines:
                if machine:
                    self._perform(machine)

    def _perform(self, machine: Any) -> None:
        with self.gate.mutex:
            effects: list[Effect] = machine.out
            machine.out = []
        for effect in effects:
            match effect:
                case Store(file):
                    try:
                        self.votes.store(file)
                    except CannotStore as error:
                        log.error("%s votes no more: %s", self.name, error)
                        machine.failed(str(error))
                        return
                case Send(to, message):
                    self._send(to, message)
                case Activate(view):
                    self._activated(view)
                case Lost(hold):
                    self.events.lost(hold.lock, hold.fence)
                case Dropped(view):
                    log.warning("%s was left out of epoch %d", self.name, view.epoch)
                    self.left_out = view, self.clock()
                    self.events.dropped(view)

    def _activated(self, view: View) -> None:
        since, self.changing_since = self.changing_since, None
        took = f" after {self.clock() - since:.3f} s" if since is not None else ""
        names = ", ".join(sorted(node.name for node in view.members))
        log.info("%s: epoch %d%s: %s", self.name, view.epoch, took, names)
        self._set_pace(view)
        now = self.clock()
        if self.fellows.keys() == view.incarnations:  # nobody could be left out: not before another lease
            self.fellows.clear()
        self.fellows = {each: self.fellows.get(each, now) for each in view.incarnations}
        self.left_out = None
        self.reason_since, self.patience = None, 0
        if self.voter:  # it may know of none yet, and would never vote
            self.voter.receive(self.me, Decided(view), now)
        self.events.activated(view)
        self._renew()

    def _set_pace(self, view: View) -> None:
        beat = min(view.lease.length / 10, MOST_BEAT_SECONDS)
        if beat != self.beat:
            self.beat = beat
            if self._stop:
                self._stop()
            self._stop = self.pulse.call_every(beat, lambda: self._step(self._beat))

    # Time.

    def _beat(self) -> None:
        now = self.clock()
        member = self.member
        if member.view is None and not member.ended and self._may_join(now):
            self._ask_to_join()
        if now >= self.renew_at or not self.leased:  # what was said to voters that we had not met is lost
            self._renew()
            for peer in self.pulse.peers():  # whoever has nothing to say to a peer says just that
                self._parcels.setdefault(peer, [])
        with self.gate.mutex:
            member.deaf = self._deaf(now)
            valid = member.valid(now)
            if member.holds and not valid:
                member.lose_all()
        self._note_lease(valid)
        if self.proposer:
            self._press(self.proposer)

    def _renew(self) -> None:
        now = self.clock()
        with self.gate.mutex:
            self.member.renew(now)
            view = self.member.view
        self.renew_at = now + (view.lease.length if view else 1.0) / 3

    def _hears(self, now: float) -> list[str]:
        lease = self._lease()
        return sorted(peer for peer, at in self.heard_at.items() if now - at < lease)

    def _deaf(self, now: float) -> tuple[str, ...]:
        """Members that we have not heard for a lease, though the voters may: mail between us would wait for ever."""
        view = self.member.view
        if view is None:
            return ()
        since = {node.incarnation: self._last_heard(node) for node in view.members if node.name != self.name}
        return tuple(sorted(each for each, at in since.items() if now - at >= view.lease.length))

    def _last_heard(self, node: Node) -> float:
        """At the earliest, when it became a member; or another one of that name may be meant."""
        return max(self.heard_at.get(node.name, 0.0), self.fellows.get(node.incarnation, 0.0))

    def _may_join(self, now: float) -> bool:
        """Who was left out because somebody does not hear it comes back when everybody does; or tries again, some day."""
        if self.left_out is None:
            return True
        view, since = self.left_out
        if self.voter and self.voter.view and self.voter.view.epoch > view.epoch:
            view = self.voter.view  # of those who were in the way some may be out by now
        others = [node.name for node in view.members if node.name != self.name]
        return all(self.heard_by.get(name) for name in others) or now - since > 10 * view.lease.length

    def _lease(self) -> float:
        view = self.member.view or (self.voter.view if self.voter else None)
        return view.lease.length if view else DEFAULT_LEASE

    def _note_lease(self, valid: bool) -> None:
        if valid and not self.leased:
            self.events.renewed()
        self.leased = valid

    def _ask_to_join(self) -> None:
        said: list[Message] = [Dead(self.previous, "restarted")] if self.previous else []
        if self.voter and self.voter.view:  # there may be voters who were not told that it was born
            said.insert(0, Decided(self.voter.view))
        for message in (*said, Join(self.member.node)):
            for peer in self.pulse.peers():
                self._say_to(peer, VOTER, message)
            if self.voter and self.voter.view:
                self._hear(self.me, VOTER, message)

    # Proposing.

    def _consider(self) -> None:
        """Whether it is for us to see to the next view: for voters only, and one after the other."""
        voter, now = self.voter, self.clock()
        if voter is None or not voter.votes:
            return
        view = voter.view
        assert view
        if self.proposer and self.proposer.view.epoch < view.epoch:
            self.proposer = None
        if not voter.has_reason(now):
            self.reason_since = None
            return
        if self.reason_since is None:
            self.reason_since = now
        if self.proposer is None and now - self.reason_since >= RANK_SECONDS * self._rank(view):
            self._propose(view)
        if (
            self.proposer
            and not self.prepared
            and self.proposer.ready()
            and self._would_end(self.proposer, now)
        ):
            self.prepared = True
            self.proposer.prepare()

    def _would_end(self, proposer: Proposer, now: float) -> bool:
        """Whether everybody can be heard who is not out already. Nobody is wedged before that, or for a lease."""
        assert self.reason_since is not None
        out, here = proposer.silent() | proposer.gone, {*self.incarnations.values(), self.me}
        waited = now - self.reason_since >= proposer.view.lease.length
        return waited or all(each in here for each in proposer.view.incarnations - out)

    def _rank(self, view: View) -> int:
        """How many voters are before us that can be reached, and are not known to have ended."""
        assert self.voter
        mine, peers = self.voter.file.voter, self.pulse.peers()
        return sum(1 for each in view.voters if each < mine and _node_of(each) in peers)

    def _propose(self, view: View) -> None:
        assert self.voter
        ballot = self.voter.file.ballot
        self.round = max(self.round, ballot.round if ballot else 0) + 1
        self.proposer = Proposer(view=view, ballot=Ballot(self.round, self.me))
        self.patience = PATIENT_BEATS + random.randrange(PATIENT_BEATS)
        self.prepared = False
        self.proposer.poll()

    def _press(self, proposer: Proposer) -> None:
        """Say it again: what was said may be lost."""
        self.patience -= 1
        if proposer.decision:
            proposer.tell()
            if self.patience <= 0:
                self.proposer = None
        elif self.patience <= 0:
            self.proposer = None
        elif proposer.proposal:
            proposer.ask_accept()
        elif self.prepared:
            proposer.prepare()
        else:
            proposer.poll()

    # What is said and heard.

    def _heard(self, peer: str, body: bytes) -> None:
        parcel = decode_parcel(body)
        if parcel.incarnation != self.incarnations.get(peer):
            raise ProtocolError(f"{peer} speaks as another incarnation than it was met as")
        self.heard_at[peer] = self.clock()
        self.heard_by[peer] = self.name in parcel.hears
        if not self.heard_by[peer]:  # it shall hear us, and that it is heard, before the next renewal
            self._parcels.setdefault(peer, [])
        self._step(lambda: self._take(parcel))

    def _take(self, parcel: Parcel) -> None:
        for to, message in parcel.said:
            if not isinstance(message, Bye) or message.incarnation == parcel.incarnation:
                self._hear(parcel.incarnation, to, message)

    def _hear(self, sender: str, to: str, message: Message) -> None:
        now = self.clock()
        voter = self.voter
        if voter and to in (VOTER, voter.file.voter):
            voted = not voter.stopped
            voter.receive(sender, message, now)
            if voted and voter.stopped:
                log.error("%s votes no more: %s", self.name, voter.stopped)
        elif to == self.me:
            with self.gate.mutex:
                self.member.receive(sender, message, now)
                valid = self.member.valid(now)
                wedged = self.member.wedged
            if wedged and self.changing_since is None:
                self.changing_since = now
                self._renew()
            self._note_lease(valid)
            if self.proposer:
                self.proposer.receive(sender, message, now)

    def _send(self, to: str, message: Message) -> None:
        if to == self.me or (self.voter and to == self.voter.file.voter):
            self._hear(self.me, to, message)
        elif peer := self._peer_of(to):
            self._say_to(peer, to, message)

    def _say_to(self, peer: str, to: str, message: Message) -> None:
        self._parcels.setdefault(peer, []).append((to, message))

    def _flush(self) -> None:
        parcels, self._parcels = self._parcels, {}
        hears = self._hears(self.clock()) if parcels else []
        for peer, said in parcels.items():
            self.pulse.send(peer, encode((self.me, hears, said)))

    def _peer_of(self, to: str) -> str | None:
        """The name of the node that a voter, member or proposer is at."""
        if "#" in to:
            return _node_of(to)
        return next((peer for peer, incarnation in self.incarnations.items() if incarnation == to), None)

    def _name_of(self, incarnation: str) -> str:
        view = self.member.view
        known: Iterable[Node] = view.members if view else ()
        return next((node.name for node in known if node.incarnation == incarnation), incarnation[:8])

    def _lost_peer(self, peer: str, why: str) -> None:
        log.debug("%s: no renewals to %s: %s", self.name, peer, why)
        for known in (self.incarnations, self.heard_at, self.heard_by):
            known.pop(peer, None)
        self.on_lost_peer(peer)


def _node_of(voter: str) -> str:
    return voter.rpartition("#")[0]
