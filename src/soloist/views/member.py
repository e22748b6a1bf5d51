"""A member: a node that takes part in locks, while a majority of voters has acknowledged it lately. Rules M1 to M8.

`renew`, `receive` and `wedge` may be called by a thread of its own, `enter` and `release` by a loop that may hang: the
driver puts one mutex around all of them, never held across I/O. Nothing here waits, and no timer extends or ends
anything: each question is answered from the clock when it is asked.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

import msgspec

from soloist.core import Message, UsageError
from soloist.views.effects import Activate, Discharged, Dropped, Effect, Entitled, Lost, Send
from soloist.views.ledger import Ledger
from soloist.views.messages import (
    Ack,
    Bye,
    Decided,
    Fetch,
    Join,
    Prepare,
    Probe,
    Register,
    Registered,
    Renew,
    Report,
    Strike,
    Struck,
)
from soloist.views.view import (
    Eviction,
    Holder,
    Incarnation,
    Node,
    Registration,
    View,
    VoterId,
    evicted,
    ordered,
)

REMEMBERED = 8
"""Renewals whose sending time is remembered; an acknowledgement of an older one counts for nothing."""


class Mail(Enum):
    """What to do with a message of an algorithm."""

    DELIVER = "deliver"
    DROP = "drop"
    KEEP = "keep"
    """Until its epoch is here, in order; the view has been asked for."""


class Member(msgspec.Struct, kw_only=True):
    """One incarnation of a node. `view` is None until it has been taken in."""

    node: Node
    view: View | None = None
    coming: View | None = None
    """A decided view with other voters, begun once there is a lease over them."""
    wedged: bool = False
    worth: dict[VoterId, float] = {}
    """Until when each voter's acknowledgements are worth something."""
    number: int = 0
    sent: dict[int, float] = {}
    """When the latest renewals were sent."""
    holds: dict[tuple[str, int], Holder] = {}
    """What is held here, by lock and slot."""
    broken: tuple[Holder, ...] = ()
    """What was taken away in this epoch."""
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    """What voters know of these holds."""
    askers: tuple[str, ...] = ()
    """Proposers that want to hear the report."""
    echoes: dict[VoterId, int] = {}
    starts: dict[VoterId, int] = {}
    """The highest start number seen of each voter: a lower one is a vote file from a backup."""
    deaf: tuple[Incarnation, ...] = ()
    """Members that were not heard for a lease, as the driver says: the voters are told."""
    counter: int = -1
    """What no fence given here counts beyond, where the driver says so."""
    leaving: bool = False
    ended: bool = False
    """Dropped, or gone: this incarnation never acts again."""
    out: list[Effect] = []

    HANDLERS: ClassVar[dict[type[Message], str]] = {
        Ack: "acknowledged",
        Probe: "probed",
        Prepare: "prepare",
        Decided: "decided",
        Fetch: "fetch",
        Registered: "registered",
        Struck: "struck",
    }

    def receive(self, sender: str, message: Message, now: float) -> None:
        """The only door in for what others say (the algorithms' mail is judged by `admit`)."""
        handler = self.HANDLERS.get(type(message))
        if handler and not self.ended:
            getattr(self, handler)(sender, message, now)

    @property
    def me(self) -> Incarnation:
        return self.node.incarnation

    @property
    def epoch(self) -> int:
        return self.view.epoch if self.view else -1

    # M1: renewals.

    def renew(self, now: float) -> None:
        """M1: to all voters, every third of a lease, with the report once wedged.

        And at once after being wedged or beginning a view: after a promise only the report is acknowledged.
        """
        if self.ended or self.view is None:
            return
        self.number += 1
        self.sent[self.number] = now
        while len(self.sent) > REMEMBERED:
            del self.sent[min(self.sent)]
        report = self.report(now) if self.wedged else None
        for voter in self.known_voters():
            self.say(
                voter,
                Renew(
                    self.me,
                    self.number,
                    self.view.epoch,
                    report,
                    self.echoes.get(voter, 0),
                    self.starts.get(voter, 0),
                    self.deaf,
                ),
            )
        self.tell_of_registrations()

    def ask_to_join(self, voters: tuple[VoterId, ...]) -> None:
        """Said again and again to the voters of any view, until a view has me."""
        if self.view is None and not self.ended:
            for voter in voters:
                self.say(voter, Join(self.node))

    def known_voters(self) -> tuple[VoterId, ...]:
        voters = self.view.voters if self.view else ()
        return ordered((*voters, *(self.coming.voters if self.coming else ())))

    def acknowledged(self, sender: str, m: Ack, now: float) -> None:
        """M1: worth what it was when the renewal was *sent*. An old one counts from then, or not at all."""
        if m.start < self.starts.get(m.voter, 0):
            return
        self.credit(m, now)
        self.probed(sender, m, now)
        if self.coming:
            self.begin_if_covered(self.coming, now)

    def credit(self, m: Ack, now: float) -> None:
        if m.number in self.sent and self.view:
            worth = self.sent[m.number] + self.view.lease.at_member
            self.worth[m.voter] = max(self.worth.get(m.voter, worth), worth)

    def probed(self, sender: str, m: Ack | Probe, now: float) -> None:
        """What an answer says besides: it came through, the voter may be behind, and whether to wedge."""
        self.echoes[m.voter] = max(self.echoes.get(m.voter, 0), m.number)
        self.starts[m.voter] = max(self.starts.get(m.voter, 0), m.start)
        if m.promised and m.epoch == self.epoch:
            self.let_go(m.evictions)
            self.wedge(now)
        elif m.epoch < self.epoch and self.view:
            self.say(sender, Decided(self.view))

    # M2: the lease.

    def lease_ends(self, view: View) -> float:
        """M2: the majority-th largest worth over the voters of this view, and of no other."""
        if view.lease.endless:
            return view.lease.length
        worths = sorted((self.worth.get(voter, float("-inf")) for voter in view.voters), reverse=True)
        return worths[view.majority - 1]

    def valid(self, now: float) -> bool:
        """M2: worked out each time, never remembered."""
        return self.view is not None and not self.ended and now < self.lease_ends(self.view)

    def holding(self, lock: str, slot: int, now: float) -> bool:
        """M2: whether this hold is good. Asked without a lease, it is lost for good."""
        hold = self.holds.get((lock, slot))
        if hold and not self.valid(now):
            self.lose(hold)
            return False
        return hold is not None

    def lose(self, hold: Holder) -> None:
        del self.holds[hold.lock, hold.slot]
        stands = self.ledger.lose(hold, hold in self.broken)
        self.out.append(Lost(hold, hold in self.broken))
        self.changed()
        if stands:
            self.tell_of_registrations()

    def lose_all(self) -> None:
        for hold in list(self.holds.values()):
            self.lose(hold)

    # M3: the door.

    def may_enter(self, now: float) -> bool:
        return not self.wedged and not self.leaving and self.valid(now)

    def enter(self, lock: str, slot: int, fence: int, now: float, size: int = 1) -> bool:
        """M3: let a caller in, in one step with the test; also for the next local caller, and for re-entry.

        If it is refused the site of the algorithm stays inside, and is offered again or released later.
        """
        if (lock, slot) in self.holds:
            raise UsageError(f"{lock!r} slot {slot} is held here already")
        hold = Holder(lock, self.me, fence, slot, size)
        if not self.may_enter(now) or self.view is None or not self.ledger.begins(hold, self.view):
            return False
        self.holds[lock, slot] = hold
        return True

    def release(self, lock: str, slot: int, now: float) -> None:
        """The hold has ended. While wedged it has been reported: report again without it."""
        hold = self.holds.pop((lock, slot), None)
        self.changed()
        if hold:
            self.strike(hold)

    # M4: wedging.

    def prepare(self, sender: str, m: Prepare, now: float) -> None:
        """M4: a proposer makes the view after mine."""
        if self.view is None or m.epoch <= self.view.epoch:
            if self.view:
                self.say(sender, Decided(self.view))
        elif m.epoch == self.view.epoch + 1:
            self.askers = ordered((*self.askers, sender))
            self.let_go(m.news.evictions)
            self.wedge(now)
            self.say(sender, self.report(now))

    def let_go(self, evictions: tuple[Eviction, ...]) -> None:
        """M4: what is to be broken is lost, for good, before anything is reported; or reported again without it."""
        for hold in [hold for hold in self.holds.values() if evicted(hold, evictions)]:
            self.broken = tuple(sorted((*self.broken, hold)))
            self.lose(hold)

    def wedge(self, now: float) -> None:
        """M4: for good, until the next view: no caller is let in, no mail of the algorithms is sent or heard."""
        self.wedged = True
        self.ledger.wedge()
        self.report(now)

    def report(self, now: float) -> Report:
        """M4: the holds that are good now; asking about them may lose them."""
        if not self.valid(now):
            self.lose_all()
        return self.account()

    def account(self) -> Report:
        holds = tuple(sorted(self.holds.values()))
        return Report(self.epoch, self.me, holds, self.broken, self.ledger.lost, self.counter)

    def changed(self) -> None:
        """A hold has ended: if that was reported otherwise, say so. Renewals say it, too."""
        if self.wedged:
            for asker in self.askers:
                self.say(asker, self.account())

    # M5: the next view.

    def decided(self, sender: str, m: Decided, now: float) -> None:
        """M5: only a later epoch counts; the same decision comes many times, and late."""
        if m.view.epoch <= self.epoch:
            return
        if self.me in m.view.incarnations:
            self.begin_if_covered(m.view, now)
        elif self.view:
            self.end(m.view)

    def begin_if_covered(self, view: View, now: float) -> None:
        """A view with other voters waits for a lease over them, or its holds would be lost at once.

        It does not wait if nothing is held, or no more. Else it might wait for ever: a voter that is in the new view
        already may have banned this member there, while another goes on to acknowledge it.
        """
        if not self.valid(now):
            self.lose_all()
        same = self.view is not None and set(self.view.voters) == set(view.voters)
        if same or not self.holds or now < self.lease_ends(view):
            self.activate(view, now)
        else:
            self.coming = view

    def activate(self, view: View, now: float) -> None:
        """M5: holds that go on are inside; those that ended while wedged go in and out, for the view has them."""
        before, self.view, self.coming = self.view, view, None
        self.wedged, self.askers, self.broken = False, (), ()
        if before and before.lease != view.lease:
            limit = now + view.lease.at_member
            self.worth = {voter: min(worth, limit) for voter, worth in self.worth.items()}
        carried = [hold for hold in view.holders if hold.incarnation == self.me]
        inside = [hold for hold in carried if self.holds.get((hold.lock, hold.slot)) == hold]
        inside = [hold for hold in inside if self.holding(hold.lock, hold.slot, now)]
        for hold in set(self.holds.values()) - set(inside):
            self.lose(hold)
        passing = [hold for hold in carried if hold not in (*inside, *self.ledger.lost)]
        self.ledger.begin(view, inside, passing)
        self.out.append(Activate(view, tuple(inside), tuple(passing)))
        self.tell_of_registrations()

    def end(self, view: View | None = None) -> None:
        """M7: lose everything and never act again."""
        self.lose_all()
        self.ended = True
        if view:
            self.out.append(Dropped(view))

    # M6: the algorithms' mail.

    def admit(self, sender: Incarnation, epoch: int) -> Mail:
        """M6: of an earlier epoch: drop. Of this one, not wedged, from a member of it: deliver. Of a later one: keep."""
        if self.ended or epoch < self.epoch:
            return Mail.DROP
        if epoch > self.epoch:
            for voter in self.known_voters():
                self.say(voter, Fetch(self.epoch))
            return Mail.KEEP
        known = self.view is not None and sender in self.view.incarnations
        return Mail.DELIVER if known and not self.wedged else Mail.DROP

    def may_send(self) -> bool:
        """M4: whether the algorithms' mail of this epoch may still be sent."""
        return self.view is not None and not self.wedged and not self.ended

    # M7: leaving.

    def leave(self) -> None:
        """M7: no new grants from here on."""
        self.leaving = True

    def farewell(self, to: tuple[str, ...] = ()) -> bool:
        """M7: once nothing is held any more say BYE, and never act again. Whether it was said."""
        if not self.leaving or self.holds:
            return False
        self.tell_of_registrations()  # before it is gone: what was released is not lost
        for each in ordered((*self.known_voters(), *to)):
            self.say(each, Bye(self.me, self.counter))
        self.ended = True
        return True

    # M8: registrations.

    def register(self, registration: Registration, now: float) -> bool:
        """M8: let a majority of voters store it; then, and not before, its caller may be let in."""
        if not self.may_enter(now):
            return False
        self.ledger.ask(registration)
        self.tell_voters(Register(self.epoch, registration))
        return True

    def registered(self, sender: str, m: Registered, now: float) -> None:
        if self.view and m.epoch == self.epoch and self.ledger.stored(m.hold, m.voter, self.view):
            self.out.append(Entitled(m.hold))

    def strike(self, hold: Holder) -> None:
        """M8: the hold has ended, or never began; if it was registered its place stays taken until it is struck off."""
        if self.ledger.ends(hold):
            self.tell_voters(Strike(self.epoch, hold))

    def struck(self, sender: str, m: Struck, now: float) -> None:
        if self.view and m.epoch == self.epoch and self.ledger.struck(m.hold, m.voter, self.view):
            self.out.append(Discharged(m.hold))

    def tell_of_registrations(self) -> None:
        """All that voters may not have heard."""
        if self.view:
            self.tell_voters(*self.ledger.said(self.view))

    def tell_voters(self, *messages: Message) -> None:
        for message in messages:
            for voter in self.view.voters if self.view else ():
                self.say(voter, message)

    # Helpers.

    def fetch(self, sender: str, m: Fetch, now: float) -> None:
        """Asked in an older epoch, answer with the view."""
        if self.view and m.epoch < self.view.epoch:
            self.say(sender, Decided(self.view))

    def say(self, to: str, message: Message) -> None:
        self.out.append(Send(to, message))
