"""Where callers and peers meet the locks of a node: requests from here, messages from there.

No sockets, and nothing waits: a caller that is let in is roused, and what is to be said leaves in batches.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol

import msgspec

from soloist.algorithms import Card
from soloist.core import ProtocolError
from soloist.net.engine.inquiry import Inquiry
from soloist.net.engine.instance import Instance
from soloist.net.engine.outgoing import EAGER, Outgoing
from soloist.net.engine.registering import abandon
from soloist.net.engine.sites import begins
from soloist.net.engine.table import Table, mismatch
from soloist.net.engine.ticket import Caller, Cancellable, Effects, Ticket
from soloist.net.engine.turns import Turns
from soloist.net.errors import ConfigMismatch, LockError
from soloist.net.link.transport import Transport
from soloist.net.link.wire import (
    Answer,
    Batch,
    Counsel,
    Envelope,
    Garbled,
    Muster,
    Notice,
    Question,
    Refusal,
)
from soloist.views import Holder, View

log = logging.getLogger("soloist.net")

WAKE = b"\xc0"
"""The body of an envelope that only says that a lock exists (msgpack's nil)."""
WAKE_BYTES = len(WAKE)


class Everybody:
    """Every peer is in it."""

    def __contains__(self, peer: object) -> bool:
        return True


class Lobby(Protocol):
    """Where callers and mail wait while there is no view that they belong to."""

    open: bool
    """Whether nobody need wait there."""

    def wait(self, lock: str, capacity: int, ticket: Ticket) -> None: ...

    def keep(self, peer: str, envelope: Envelope) -> None: ...

    def hear(self, peer: str, said: Muster) -> None: ...


class Switchboard:
    """The locks of one node, and the ways in and out."""

    loop: asyncio.AbstractEventLoop
    """Once the node is started."""

    def __init__(
        self, node: str, members: Iterable[str], cards: tuple[Card, Card], locality: int, transport: Transport
    ) -> None:
        effects, names = Effects(), sorted(members)
        self.node, self._sends, self._roused = node, effects.sends, effects.roused
        self.lobby: Lobby
        self.on_counsel: Callable[[str, Counsel], None] = lambda peer, said: None
        """Called with what is said about who is a member, where nobody has a lease."""
        self.outsiders: Container[str] = ()
        """Peers that are connected, but are not those that the view has under their names."""
        self.table = Table(node, names, cards, locality, effects, self._later)
        self.outgoing = Outgoing(node, names, transport, effects, self.break_off)
        self.turns = Turns(transport, effects)
        self.inquiry = Inquiry(node, self.table, self.outgoing, transport)
        self.instances, self.stats = self.table.instances, self.outgoing.stats

    # From view to view.

    def activate(self, view: View, callers: Iterable[Caller], mail: Iterable[tuple[str, Envelope]]) -> None:
        """Begin that view: those who wait ask again, in order; then what peers have said in it already is heard."""
        waiting, inside = self.table.wedge()
        self.table.effects.sends.clear()  # of the epoch that is over
        self.outgoing.address(sorted(member.name for member in view.members))
        self.table.activate(view, inside)
        for lock, capacity, ticket in (*waiting, *callers):
            try:
                self.request(lock, capacity, ticket)
            except LockError as error:
                ticket.fail(error)
        for peer, envelope in mail:
            self._take(peer, envelope)
        self.turns.rouse_soon()
        self.outgoing.flush_soon()

    def look_on(self, view: View) -> None:
        """There is a view, and this node is none of its members: it can ask them."""
        self.table.names, self.table.epoch = sorted(member.name for member in view.members), view.epoch
        self.outgoing.address(self.table.names)

    def go_on(self) -> None:
        """The door is open again."""
        for instance in [each for each in self.instances.values() if each.parked or each.registering]:
            instance.go_on()
        self.turns.rouse_soon()
        self.outgoing.flush_soon()

    def lose(self, lock: str, fence: int, why: str) -> None:
        """A hold is good no longer: its body is told, and its place goes back to the algorithm."""
        fences = {fence}
        for hold in [hold for hold in self.table.holds.get(lock, ()) if fence in hold.fences]:
            fences.update(hold.fences)  # a holder of several permits has lost all of them
            hold.lose(why)
        if instance := self.instances.get(lock):
            for ticket in [each for each in instance.inside.values() if each.fence in fences]:
                if ticket.registration:
                    self.table.abandoned.add((lock, ticket.fence))
                    abandon(instance, ticket)
                    continue
                ticket.lost = True
                self.release(lock, ticket)

    def heard_of(self, hold: Holder) -> None:
        """Voters know of a registered hold that is to begin, or that has ended."""
        if instance := self.instances.get(hold.lock):
            instance.heard_of(hold)
            self.turns.rouse_soon()
            self.outgoing.flush_soon()

    def end(self, why: Callable[[str], Exception]) -> None:
        """Nobody here will be let in any more, and those who wait are told why."""
        self.outgoing.closed = True
        for instance in self.instances.values():
            instance.fail(why(instance.lock))
        self.turns.rouse_soon()

    # What callers do. They have checked that the node is usable.

    def request(self, lock: str, capacity: int, ticket: Ticket) -> None:
        instance = self.instances.get(lock)
        if instance is None or instance.capacity != capacity:
            if not self.lobby.open:
                self.lobby.wait(lock, capacity, ticket)
                return
            instance = self._instance(lock, capacity)
        try:
            instance.request(ticket)
        finally:
            if self._roused:
                self.turns.rouse_soon()
            if self._sends:
                self.outgoing.after_call()

    def withdraw(self, lock: str, ticket: Ticket) -> None:
        if self.outgoing.closed or ticket.gone:
            return
        if instance := self.instances.get(lock):
            instance.withdraw(ticket)
        else:
            ticket.gone = True

    def release(self, lock: str, ticket: Ticket) -> None:
        instance = self.instances.get(lock)
        if instance is None or instance.inside.get(ticket.site) is not ticket or self.outgoing.closed:
            if not (ticket.released or self.outgoing.closed):
                ticket.released = ticket.lost = (
                    True  # of an epoch that is over: it was not carried into this one
                )
            return
        instance.release(ticket)
        if self._roused:
            self.turns.rouse_soon()
        if self._sends:
            self.outgoing.after_call()

    def _instance(self, lock: str, capacity: int) -> Instance:
        """Where an algorithm says something before anybody asks, all nodes must hear that the lock exists."""
        table = self.table
        new = lock not in self.instances and lock not in table.asleep
        if new and begins(table.card_for(capacity)):
            self.outgoing.say_to_all(Envelope(lock, capacity, table.epoch, 0, 0, 0, msgspec.Raw(WAKE)))
        return table.instance(lock, capacity)

    def _later(self, delay: float, timeout: Callable[..., None], *args: Any) -> Cancellable:
        """As the loop's `call_later`, for instances: what they say then is sent."""
        return self.loop.call_later(delay, self._timed_out, timeout, args)

    def _timed_out(self, timeout: Callable[..., None], args: tuple[Any, ...]) -> None:
        try:
            timeout(*args)
        finally:
            self.turns.rouse_soon()
            self.outgoing.flush_soon()

    # What peers say.

    def receive(self, peer: str, batches: list[Batch]) -> None:
        """All that has come from a peer. Those whom it lets in go on here and now: no task is running."""
        outgoing, turns = self.outgoing, self.turns
        if outgoing.closed:
            return
        outgoing.hearing = True
        try:
            for batch in batches:
                self.stats.messages_received += len(batch.envelopes)
                for envelope in batch.envelopes:
                    self._take(peer, envelope)
                for said in batch.notices:
                    self._heard(peer, said)
            outgoing.hearing = False
            outgoing.eager = EAGER
            if outgoing.sends or outgoing.notices:
                outgoing.send_all()
            if turns.roused:
                turns.rouse_now()
        except (KeyboardInterrupt, SystemExit) as leaving:
            self.loop.call_soon(_raise, leaving)  # uvloop would take what comes out of here for our failure
        finally:
            outgoing.hearing = False
            if turns.roused:
                turns.rouse_soon()
            if outgoing.sends or outgoing.notices:  # something failed before they were sent
                outgoing.flush_soon()

    def _take(self, peer: str, envelope: Envelope) -> None:
        """One message of one lock: of this epoch, of a later one, or of one that is over."""
        if envelope.epoch != self.table.epoch or peer in self.outsiders:
            if envelope.epoch > self.table.epoch:
                self.lobby.keep(peer, envelope)
            return
        try:
            instance = self.instances.get(envelope.lock)
            if instance is None or instance.capacity != envelope.capacity:
                instance = self._instance_for(peer, envelope)
            if len(envelope.body) > WAKE_BYTES:  # or else all it says is that the lock exists
                instance.deliver(self.outgoing.numbers.get(peer), envelope)
        except Exception as error:  # whatever a peer may say: the rest of the batch is still good
            what = "%s: a message of %s about %r was dropped: %r"
            log.error(what, self.node, peer, envelope.lock, error)

    def _instance_for(self, peer: str, envelope: Envelope) -> Instance:
        """Of a lock of which we hear for the first time, or with another capacity than ours."""
        most = self.table.most_permits
        if not 1 <= envelope.capacity <= most:
            raise ProtocolError(f"a capacity of {envelope.capacity}, where {most} is the most")
        try:
            return self.table.instance(envelope.lock, envelope.capacity)
        except ConfigMismatch as error:
            instance = self.instances[envelope.lock]
            self.outgoing.say(peer, Refusal(envelope.lock, instance.capacity))
            instance.fail(error)
            raise

    def _heard(self, peer: str, said: Notice) -> None:
        match said:
            case Question():
                self.inquiry.asked(peer, said)
            case Answer():
                self.inquiry.answered(peer, said)
            case Muster():
                self.lobby.hear(peer, said)
            case Counsel():
                self.on_counsel(peer, said)
            case Refusal():
                if instance := self.table.known(said.lock):  # without that peer nobody here will be let in
                    instance.fail(mismatch(said.lock, instance.capacity, f"{said.capacity} at {peer}"))
            case Garbled():
                self.break_off(
                    said.lock, f"between {self.node!r} and {peer!r} something was said that cannot be read"
                )

    def break_off(self, lock: str, why: str) -> None:
        """What was lost may have been a token: nobody may go on with this lock as if nothing had happened."""
        if instance := self.table.known(lock):
            instance.break_off(why)
            self.turns.rouse_soon()


def _raise(error: BaseException) -> None:
    raise error
