"""What a node does until its cluster is born: it lets callers wait, keeps what peers say, and knows why."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from soloist.net.cards import agreed_algorithms
from soloist.net.engine.ticket import Caller, Ticket
from soloist.net.errors import ConfigMismatch
from soloist.net.link.cipher import Cipher
from soloist.net.link.handshake import Who
from soloist.net.link.wire import Envelope, Muster, Notice
from soloist.net.member.birth import Birth, Newborn
from soloist.net.member.breaks import Breaks
from soloist.net.member.roster import Roster
from soloist.views import View

if TYPE_CHECKING:
    from soloist.net.member.council import Council

log = logging.getLogger("soloist.net")


class Beginning:
    """The `Meeting` of a node: whom its transport has found, and what became of that."""

    renews = False
    council: Council | None = None
    """Who sees to leases, if there are any."""
    starved = ""
    """Why nobody can be let in, once there was no majority for a whole lease."""
    breaks: Breaks | None = None
    """Where locks can be broken, which takes a lease."""
    joining = False
    roster: Roster | None = None
    """Whom it knows of, if who is a member is agreed upon."""

    def __init__(self, who: Who, say: Callable[[str, Notice], None], born: Callable[[int], None]) -> None:
        self.who = who
        self.birth = Birth(who.node, who.members, Newborn(who.incarnation, who.origin))
        self.say, self._born = say, born
        self.known: dict[str, Who] = {}
        """Those whom we have met, as they were then."""
        self.failure = ""
        """Why it cannot begin although all have met."""
        self.callers: list[Caller] = []
        """Those who wait for the beginning, with their lock and its capacity, in the order in which they came."""
        self.mail: list[tuple[str, Envelope]] = []
        """What those have said who were born before us."""
        self.mismatches: dict[str, str] = {}
        """Peers that are configured otherwise, and how."""
        self.troubles: dict[str, str] = {}
        """Why peers are not connected, as far as is known."""
        self.open = False
        """Whether it is over: nobody need wait here any more."""
        self.outwaits = 0.0
        """When clients of a process before this one know by the clock that they hold nothing. Until then nobody is born."""

    # What the transport asks and tells.

    def refusal(self, theirs: Who) -> str | None:
        if theirs.node not in self.who.members:
            return f"{theirs.node!r} is no peer of {self.who.node!r}"
        return self.birth.refusal(theirs.node, Newborn(theirs.incarnation, theirs.origin))

    def met(self, theirs: Who) -> None:
        self.known[theirs.node] = theirs
        self.troubles.pop(theirs.node, None)
        self.mismatches.pop(theirs.node, None)
        self.birth.meet(theirs.node, Newborn(theirs.incarnation, theirs.origin))
        self.go_on()

    def pulse(
        self, theirs: Who, sock: socket.socket, unread: bytes, dialled: bool, cipher: Cipher | None = None
    ) -> None:
        raise AssertionError("nobody renews anything without a lease")

    def trouble(self, peer: str, why: str, mismatch: bool) -> None:
        """There is no link to that peer. Before the birth, callers need not wait for one who is misconfigured."""
        self.troubles[peer] = why
        if mismatch and not self.open:
            self.mismatches[peer] = why
            callers, self.callers = self.callers, []
            for lock, _, ticket in callers:
                if not ticket.gone:
                    ticket.fail(unfit(self.who.node, lock, self.mismatches))

    # What the node asks and tells.

    def start(self) -> None:
        """The transport has started."""
        self.go_on()

    def voters(self) -> dict[str, bool]:
        """Who votes on who is a member, and whether it is heard."""
        return {}

    def lease_left(self) -> float | None:
        """Seconds until nobody is let in any more, unless the lease is renewed; None if there is none."""
        return None

    async def finish(self) -> None:
        """The node is about to be closed: what others count on comes first."""

    async def leave(self) -> None:
        """The node is closed."""

    def close(self) -> None:
        """It has never started, or there is nobody left to say goodbye to."""

    def descriptors(self) -> list[int]:
        """The files that the child of a fork must not keep."""
        return []

    def begin_above(self, origin: int) -> None:
        """Fences of earlier epochs are known of; before anybody is met."""
        self.who = msgspec.structs.replace(self.who, origin=max(origin, self.who.origin))
        self.birth = Birth(self.who.node, self.who.members, Newborn(self.who.incarnation, self.who.origin))

    def newborn(self) -> View:
        """What has been born, with what all have in common: everybody makes the same."""
        company = {**self.known, self.who.node: self.who}
        born = self.birth.view()
        members = [
            msgspec.structs.replace(node, oldest=versions.oldest, newest=versions.newest)
            for node in born.members
            if (versions := company[node.name].versions)
        ]
        protocol = min(node.newest for node in members)
        return msgspec.structs.replace(
            born, members=tuple(members), protocol=protocol, algorithms=agreed_algorithms(company)
        )

    def end(self) -> tuple[list[Caller], list[tuple[str, Envelope]]]:
        """Callers and mail need not be kept here any longer: this is what there is."""
        self.open = True
        callers, mail = self.callers, self.mail
        self.callers, self.mail = [], []
        return [caller for caller in callers if not caller[2].gone], mail

    def hear(self, peer: str, said: Muster) -> None:
        self.birth.hear(peer, said)
        self.go_on()

    def keep(self, peer: str, envelope: Envelope) -> None:
        """From one who knows already that all have met. Its body lies where the next message will be read into."""
        if self.open:
            return  # of another company: whatever it was about is over
        self.mail.append((peer, msgspec.structs.replace(envelope, body=envelope.body.copy())))

    def wait(self, lock: str, capacity: int, ticket: Ticket) -> None:
        """A caller has come too early."""
        if self.mismatches:
            raise unfit(self.who.node, lock, self.mismatches)
        self.callers = [caller for caller in self.callers if not caller[2].gone]
        self.callers.append(Caller(lock, capacity, ticket))

    def go_on(self) -> None:
        if (early := self.outwaits - time.monotonic()) > 0:
            asyncio.get_running_loop().call_later(early, self.go_on)
            return
        sends, self.birth.sends = self.birth.sends, []
        for peer, muster in sends:
            self.say(peer, muster)
        if self.birth.born and not self.open and not self.failure:
            self._born(self.birth.origin)

    def why(self) -> str:
        """What keeps callers waiting that is no holder: in words, or nothing."""
        troubles = [f"{peer}: {why}" for peer, why in sorted(self.troubles.items())]
        if self.open:
            return "; ".join(troubles)
        absent = [peer for peer in self.birth.absent if peer not in self.troubles]
        waiting = [f"not seen yet: {', '.join(absent)}"] if absent else []
        if (early := self.outwaits - time.monotonic()) > 0:
            waiting.append(f"clients of the process before may hold locks for {early:.1f} s")
        reasons = [self.failure] if self.failure else waiting + troubles
        return "the cluster has not begun: " + (
            "; ".join(reasons) or "not all members have confirmed each other"
        )


def unfit(node: str, lock: str, peers: dict[str, str]) -> ConfigMismatch:
    """With the first of those that do not fit."""
    peer, why = min(peers.items())
    return ConfigMismatch(f"{node!r} and {peer!r} do not fit: {why}", name=lock.partition(":")[2])
