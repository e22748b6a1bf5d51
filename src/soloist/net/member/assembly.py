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
from soloist.net.link.transport import Transport
from soloist.net.link.wire import Counsel
from soloist.net.member.canvass import Canvass
from soloist.net.member.chronicle import RESTARTED, Chronicle
from soloist.net.member.company import node_of
from soloist.net.member.counts import Counts
from soloist.net.member.events import Events
from soloist.net.member.hearing import Hearing, name_of
from soloist.net.member.joining import say_farewell
from soloist.net.member.mail import Mail
from soloist.net.member.parcel import VOTER
from soloist.net.member.shut import shut
from soloist.views import Member, Node, View, VoteFile, Voter
from soloist.views.effects import Activate, Dropped, Effect, Lost, Send
from soloist.views.messages import Accept, Bye, Dead, Decided, Fetch, Join, Poll, Prepare, Said

log = logging.getLogger("soloist.net")

RANK_SECONDS = 2.0
"""Seconds that each further member waits longer before it proposes, too. It need not at all, unless it has heard of something
that the first has not: without that one nothing can be agreed upon."""
PAIR_SECONDS = 0.0001
"""Seconds per pair of members to wait for others that come or go at the same time: a view costs as much."""
MOST_MEMBERS = 64
"""Members; where there are more, nobody says goodbye."""
PATIENCE_SECONDS = 3.0
"""Seconds after which it is said whom a change waits for."""
BEAT_SECONDS, LAST_BEAT_SECONDS = 0.25, 5.0
"""Seconds until what was not answered is said again: ever more of them, where somebody does not answer at all."""

decode_said = msgspec.msgpack.Decoder(Said).decode


