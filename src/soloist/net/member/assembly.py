"""The membership of one node without a lease: its voter, member and proposer, driven in its loop.

Nobody is ever out-waited here. So there are no renewals, no thread and no disk: votes end with their process. What is said goes
between the messages of the locks, and only while something is to be changed. It may be lost, with a connection, and is said
again until the change is made.

A lock costs nothing more: there is no gate. A node that wedges puts a door in front of all its locks (`Shut`), and tells what is
held at that moment; a view takes it away again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from soloist.core import Message
from soloist.net.engine.switchboard import Switchboard
from soloist.net.engine.ticket import Room, Ticket
from soloist.net.link.transport import Transport
from soloist.net.link.wire import MAX_FRAME, Counsel, encode
from soloist.net.member.canvass import Canvass
from soloist.net.member.chronicle import RESTARTED, Chronicle
from soloist.net.member.company import node_of
from soloist.net.member.events import Events
from soloist.net.member.gate import place
from soloist.net.member.hearing import Hearing, name_of
from soloist.net.member.joining import say_farewell
from soloist.net.member.origin import most_counted
from soloist.net.member.parcel import VOTER
from soloist.views import Holder, Member, Node, View, VoteFile, Voter
from soloist.views.effects import Activate, Dropped, Effect, Lost, Send
from soloist.views.messages import Accept, Bye, Dead, Decided, Fetch, Join, Poll, Prepare, Said

log = logging.getLogger("soloist.net")

BEAT_SECONDS, LAST_BEAT_SECONDS = 0.25, 5.0
"""How often what was not answered is said again: ever more seldom, where somebody does not answer at all."""
MOST_BACKLOG = 256 * 1024
"""Bytes that a peer may leave unacknowledged before nothing is said again to it."""
MOST_SAID = MAX_FRAME - 64 * 1024

decode_said = msgspec.msgpack.Decoder(Said).decode


class Assembly:
    """One node's part in what is agreed upon. Everything happens in the loop of its node."""

    def __init__(
        self, node: Node, board: Switchboard, transport: Transport, events: Events, previous: str = ""
    ) -> None:
        self.board, self.transport, self.events, self.previous = board, transport, events, previous
        self.hearing = Hearing(node.name)
        self.canvass = Canvass(self.hearing)
        self.chronicle = Chronicle(node.name, time.monotonic)
        self.member, self.voter = Member(node=node), voter_of(node)
        self.joining: Callable[[], bool] = lambda: False
        """Whether there is a view that this node wants to be in."""
        self.ended = False
        self.beat = BEAT_SECONDS
        self._early: dict[str, Bye | Dead] = {}
        """Who has gone while we had no view that it could be in."""
        self._byes: dict[str, Bye] = {}
        self._outset = self._stopped = time.monotonic()
        """Moments before which nobody can have entered in this view, and in the next one."""
        self._work: deque[Callable[[], None]] = deque()
        self._working = False
        self._said: dict[str, dict[Message, list[str]]] = {}
        self._beating: asyncio.TimerHandle | None = None
        self._waiting = ""
        """Whom a change waits for, as it was last said."""

    @property
    def me(self) -> str:
        return self.member.me

    @property
    def view(self) -> View | None:
        return self.member.view

    # What the node asks.

    def born(self, view: View) -> None:
        """All have met: this is the first view."""
        self.do(lambda: self._decided(self.me, Decided(view)))

    def meet(self) -> None:
        """Somebody is connected."""
        self.beat = BEAT_SECONDS
        self.do(self._press)

    def dead(self, incarnation: str, proof: str) -> None:
        """That process has ended: for certain."""
        log.warning("%s: %s has ended (%s)", self.hearing.name, name_of(incarnation, self.view), proof)
        self.do(lambda: self._tell_all(Dead(incarnation, proof)))

    def leave(self) -> None:
        """Say that we are gone, and never act again."""
        self.do(self._leave)
        self.close()

    def become(self, node: Node) -> None:
        """Begin again as another incarnation: the one before was left out of a view."""
        self.member, self.voter = Member(node=node), voter_of(node)
        self._outset = self._stopped = time.monotonic()
        self.chronicle.begin_again()
        self.do(lambda: None)

    def fetch(self) -> None:
        """There is a later view than ours."""
        self.do(self._fetch)

    def close(self) -> None:
        self.ended = True
        if self._beating:
            self._beating.cancel()

    def hear(self, incarnation: str, said: Counsel) -> None:
        """A peer has said this."""
        try:
            message: Message = decode_said(said.body)
        except msgspec.MsgspecError as error:
            log.error("%s: what a peer says of members cannot be read: %s", self.hearing.name, error)
            return
        if not isinstance(message, Bye) or message.incarnation == incarnation:
            self.do(lambda: self._hear_all(incarnation, said.to, message))

    # Steps.

    def do(self, work: Callable[[], Any]) -> None:
        """One step after the other, whoever asks for it in the middle of one."""
        self._work.append(work)
        if self._working:
            return
        self._working = True
        try:
            while self._work and not self.ended:
                self._step(self._work.popleft())
        finally:
            self._working = False

    def _step(self, work: Callable[[], Any]) -> None:
        self.hearing.incarnations = self._connected()
        try:
            work()
            self._settle()
            self._consider()
            self._settle()
            self._flush()
        except Exception:  # whatever a peer may have said
            log.exception("%s: what was said of members has led to this", self.hearing.name)
        if not self.ended:
            self._beat_on()

    def _connected(self) -> dict[str, str]:
        found = {peer: self.transport.incarnation(peer) for peer in self.transport.connected()}
        return {peer: incarnation for peer, incarnation in found.items() if incarnation}

    def _settle(self) -> None:
        machines: list[Any] = [self.member, self.voter, self.canvass.proposer]
        while any(machine and machine.out for machine in machines):
            for machine in machines:
                if machine:
                    effects, machine.out = machine.out, []
                    for effect in effects:
                        self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Send(to, message):
                self._send(to, message)
            case Activate(view):
                self._activated(view)
            case Lost(hold, broken):
                self.events.lost(hold.lock, hold.fence, broken)
            case Dropped(view):
                log.warning("%s was left out of epoch %d", self.hearing.name, view.epoch)
                self.events.dropped(view)

    def _consider(self) -> None:
        """Whether it is for us to make the next view. Who only asked to join, and is no more connected, is not taken in:
        it could not be got rid of again."""
        here = set(self.hearing.incarnations.values())
        self.voter.joiners = {inc: node for inc, node in self.voter.joiners.items() if inc in here}
        now = time.monotonic()
        if self.canvass.consider(self.voter, self.view, self.me, now):
            self.chronicle.see(self.voter, now)
        if proposer := self.canvass.proposer:
            for bye in self._byes.values():  # who said goodbye before it was there
                proposer.counts(bye)
            proposer.presumed = proposer.view.counter + most_counted(now - self._outset)
        if self.canvass.proposer and self.canvass.proposer.decision:
            self._settle()  # it is told
            self.canvass.proposer = None

    @property
    def busy(self) -> bool:
        """Whether something is to be said again, should it have been lost."""
        return self.canvass.since is not None or self.member.wedged or (self.view is None and self.joining())

    def _beat_on(self) -> None:
        if not self.busy:
            self.beat = BEAT_SECONDS
        elif self._beating is None:
            self._beating = self.board.loop.call_later(self.beat, self._say_again)
            self.beat = min(self.beat * 1.5, LAST_BEAT_SECONDS)

    def _say_again(self) -> None:
        self._beating = None
        if not self.ended and self.busy:
            self.do(self._press)

    def _press(self) -> None:
        self.canvass.press()
        if self.view is None and self.joining():
            self._ask_to_join()
        elif self.member.wedged:
            self._fetch()
        if (words := self.waits_for()) and words != self._waiting:
            log.warning("%s: %s", self.hearing.name, words)
        self._waiting = words

    # What is done.

    def _ask_to_join(self) -> None:
        if self.previous:
            self._tell_all(Dead(self.previous, RESTARTED))
        self._tell_all(Join(self.member.node))

    def _fetch(self) -> None:
        epoch = self.view.epoch if self.view else -1
        for peer in self.hearing.incarnations:
            self._say(peer, VOTER, Fetch(epoch))

    def _leave(self) -> None:
        """Peers that are no members are told, too: they may wait for a view that is over with us."""
        if self.view:
            self.member.counter = self.board.table.counted
        say_farewell(self.member, ())
        self.member.out.clear()
        bye = Bye(self.me, self.member.counter)
        for peer, incarnation in self.hearing.incarnations.items():
            self._say(peer, VOTER, bye)
            self._say(peer, incarnation, bye)
        self.canvass.proposer = None
        self.voter.failed("it has left")  # its vote is not asked for any more, and must not be given
        self._flush()

    def _tell_all(self, message: Message) -> None:
        for peer in self.hearing.incarnations:
            self._say(peer, VOTER, message)
        self._hear(self.me, VOTER, message)

    def _hear_all(self, sender: str, to: tuple[str, ...], message: Message) -> None:
        for each in to:
            self._hear(sender, each, message)

    def _hear(self, sender: str, to: str, message: Message) -> None:
        self.chronicle.hear(message)
        now = time.monotonic()
        if isinstance(message, Decided):
            self._decided(sender, message)
        elif to in (VOTER, self.voter.file.voter):
            if self.view is None:
                self._hear_early(sender, message)
            self.voter.receive(sender, message, now)
            if isinstance(message, Bye):
                self._byes[message.incarnation] = message
                self.events.left_us(self.hearing.peer_of(message.incarnation) or "")
        elif to == self.me:
            if isinstance(message, Prepare) and self.view and message.epoch == self.view.epoch + 1:
                self._wedge()
            self.member.receive(sender, message, now)
            self.canvass.hear(sender, message, self.view)

    def _hear_early(self, sender: str, message: Message) -> None:
        """The others have begun; or somebody who is to begin with us has gone before."""
        if isinstance(message, Bye | Dead):
            self._early[message.incarnation] = message
        elif isinstance(message, Poll | Prepare | Accept) and (peer := self.hearing.peer_of(sender)):
            self._say(peer, VOTER, Fetch(-1))

    def _decided(self, sender: str, message: Decided) -> None:
        """Both have to know, and whoever makes the next view."""
        now = time.monotonic()
        self.events.learned(message.view)
        if self.me in message.view.incarnations or self.view:
            self.voter.receive(sender, message, now)
        self.member.receive(sender, message, now)
        self.canvass.hear(sender, message, self.view)

    def _activated(self, view: View) -> None:
        self.member.holds = {}  # who is inside is known to the locks, until we are to tell it
        self.beat = BEAT_SECONDS
        self.chronicle.activate(view)
        self.hearing.begin(view, time.monotonic())
        self.canvass.rest()
        self._outset = self._stopped
        self._byes = {inc: bye for inc, bye in self._byes.items() if inc in view.incarnations}
        self.events.activated(view)
        early, self._early = self._early, {}
        for incarnation, message in early.items():
            self._hear(incarnation, VOTER, message)

    def _wedge(self) -> None:
        """Nobody goes in or out any more in this epoch; the member learns of those who are inside."""
        if self.member.wedged:
            return
        self._stopped = time.monotonic()
        table, shut = self.board.table, Shut(self)
        table.terms = table.terms._replace(door=shut)
        holds = {}
        for lock, instance in table.instances.items():
            instance.door = shut
            for ticket in instance.inside.values():
                slot = 0 if instance.capacity == 1 else place(ticket)
                holds[lock, slot] = Holder(lock, self.me, ticket.fence, slot, instance.capacity)
        self.member.holds, self.member.counter = holds, table.counted
        self.chronicle.stop(self.member, time.monotonic())

    def released(self, lock: str, capacity: int, ticket: Ticket) -> None:
        """While nobody goes out: what was reported is so no more."""
        slot = 0 if capacity == 1 else place(ticket)
        self.do(lambda: self.member.release(lock, slot, time.monotonic()))

    # What is said.

    def _send(self, to: str, message: Message) -> None:
        if to in (self.me, self.voter.file.voter):
            self._hear(self.me, to, message)
        elif peer := self.hearing.peer_of(to.rpartition("#")[2]):
            self._say(peer, to, message)

    def _say(self, peer: str, to: str, message: Message) -> None:
        self._said.setdefault(peer, {}).setdefault(message, []).append(to)

    def _flush(self) -> None:
        """Past the outbox of the locks, which is closed when the node is."""
        said, self._said = self._said, {}
        for peer, messages in said.items():
            for message, to in messages.items():
                body = encode(message)
                if len(body) > MOST_SAID:
                    log.error(
                        "%s: too much is held to be told to %s: %d bytes", self.hearing.name, peer, len(body)
                    )
                elif self.transport.backlog(peer) < MOST_BACKLOG or isinstance(message, Bye):
                    self.transport.link(peer)([], [Counsel(tuple(to), msgspec.Raw(body))])

    # In words.

    def waits_for(self) -> str:
        """Whom a change of view waits for, if it takes long."""
        view, since = self.view, self.canvass.since
        if view is None or since is None or time.monotonic() - since < 1.0:
            return ""
        here = {self.me, *self._connected().values(), *self.voter.gone}
        away = [node.name for node in view.members if node.incarnation not in here]
        proposer = self.canvass.proposer
        silent = [node_of(vote) for vote in view.voters if proposer and vote not in proposer.polled]
        names = away or sorted(set(silent) - {self.hearing.name})
        return (
            f"{', '.join(names)} has to agree to other members, and does not answer: without a lease nobody is left out "
            "who has not said goodbye"
            if names
            else ""
        )


class Shut:
    """The door of a node that is wedged."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly

    def enter(self, room: Room, ticket: Ticket) -> bool:
        return False

    def leave(self, room: Room, ticket: Ticket) -> bool:
        self.assembly.released(room.lock, room.capacity, ticket)
        return False

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        return not ticket.lost

    # Where there is no lease no hold is registered.

    def register(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> Holder | None:
        return None

    def begin(self, epoch: int, ticket: Ticket) -> bool:
        return False

    def forgo(self, ticket: Ticket) -> None:
        pass

    def abandon(self, ticket: Ticket) -> None:
        pass


def voter_of(node: Node) -> Voter:
    """Where nobody is ever out-waited every member votes, and a vote ends with its process."""
    return Voter(file=VoteFile(cluster="", voter=node.vote))
