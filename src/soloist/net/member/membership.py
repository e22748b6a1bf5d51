"""The loop's side of membership: what a node with leases does about whom it meets, and from view to view.

The `Council` decides, in a thread; here its decisions are carried out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec

from soloist.net.cards import algorithms_of
from soloist.net.engine.switchboard import Switchboard
from soloist.net.errors import NoQuorum
from soloist.net.link.cipher import Cipher
from soloist.net.link.handshake import Welcome, Who
from soloist.net.link.transport import Transport
from soloist.net.link.wire import encode
from soloist.net.losses import LEASE_OVER
from soloist.net.member.absence import vote_left
from soloist.net.member.breaks import BROKEN, Breaks
from soloist.net.member.chronicle import of_names
from soloist.net.member.clock import Clock, lease_clock
from soloist.net.member.company import Company, first_view, obstacle
from soloist.net.member.council import Council
from soloist.net.member.deaths import Deaths
from soloist.net.member.origin import DataDirectory, epoch_of
from soloist.net.member.roster import Roster, addresses_of
from soloist.net.member.succession import Succession
from soloist.net.member.testament import Testament
from soloist.net.member.votes import DiskVotes, MemoryVotes, Votes
from soloist.net.telemetry.observer import tell
from soloist.views import Algorithm, Holder, Lease, Node, View

log = logging.getLogger("soloist.net")

LOOK_SECONDS = 1.0
"""Seconds between two looks at whether each link has a connection for renewals beside it."""
FAREWELL_SECONDS, FAREWELL_LOOK_SECONDS = 1.0, 0.005
"""Seconds that a node which is closed waits for a connection for renewals to each peer that it is connected to: its goodbye goes
through there. And seconds between two looks."""


class Membership(Succession):
    """The `Meeting` and `Lobby` of a node that survives crashes, its own and those of others."""

    renews = True
    council: Council
    breaks: Breaks
    roster: Roster

    def __init__(
        self,
        who: Who,
        lease: Lease,
        told: Company,
        votes: Votes,
        clock: Clock,
        board: Switchboard,
        transport: Transport,
        data: DataDirectory | None = None,
        sentinel: bool = True,
    ) -> None:
        self.data = data
        previous = data.previous if data and not who.serves else ""
        self.lease, self.board, self.transport = lease, board, transport
        self.roster = Roster(told, transport)
        self.council = self.convene(who, votes, clock, previous)
        self.council.votes_only = told.voter_only
        self.run(algorithms_of(who))
        self.council.chronicle.tell = lambda change: self._in_loop(
            tell, board.table.observers, "on_view", change
        )
        if isinstance(votes, DiskVotes):
            votes.on_store = lambda seconds: self._in_loop(tell, board.table.observers, "on_store", seconds)
        self.council.on_lost_peer = lambda peer: self._in_loop(self._pulse_lost, peer)
        self.breaks = Breaks(self.council, self._in_loop, self.why)
        self.testament = Testament(sentinel and (told.joins or transport.out_of_sight))
        self.deaths = Deaths(self.testament, self.council.dead)
        transport.on_will = self.deaths.hear_will
        epoch = votes.file.view.epoch if votes.file.view else 0
        super().__init__(
            msgspec.structs.replace(
                told.introduced(who),
                lease=lease.length,
                voter="" if votes.bad else votes.file.voter,
                epoch=epoch,
                previous=previous,
                will=self.testament.will,
            ),
            board.outgoing.say,
            self._born_as,
        )
        self.known = self.roster.met
        self.joining = epoch > 0 or told.joins
        """Whether there is a view that we are not in, so that this is no beginning."""
        self._without: set[str] = set()
        """Peers that had a link and no connection for renewals when we last looked."""
        self._looking: asyncio.TimerHandle | None = None
        board.table.door, board.turns.clock = self.council.gate, clock
        council, table = self.council, board.table
        table.crowded = lambda: council.do(lambda: council.tell_voters(of_names(table.epoch)))

    def convene(self, who: Who, votes: Votes, clock: Clock, previous: str) -> Council:
        """Make what decides."""
        return Council(self.as_member(who), votes, clock, self, previous)

    def run(self, algorithms: tuple[Algorithm, ...]) -> None:
        self.council.canvass.algorithms = algorithms

    def start(self) -> None:
        self._looking = self.board.loop.call_later(LOOK_SECONDS, self._look_after_renewals)
        self.testament.begin()
        self.council.start()
        super().start()

    # What the transport asks and tells.

    def refusal(self, theirs: Who) -> str | None:
        """Or it takes the place of one without whom nobody will be born."""
        if not self.roster.is_namesake(theirs) and self._may_replace(theirs):
            return None
        return super().refusal(theirs)

    def _may_replace(self, theirs: Who) -> bool:
        """Whether it takes the place of one without whom nobody will be born. If all have met and it could not begin, it
        cannot begin for anybody: all have refused for the same reason."""
        if self.birth.succeeds(theirs.node, theirs.previous):
            return True
        met = self.birth.met.get(theirs.node)
        return bool(self.failure) and met is not None and met.incarnation != theirs.incarnation

    def met(self, theirs: Who) -> None:
        self.roster.meet(self.who, theirs)
        self.testament.learn(theirs)
        if theirs.epoch and not self.open:
            self.joining = True
        if self.joining or self.open:
            self.troubles.pop(theirs.node, None)
            self.mismatches.pop(theirs.node, None)
            if self.open:
                self._sort_out(self.board.table.view)
        else:
            if self._may_replace(theirs):
                self.birth.unbind()
                self.failure = ""
            super().met(theirs)

    def pulse(
        self, theirs: Who, sock: socket.socket, unread: bytes, dialled: bool, cipher: Cipher | None = None
    ) -> None:
        self.deaths.watch(theirs, sock)
        welcome = None if dialled else encode(Welcome())
        self.council.meet(theirs.node, theirs.incarnation, sock, unread, cipher, welcome)

    def _look_after_renewals(self) -> None:
        """A peer that is connected, but not for renewals, twice in a row: whatever went wrong, begin that anew."""
        if self.ended:
            return
        without = self.transport.connected() - self.council.pulse.peers()
        for peer in without & self._without:
            self.transport.pulse_lost(peer)
        self._without = without
        self._looking = self.board.loop.call_later(LOOK_SECONDS, self._look_after_renewals)

    def _pulse_lost(self, peer: str) -> None:
        if not self.ended:
            self.transport.pulse_lost(peer)

    # Birth.

    def _born_as(self, origin: int) -> None:
        """All have met, and nobody has ever had a view: this is the first one, and everybody makes the same."""
        whos = {**self.known, self.who.node: self.who}
        self.failure = obstacle(whos, self.council.votes.bad, epoch_of(self.birth.origin))
        if self.failure:
            log.error("%s: %s", self.who.node, self.why())
        else:
            self.council.born(first_view(self.newborn(), whos, self.who.voters, self.lease))

    # What the council tells, in its thread.

    def activated(self, view: View) -> None:
        self._in_loop(self._activate, view)

    def lost(self, lock: str, fence: int, broken: bool) -> None:
        self._in_loop(self.board.lose, lock, fence, BROKEN if broken else LEASE_OVER)

    def heard_of(self, hold: Holder) -> None:
        self._in_loop(self.board.heard_of, hold)

    def dropped(self, view: View) -> None:
        self._in_loop(self._rejoin)

    def renewed(self) -> None:
        self._in_loop(self._go_on)

    def learned(self, view: View) -> None:
        self._in_loop(self._learn, view)

    def left_us(self, peer: str) -> None:
        self._in_loop(self._forget, peer)

    def _in_loop(self, work: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, and there is nobody left to tell
            self.board.loop.call_soon_threadsafe(work, *args)

    # In the loop.

    def entering(self, view: View) -> None:
        self.testament.tell(self._addresses_of_voters(view))

    def _addresses_of_voters(self, view: View) -> list[str]:
        """But our own. A voter's id begins with the name of its node."""
        names = {voter.rpartition("#")[0] for voter in view.voters} - {self.who.node}
        known = addresses_of(view)
        return [where for name in sorted(names) if (where := known.get(name))]

    def _go_on(self) -> None:
        self.starved = ""
        if not self.ended:
            self.board.go_on()

    def fetch(self) -> None:
        self.council.fetch()

    def become(self, node: Node) -> None:
        self.council.become(node)

    def why(self) -> str:
        """And what keeps this node from voting: others may have to wait for that some day."""
        joining = self.joining and not self.open
        why = self.roster.why(self.troubles) if joining else super().why()
        stopped = self._stopped()
        silent = f"it does not vote: {stopped}" if stopped and not self.failure else ""
        return "; ".join(filter(None, [why, silent, self.council.absence.words]))

    def _stopped(self) -> str:
        """Why this node cannot vote, though it should, or nothing."""
        me, voter = self.who.node, self.council.voter
        why = self.council.votes.bad or (voter.stopped if voter else "")
        if why or self.roster.voters(self.who, set()).get(me, True):
            return why
        return f"the members know another vote file of it; `soloist members --remove-voter {me}`, then `--add-voter {me}`"

    def voters(self) -> dict[str, bool]:
        mute = {*self.council.absence.mute, *([self.who.node] if self._stopped() else [])}
        found = self.roster.voters(self.who, self.council.pulse.peers())
        return {name: votes and name not in mute for name, votes in found.items()}

    def lease_left(self) -> float | None:
        return self.council.gate.left()

    def starving(self, why: str) -> None:
        self._in_loop(self._starve, why)

    def _starve(self, why: str) -> None:
        """There has been no majority for a whole lease: callers that wait had better know, and callers that try now."""
        if self.council.leased:  # meanwhile
            return
        self.starved = why
        callers, self.callers = self.callers, []
        for caller in [*callers, *self.board.table.give_up_waiting()]:
            name = caller.lock.partition(":")[2]
            caller.ticket.fail(NoQuorum(f"{name!r} cannot be granted: {why}", name=name))
        self.breaks.starve(why)

    async def leave(self) -> None:
        """Say goodbye, so that nobody has to wait for us, and end."""
        if words := vote_left(self.who.node, self.voters()):
            log.info("%s: closed; %s", self.who.node, words)
        self.ended = True
        self.breaks.end()
        await self._within_earshot()
        gone = asyncio.Event()
        self.council.leave(lambda: self._in_loop(gone.set))
        try:
            await gone.wait()
            if self.testament.sentinel:
                await asyncio.to_thread(self.testament.close)  # it waits for a process
        finally:
            self.close()

    async def _within_earshot(self) -> None:
        """Just after a beginning there is a view, and not yet a connection for renewals to each peer. A goodbye that nobody hears would
        be waited for, for a whole lease."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                while self.open and self.transport.connected() - self.council.pulse.peers():
                    await asyncio.sleep(FAREWELL_LOOK_SECONDS)

    def close(self) -> None:
        self.ended = True
        if self._looking:
            self._looking.cancel()
        self.deaths.close()
        self.council.close()
        self.testament.close()

    def descriptors(self) -> list[int]:
        return [
            *self.council.pulse.descriptors(),
            *self.council.votes.descriptors(),
            *self.testament.descriptors(),
        ]


def begin_membership(
    lease: Lease,
    told: Company,
    board: Switchboard,
    transport: Transport,
    who: Who,
    sentinel: bool,
    data: DataDirectory | None,
) -> Membership:
    """Once the data directory, if there is one, is open: what it says of the past decides how this begins."""
    votes: Votes = DiskVotes(data, told.peers) if data else MemoryVotes(who.cluster, who.node)
    watched = sentinel and not who.serves  # who uses our locks goes on when we have ended
    return Membership(who, lease, told, votes, lease_clock(), board, transport, data, watched)
