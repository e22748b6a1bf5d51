"""The membership of one node: its voter, member and proposer, driven in a thread of their own.

The thread is that of a `Pulse`: no loop, and no body that computes for a minute, keeps it from renewing a lease or from
stopping this node when the others make a view without it. Only the member is shared with the loop, behind a `Gate`. What
concerns the loop is told to `Events`, whose methods are called in the thread.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

from soloist.core import Message, ProtocolError
from soloist.net.link.cipher import Cipher
from soloist.net.link.wire import encode
from soloist.net.member.absence import Absence
from soloist.net.member.breaks import Pleas
from soloist.net.member.canvass import Canvass
from soloist.net.member.chronicle import Chronicle
from soloist.net.member.clock import Clock
from soloist.net.member.company import node_of
from soloist.net.member.editions import Editions
from soloist.net.member.events import Events
from soloist.net.member.gate import Gate
from soloist.net.member.hearing import Hearing, name_of
from soloist.net.member.joining import joining_requests, say_farewell
from soloist.net.member.parcel import VOTER, Parcel, decode_parcel
from soloist.net.member.renewal import Pulse
from soloist.net.member.votes import CannotStore, Votes
from soloist.views import Member, Node, View, Voter
from soloist.views.effects import Activate, Discharged, Dropped, Effect, Entitled, Lost, Send, Store
from soloist.views.messages import Bye, Dead, Decided, Fetch, Poll, Polled

log = logging.getLogger("soloist.net")

MOST_BEAT_SECONDS = 0.25
"""Seconds, at most, between two looks at whether somebody has fallen silent."""
DEFAULT_LEASE = 10.0
"""Seconds, while no view has told."""


class Council:
    """One node's part in what is agreed upon."""

    votes_only = False
    """Whether it never becomes a member."""

    def __init__(self, node: Node, votes: Votes, clock: Clock, events: Events, previous: str = "") -> None:
        self.votes, self.clock, self.events = votes, clock, events
        self.name, self.previous = node.name, previous
        """The incarnation that used the same data directory before: since we have it, that one has ended."""
        self.gate = Gate(Member(node=node), clock, lambda: self.do(lambda: None))
        self.voter: Voter | None = None
        self.pulse = Pulse(self._heard, self._lost_peer)
        self.on_lost_peer: Callable[[str], None] = lambda peer: None
        self.hearing = Hearing(node.name)
        self.canvass = Canvass(self.hearing)
        self.pleas = Pleas(self)
        self.editions = Editions(votes, node.name)
        self.chronicle = Chronicle(node.name, clock)
        self.absence = Absence(self.hearing)
        self.known: View | None = None
        """The latest view that we have heard of; we may not be in it."""
        self.leased = False
        self.unleased_since = clock()
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
        first: bytes | None = None,
    ) -> None:
        """There is a connection to that peer, for us alone. `first` is said there before anything else."""

        def take() -> None:  # at once, or the end of the connection before this one would come in between
            self.hearing.meet(peer, incarnation)
            self.pulse.add(peer, sock, unread, cipher, first)
            self._step(self._renew)  # renewals before this went nowhere

        if not self.pulse.do(take):
            sock.close()

    def born(self, view: View) -> None:
        """All voters and members have met, nobody has ever voted: this is the first view."""
        self.do(lambda: self._install(view))

    def dead(self, incarnation: str, proof: str) -> None:
        """That process has ended: for certain."""
        self.do(lambda: self._tell_of(incarnation, proof))

    def leave(self, then: Callable[[], None]) -> None:
        """Let nobody in any more; once nothing is held here, say so, and never act again."""
        self.do(lambda: self._leave(then))

    def fetch(self) -> None:
        """There is a later view than ours."""
        self.do(self._fetch)

    def become(self, node: Node) -> None:
        """Begin again as another incarnation: the one before was left out of a view."""
        self.do(lambda: self._become(node))

    def close(self) -> None:
        self.ended = True
        self.pulse.close()
        self.votes.close()

    def do(self, work: Callable[[], None]) -> None:
        """In the thread, as one step."""
        self.pulse.do(lambda: self._step(work))

    # What the thread does.

    def _start(self) -> None:
        now = self.clock()
        if self.votes.bad:
            log.warning("%s does not vote: %s", self.name, self.votes.bad)
        else:
            self.voter = Voter.start(self.votes.file, self.votes.place, now)
            self._learn(self.voter.view)
        self._stop = self.pulse.call_every(self.beat, lambda: self._step(self._beat))

    def _install(self, view: View) -> None:
        now = self.clock()
        self._set_pace(view)
        self._learn(view)
        if self.voter:
            self.voter.receive(self.me, Decided(view), now)
            self._perform(self.voter)
        if self.voter and self.voter.stopped:
            return  # what cannot be stored must not begin
        with self.gate.step() as member:
            member.receive(self.me, Decided(view), now)
        self._renew()

    def _become(self, node: Node) -> None:
        with self.gate.mutex:
            self.gate.admit(Member(node=node))
        self.hearing.become_another()
        self.chronicle.begin_again()

    def _fetch(self) -> None:
        with self.gate.step() as member:
            for voter in member.known_voters():
                member.say(voter, Fetch(member.epoch))

    def _leave(self, then: Callable[[], None]) -> None:
        try:
            with self.gate.step() as member:
                say_farewell(member, list(self.hearing.incarnations.values()))
            self._perform(self.member)
            self.tell_voters(Bye(self.me))
            self._flush()
        finally:  # whatever went wrong: somebody waits for the end
            then()

    def _tell_of(self, incarnation: str, proof: str) -> None:
        log.warning("%s: %s has ended (%s)", self.name, name_of(incarnation, self.member.view), proof)
        self.tell_voters(Dead(incarnation, proof))

    def ask_for_newest(self, view: View, number: int) -> None:
        """Whether there is a view after this one: voters that have none and make none say so to our pleas."""
        for voter in view.voters:
            self._send(voter, Poll(view.epoch + 1, number))

    def tell_voters(self, message: Message) -> None:
        """All that can be heard; in the thread."""
        for peer in self.pulse.peers():
            self._say_to(peer, VOTER, message)
        self._hear(self.me, VOTER, message)

    def _step(self, work: Callable[[], None]) -> None:
        """Everything goes through here: do it, then do what it asks for, until nothing is left to do."""
        if self.ended:
            return
        work()
        self._settle()
        if self.canvass.consider(self.voter, self.newest_view, self.me, self.clock()) and self.voter:
            self.chronicle.see(self.voter, self.clock())
        self._settle()
        self._flush()

    def _settle(self) -> None:
        machines: list[Any] = [self.member, self.voter, self.canvass.proposer]
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
                    self._flush()  # messages from before this need not wait for our disk
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
                case Lost(hold, broken):
                    self.events.lost(hold.lock, hold.fence, broken)
                case Entitled(hold) | Discharged(hold):
                    self.events.heard_of(hold)
                case Dropped(view):
                    log.warning("%s was left out of epoch %d", self.name, view.epoch)
                    self.hearing.left_out = view, self.clock()
                    self.events.dropped(view)

    def _activated(self, view: View) -> None:
        self.chronicle.activate(view)
        self._set_pace(view)
        self._learn(view)
        self.hearing.begin(view, self.clock())
        self.canvass.rest()
        if self.voter:  # it may know of none yet, and would never vote
            self.voter.receive(self.me, Decided(view), self.clock())
        self.events.activated(view)
        self.pleas.see(view)
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
        if member.view is None and not member.ended:
            self._ask_for_view()
            if not self.votes_only and self.hearing.may_join(self.newest_view, now):
                self._ask_to_join()
        deaf = self.hearing.deaf_to(member.view, now) if member.view else ()
        news, member.deaf = deaf != member.deaf, deaf
        # Without a lease the voters may not have had our view when they were asked: do not let callers wait for it.
        if now >= self.renew_at or news or (member.view and not self.leased):
            self._renew()
            for peer in self.pulse.peers():  # an empty parcel is said, too: it shows that we hear
                self._parcels.setdefault(peer, [])
        with self.gate.step() as member:
            valid = member.valid(now)
            if member.holds and not valid:
                member.lose_all()
        self._note_lease(valid)
        self._look_around(now)
        self.pleas.say()
        self.canvass.press()
        for voter, decided in self.canvass.see_to_wish(self.known):
            self._send(voter, decided)

    def _renew(self) -> None:
        now = self.clock()
        with self.gate.step() as member:
            member.renew(now)
            view = member.view
        self.renew_at = now + (view.lease.length if view else 1.0) / 3

    @property
    def newest_view(self) -> View | None:
        """That we are in, or know of."""
        return self.member.view or self.known

    def _learn(self, view: View | None) -> None:
        if view and (self.known is None or view.epoch > self.known.epoch):
            self.unleased_since = self.clock() if self.known is None else self.unleased_since
            self.known = view
            if self.me not in view.incarnations:  # else once it has begun here
                self.pleas.see(view)
            self.events.learned(view)

    def _note_lease(self, valid: bool) -> None:
        if valid and (self.gate.refused or not self.leased):  # perhaps it was over when nobody looked
            self.gate.refused = False
            self.events.renewed()
        if self.leased and not valid:
            self.unleased_since = self.clock()
        self.leased = valid

    def _look_around(self, now: float) -> None:
        """Who is missing; and whether too few voters are heard: who only waits for a view to be made is not starving."""
        if view := self.newest_view:
            self.absence.look(view, now)
            if not self.leased and (why := self.absence.too_few(view, self.unleased_since, now)):
                self.events.starving(why)

    def _ask_for_view(self) -> None:
        """Of anybody, as those whom we were told of need not vote."""
        fetch = Fetch(self.known.epoch if self.known else -1)
        for peer, incarnation in self.hearing.incarnations.items() if self.voter or self.votes.bad else ():
            self._parcels.setdefault(peer, []).extend([(incarnation, fetch), (VOTER, fetch)])

    def _ask_to_join(self) -> None:
        for message in joining_requests(self):
            self.tell_voters(message)

    # What is said and heard.

    def _heard(self, peer: str, body: bytes) -> None:
        parcel = decode_parcel(body)
        if parcel.incarnation != self.hearing.incarnations.get(peer):
            raise ProtocolError(f"{peer} speaks as another incarnation than it was met as")
        self.hearing.heard(peer, parcel.hears, self.clock(), parcel.voter)
        self.editions.compare(peer, parcel, self.voter)
        if not (self.hearing.heard_by[peer] and peer in self.hearing.told):  # not only with the next renewal
            self._parcels.setdefault(peer, [])
        self._step(lambda: self._take(parcel))

    def _take(self, parcel: Parcel) -> None:
        for to, message in parcel.said:
            if isinstance(message, Bye):
                if message.incarnation != parcel.incarnation:
                    continue
                self.events.left_us(self.hearing.peer_of(parcel.incarnation) or "")
            self._hear(parcel.incarnation, to, message)

    def _hear(self, sender: str, to: str, message: Message) -> None:
        now = self.clock()
        voter = self.voter
        self.chronicle.hear(message)
        if isinstance(message, Decided):
            self._learn(message.view)
        if voter and to in (VOTER, voter.file.voter):
            if self.editions.withhold(voter, message):
                return
            voted = not voter.stopped
            voter.receive(sender, message, now)
            if voted and voter.stopped:
                log.error("%s votes no more: %s", self.name, voter.stopped)
        elif to == self.me:
            with self.gate.step() as member:
                member.receive(sender, message, now)
                valid, wedged = member.valid(now), member.wedged
            if wedged and not self.chronicle.stopped:
                self.chronicle.stop(self.member, now)
                self._renew()
            self._note_lease(valid)
            self.canvass.hear(sender, message, self.known)
            if isinstance(message, Polled) and not message.promised:
                self.pleas.confirm(message.voter, message.epoch - 1, message.number)

    def _send(self, to: str, message: Message) -> None:
        if to == self.me or (self.voter and to == self.voter.file.voter):
            self._hear(self.me, to, message)
        elif peer := node_of(to) or self.hearing.peer_of(to):
            self._say_to(peer, to, message)

    def _say_to(self, peer: str, to: str, message: Message) -> None:
        self._parcels.setdefault(peer, []).append((to, message))

    def _flush(self) -> None:
        parcels, self._parcels = self._parcels, {}
        view = self.newest_view
        lease = view.lease.length if view else DEFAULT_LEASE
        hears = self.hearing.lately(lease, self.clock()) if parcels else []
        for peer, said in parcels.items():
            self.pulse.send(peer, encode((self.me, hears, said, *self.editions.shown(peer, self.voter))))
            if peer in hears:
                self.hearing.told.add(peer)

    def _lost_peer(self, peer: str, why: str) -> None:
        log.debug("%s: no renewals to %s: %s", self.name, peer, why)
        self.hearing.lost(peer)
        self.on_lost_peer(peer)
