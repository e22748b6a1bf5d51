"""The loop's side of membership without a lease: all members agree on who comes and who goes, and nobody is out-waited.

All who begin have to meet, as ever (`birth`). After that a node that is closed leaves by a change of view, and one that is started
comes in by one. Who ends without a word is waited for, unless its end is proved.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from soloist.net.cards import algorithms_of
from soloist.net.engine.switchboard import Switchboard
from soloist.net.link.handshake import Who
from soloist.net.link.transport import Transport
from soloist.net.link.wire import Counsel
from soloist.net.member.assembly import Assembly
from soloist.net.member.beginning import Beginning
from soloist.net.member.birth import Newborn
from soloist.net.member.company import Company
from soloist.net.member.deaths import Deaths
from soloist.net.member.origin import DataDirectory, by_clock, epoch_of
from soloist.net.member.roster import Roster
from soloist.net.member.succession import Succession
from soloist.net.member.testament import Testament
from soloist.net.telemetry.observer import tell
from soloist.views import Algorithm, Holder, Node, View

log = logging.getLogger("soloist.net")

AHEAD = (
    "fences are ahead of the clock: if all nodes are started again within minutes, they may go back; "
    "give one of them a data_dir, and they go on"
)


class Fellowship(Succession):
    """The `Meeting` and `Lobby` of a node without a lease, and what its `Assembly` tells."""

    def __init__(
        self, who: Who, told: Company, board: Switchboard, transport: Transport, data: DataDirectory | None
    ) -> None:
        self.data, self.board, self.transport = data, board, transport
        self.roster = Roster(told, transport)
        previous = data.previous if data and not who.serves else ""
        super().__init__(
            msgspec.structs.replace(told.introduced(who), previous=previous),
            board.outgoing.say,
            self._born_as,
        )
        self.known = self.roster.met
        self.joining = told.joins
        self.assembly = Assembly(self.as_member(who), board, transport, self, previous)
        self.assembly.joining = lambda: self.joining
        self.assembly.on_goodbye = self._goodbye
        self.assembly.chronicle.tell = lambda change: tell(board.table.observers, "on_view", change)
        self.deaths = Deaths(Testament(False), self.assembly.dead)
        """Of processes on this host; to tell others of its end nobody leaves a sentinel."""
        board.on_counsel = self._take_counsel
        self.run(algorithms_of(who))
        self._remembered = 0
        """The epoch from which on the next start is known to be later."""

    def run(self, algorithms: tuple[Algorithm, ...]) -> None:
        self.assembly.canvass.algorithms = algorithms

    # What the transport asks and tells.

    def refusal(self, theirs: Who) -> str | None:
        """Who takes the name of a member that nobody knows to be gone would wait for ever: better say so."""
        if refusal := super().refusal(theirs):
            return refusal
        view, gone = self.assembly.view, self.assembly.voter.gone
        for node in view.members if view and self.open else ():
            another = node.name == theirs.node and node.incarnation != theirs.incarnation
            if another and node.incarnation not in gone and node.incarnation != theirs.previous:
                return self.birth.successor(theirs.node)
        return None

    def met(self, theirs: Who) -> None:
        self.roster.meet(self.who, theirs)
        newborn = Newborn(theirs.incarnation, theirs.origin)
        if self.open:
            self.troubles.pop(theirs.node, None)
            self._sort_out(self.board.table.view)
        else:
            if theirs.epoch or self.joining:
                self._look_for_view()
            if not theirs.joins and self.birth.refusal(theirs.node, newborn) is None:
                super().met(theirs)
            self.troubles.pop(theirs.node, None)
            self.mismatches.pop(theirs.node, None)
        if sock := self.transport.socket_to(theirs.node):
            self.deaths.watch(theirs, sock)
        if self.open or self.joining:
            self.assembly.meet()

    def _look_for_view(self) -> None:
        """Whether somebody has one: then this is no beginning. When all of them have gone, it is."""
        self.joining = self.roster.told.joins or any(who.epoch for who in self.known.values())

    def _take_counsel(self, peer: str, said: Counsel) -> None:
        """In a callback of its own: all that this peer has said comes first. By then something else may have been read
        into the place where its body lies."""
        if incarnation := self.transport.incarnation(peer):
            kept = Counsel(said.to, said.body.copy())
            self.board.loop.call_soon(self.assembly.hear, incarnation, kept)

    # Birth.

    def _born_as(self, origin: int) -> None:
        """All have met, and nobody has a view: this is the first one, and everybody makes the same."""
        born, whos = self.newborn(), {**self.known, self.who.node: self.who}
        members = [msgspec.structs.replace(node, address=whos[node.name].address) for node in born.members]
        votes = tuple(sorted(node.vote for node in members))
        view = msgspec.structs.replace(born, members=tuple(members), voters=votes)
        if self._remember(view):
            self.assembly.born(view)

    def _remember(self, view: View) -> bool:
        """For the next start, before anybody is let in: it takes a higher epoch."""
        try:
            if self.data and view.fence_epoch > self._remembered:
                self.data.store(view.fence_epoch)
        except OSError as error:
            self.failure = f"data_dir cannot be written: {error.strerror}"
            log.error("%s: %s", self.who.node, self.failure if self.open else self.why())
            return False
        if self.open and not self.data and view.fence_epoch > max(epoch_of(by_clock()), self._remembered):
            log.warning("%s: %s", self.who.node, AHEAD)
        self._remembered = max(view.fence_epoch, self._remembered)
        return True

    # What the assembly tells.

    def activated(self, view: View) -> None:
        self._remember(view)
        self._activate(view)

    def lost(self, lock: str, fence: int, broken: bool) -> None:
        self.board.lose(lock, fence, "the others have made a view without this node")

    def dropped(self, view: View) -> None:
        self._rejoin()

    def learned(self, view: View) -> None:
        self._learn(view)

    def _goodbye(self, incarnation: str) -> None:
        """If we have waited for its view, that may be over."""
        for peer in [name for name, who in self.known.items() if who.incarnation == incarnation]:
            if not self.open:
                del self.known[peer]
                self._look_for_view()
                self.go_on()
            self._forget(peer)

    def left_us(self, peer: str) -> None: ...

    # Leases are not kept here, and registered holds not asked for.

    def heard_of(self, hold: Holder) -> None: ...

    def renewed(self) -> None: ...

    def starving(self, why: str) -> None: ...

    # In the loop.

    def _forget(self, *left: str) -> None:
        """Those whom our user has named may come back, and are called."""
        super()._forget(*left)
        if not self.ended and self.open:
            self.transport.know(self.roster.told.addresses)

    def fetch(self) -> None:
        self.assembly.fetch()

    def become(self, node: Node) -> None:
        self.assembly.become(node)

    def why(self) -> str:
        why = self.roster.why(self.troubles) if self.joining and not self.open else Beginning.why(self)
        return "; ".join(filter(None, [why, self.assembly.waits_for()]))

    async def leave(self) -> None:
        """Say goodbye, so that nobody has to wait for us, and end."""
        self.ended = True
        self.assembly.leave()
        self.close()
        await asyncio.sleep(0)  # in memory, the last words are heard in the next turn of the loop

    def close(self) -> None:
        self.ended = True
        self.deaths.close()
        self.assembly.close()
