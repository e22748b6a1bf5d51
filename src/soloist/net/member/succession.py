"""From view to view, in the loop: what a node does once it is agreed who is a member, however that was agreed."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

import msgspec

from soloist.net.cards import algorithms_of, bound, check_view
from soloist.net.engine.switchboard import Everybody, Switchboard
from soloist.net.errors import ConfigMismatch
from soloist.net.link.handshake import Who, incarnation
from soloist.net.link.transport import Transport
from soloist.net.link.wire import Envelope
from soloist.net.member.beginning import Beginning
from soloist.net.member.birth import Birth, Newborn
from soloist.net.member.origin import DataDirectory
from soloist.net.member.roster import Roster
from soloist.views import Algorithm, Node, View

log = logging.getLogger("soloist.net")

MOST_MAIL = 100_000
"""Messages that are kept for a view that is not here yet."""
FINISH_SECONDS = 1.0
"""Seconds that who leaves in the middle of a beginning waits, at most, for its end."""


class Succession(Beginning):
    """Callers that have no view to wait in wait here, and so does what peers say of a view that is not here yet."""

    board: Switchboard
    transport: Transport
    roster: Roster
    data: DataDirectory | None
    ended = False

    # What differs.

    def run(self, algorithms: tuple[Algorithm, ...]) -> None:
        """What the views that we make are to run; nothing: as before."""
        raise NotImplementedError

    def fetch(self) -> None:
        """There is a later view than ours."""
        raise NotImplementedError

    def entering(self, view: View) -> None:
        """Its locks are about to begin here."""

    def become(self, node: Node) -> None:
        """This process goes on as another incarnation, if others let it."""
        raise NotImplementedError

    # In the loop.

    async def finish(self) -> None:
        """Others may be bound to begin with us, and who is gone is waited for until all are restarted. It takes a few messages."""
        end = time.monotonic() + FINISH_SECONDS
        others = self.birth.met.keys() - {self.who.node}
        while self.birth.counted_on and not self.joining and time.monotonic() < end:
            if not others <= set(self.transport.connected()):
                return
            await asyncio.sleep(0.001)

    def refusal(self, theirs: Who) -> str | None:
        """Once there is a view it decides who is a member; before, as ever."""
        if self.roster.is_namesake(theirs):
            return f"another node is called {theirs.node!r}, at {self.roster.met[theirs.node].address}"
        if self.joining or self.open or theirs.epoch:
            return None
        if theirs.joins:
            return f"the cluster of {self.who.node!r} has not begun yet; who joins it is taken in then"
        return super().refusal(theirs)

    def go_on(self) -> None:
        if not self.joining:
            super().go_on()

    def as_member(self, who: Who) -> Node:
        """What views say of this node."""
        address = self.roster.told.address
        return Node(who.node, who.incarnation, address, who.versions.oldest, who.versions.newest)

    def trouble(self, peer: str, why: str, mismatch: bool) -> None:
        """Of one who wants to join, and cannot, callers here need not hear."""
        if self.roster.concerns(peer):
            super().trouble(peer, why, mismatch)

    def _learn(self, view: View) -> None:
        """There is a view, so this is no beginning."""
        if self.ended or not self.roster.learn(view):
            return
        self.who = msgspec.structs.replace(self.who, epoch=max(view.epoch, self.who.epoch))
        self.joining = not self.open
        if self.roster.told.voter_only:
            self.who = bound(self.who, view)  # so that it lets in nobody whom all members would refuse
            self.run(())
            self.board.look_on(view)
            self._forget()

    def _forget(self, *left: str) -> None:
        if not self.ended and (self.open or self.roster.told.voter_only):
            for name in self.roster.forget(*left):
                self.troubles.pop(name, None)

    def _activate(self, view: View) -> None:
        if self.ended or view.epoch <= self.board.table.epoch:
            return
        if not self._fits(view):
            return
        self.who = msgspec.structs.replace(bound(self.who, view), epoch=view.epoch)
        self.run(algorithms_of(self.who))
        callers, mail = self.end()
        now = [(peer, envelope) for peer, envelope in mail if envelope.epoch == view.epoch]
        self.mail = [(peer, envelope) for peer, envelope in mail if envelope.epoch > view.epoch]
        self._learn(view)
        self.joining = False
        self.transport.expect(
            {node.name: node.incarnation for node in view.members if node.name != self.who.node}
        )
        self.entering(view)
        self._forget()
        self._sort_out(view)  # before the mail that was kept is heard
        self.board.activate(view, callers, now)

    def _fits(self, view: View) -> bool:
        """Whether the locks of that view are run by what we were told to run them by; if not, callers are told."""
        try:
            check_view(self.who, view)
        except ConfigMismatch as error:
            log.error("%s: %s", self.who.node, error)
            self.open = False
            Beginning.trouble(self, "epoch " + str(view.epoch), str(error), mismatch=True)
            return False
        return True

    def _sort_out(self, view: View) -> None:
        """M6: mail counts only from the incarnations that the view names."""
        members = {node.name: node.incarnation for node in view.members}
        self.board.outsiders = {
            peer
            for peer in self.transport.connected()
            if self.transport.incarnation(peer) != members.get(peer)
        }

    def _rejoin(self) -> None:
        """Left out of a view: come back as another incarnation. Those who wait do so until then."""
        if self.ended:
            return
        waiting, _ = self.board.table.wedge()
        self.board.outsiders = (
            Everybody()
        )  # of that epoch nothing is heard any more, not even over a new connection
        self.open, self.joining = False, True
        self.callers += waiting
        self.who = msgspec.structs.replace(self.who, incarnation=incarnation())
        if self.data:
            with suppress(OSError):  # then its next start proves nothing about this one, which is waited for
                self.data.become(self.who.incarnation)
        self.birth = Birth(self.who.node, self.who.members, Newborn(self.who.incarnation, self.who.origin))
        self.become(self.as_member(self.who))
        self.roster.look_for_all()
        self.transport.begin_again()

    def keep(self, peer: str, envelope: Envelope) -> None:
        """M6: of a later epoch; it is delivered once that has begun."""
        if len(self.mail) < MOST_MAIL:
            self.mail.append((peer, msgspec.structs.replace(envelope, body=envelope.body.copy())))
            self.fetch()