class Assembly:
    """One node's part in what is agreed upon. Everything happens in the loop of its node."""

    def __init__(
        self, node: Node, board: Switchboard, transport: Transport, events: Events, previous: str = ""
    ) -> None:
        self.board, self.transport, self.events, self.previous = board, transport, events, previous
        self.hearing = Hearing(node.name)
        self.canvass = Canvass(self.hearing, RANK_SECONDS)
        self.chronicle = Chronicle(node.name, time.monotonic)
        self.member, self.voter = Member(node=node), voter_of(node)
        self.joining: Callable[[], bool] = lambda: False
        """Whether there is a view that this node wants to be in."""
        self.on_goodbye: Callable[[str], None] = lambda incarnation: None
        """Called with who says that it has gone; another of its name may be there already."""
        self.ended = False
        self.beat = 0.0
        self._early: dict[str, Bye | Dead] = {}
        """Who has gone while we had no view that it could be in."""
        self.counts, self.mail = Counts(), Mail(transport)
        self._work: deque[Callable[[], None]] = deque()
        self._working = self._looks = False
        self._stirred = False
        """Whether there may be something to be changed."""
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
        self.beat = 0.0
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
        self.counts = Counts()
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
            looks = isinstance(message, Prepare | Poll)
            self.do(lambda: self._hear_all(incarnation, said.to, message), looks)

    # Steps.

    def do(self, work: Callable[[], Any], looks: bool = True) -> None:
        """One step after the other, even if one is asked for in the middle of another. Whether it `looks` if there is something to be
        changed: who is only told something does so a little later, since many may say that they go."""
        self._work.append(work)
        self._looks |= looks
        if self._working:
            return
        self._working = True
        try:
            while self._work and not self.ended:
                self._step(self._work.popleft())
        finally:
            self._working = False

    def _step(self, work: Callable[[], Any]) -> None:
        looks = self._looks or self.canvass.proposer is not None
        self._looks = False
        try:
            if looks:
                self._look()
            work()
            self._settle()
            if looks or self.canvass.proposer:
                self._consider()
                self._settle()
            self.mail.flush()
        except Exception:  # whatever a peer may have said
            log.exception("%s: what was said of members has led to this", self.hearing.name)
        if not self.ended:
            self._beat_on()

    def _look(self) -> None:
        """Who is connected. Who only asked to join, and is so no more, is not taken in, nor told of: it could not be got rid
        of again."""
        self.hearing.incarnations = self._connected()
        here = set(self.hearing.incarnations.values())
        for each in (self.voter, self.canvass.proposer):
            if each:
                each.joiners = {inc: node for inc, node in each.joiners.items() if inc in here}

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
        """Whether it is for us to make the next view."""
        now = time.monotonic()
        if proposer := self.canvass.proposer:
            self.counts.tell(proposer)
        if self.canvass.consider(self.voter, self.view, self.me, now):
            self.chronicle.see(self.voter, now)
        if proposer := self.canvass.proposer:
            self.counts.tell(proposer)
            if proposer.decision:
                self._settle()  # it is told
                self.canvass.proposer = None

    @property
    def busy(self) -> bool:
        """Whether something is to be said again, should it have been lost."""
        waits = self.view is None and self.joining()
        return self._stirred or self.canvass.since is not None or self.member.wedged or waits

    def _beat_on(self) -> None:
        if not self.busy:
            self.beat = 0.0
        elif self._beating is None:
            soon = self.canvass.batch_seconds + 0.001
            self._beating = self.board.loop.call_later(self.beat or soon, self._say_again)
            self.beat = min(self.beat * 1.5 or BEAT_SECONDS, LAST_BEAT_SECONDS)

    def _say_again(self) -> None:
        self._beating = None
        if not self.ended and self.busy:
            self.do(self._press)

    def _press(self) -> None:
        self._stirred = False
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
            self.mail.say(peer, VOTER, Fetch(epoch))

    def _leave(self) -> None:
        """Peers that are no members are told, too: they may wait for a view that is over with us.

        Not in a crowd: each goodbye makes all of them agree, which is quadratic; there all had better go together.
        """
        self.canvass.proposer = None
        self.voter.failed("it has left")  # its vote is not asked for any more, and must not be given
        if self.view and len(self.view.members) > MOST_MEMBERS:
            return
        if self.view:
            self.member.counter = self.board.table.counted
        say_farewell(self.member, ())
        self.member.out.clear()
        bye = Bye(self.me, self.member.counter)
        for peer, incarnation in self.hearing.incarnations.items():
            self.mail.say(peer, VOTER, bye)
            self.mail.say(peer, incarnation, bye)
        self.mail.flush()

    def _tell_all(self, message: Message) -> None:
        for peer in self.hearing.incarnations:
            self.mail.say(peer, VOTER, message)
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
            self._stirred |= isinstance(message, Bye | Dead | Join)
            if isinstance(message, Bye):
                self.counts.byes[message.incarnation] = message
                self.on_goodbye(message.incarnation)
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
            self.mail.say(peer, VOTER, Fetch(-1))

    def _decided(self, sender: str, message: Decided) -> None:
        """Both have to know, and so has the proposer of the next view."""
        now = time.monotonic()
        left_out = self.view and self.me not in message.view.incarnations
        if left_out and self.view and message.view.epoch > self.view.epoch:
            self._wedge()  # so that the member knows what is held here, and loses it
        self.events.learned(message.view)
        if self.me in message.view.incarnations or self.view:
            self.voter.receive(sender, message, now)
        self.member.receive(sender, message, now)
        self.canvass.hear(sender, message, self.view)

    def _activated(self, view: View) -> None:
        self.member.holds = {}  # who is inside is known to the locks, until we are to tell it
        self.beat = 0.0
        self.canvass.batch_seconds = PAIR_SECONDS * len(view.members) ** 2 / 2
        self.chronicle.activate(view)
        self.hearing.begin(view, time.monotonic())
        self.canvass.rest()
        self.counts.begin(view)
        self.events.activated(view)
        early, self._early = self._early, {}
        for incarnation, message in early.items():
            self._hear(incarnation, VOTER, message)

    def _wedge(self) -> None:
        """Nobody goes in or out any more in this epoch; the member learns of those who are inside."""
        if self.member.wedged:
            return
        table = self.board.table
        self.counts.stop()
        self.member.holds = {(hold.lock, hold.slot): hold for hold in shut(table, self.me, self._released)}
        self.member.counter = table.counted
        self.chronicle.stop(self.member, time.monotonic())

    def _released(self, lock: str, slot: int) -> None:
        """While nobody goes out: what was reported is so no more."""
        self.do(lambda: self.member.release(lock, slot, time.monotonic()))

    def _send(self, to: str, message: Message) -> None:
        if to in (self.me, self.voter.file.voter):
            self._hear(self.me, to, message)
        elif peer := self.hearing.peer_of(to.rpartition("#")[2]):
            self.mail.say(peer, to, message)

    # In words.

    def waits_for(self) -> str:
        """Whom a change of view waits for, if it takes long."""
        view, since = self.view, self.canvass.since
        if view is None or since is None or time.monotonic() - since < PATIENCE_SECONDS:
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


def voter_of(node: Node) -> Voter:
    """Where nobody is ever out-waited every member votes, and a vote ends with its process."""
    return Voter(file=VoteFile(cluster="", voter=node.vote))
