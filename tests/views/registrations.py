"""Deliberate mistakes in how holds are registered, one each, and the setting that shows it. They live here only."""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.check.views import Kit
from soloist.views import Ledger, Member, Node, Proposer, Registration, Send, Store, View, Voter
from soloist.views.effects import Effect
from soloist.views.messages import Promise, Register, Report
from soloist.views.view import VoterId

from .teeth import tooth

replace = msgspec.structs.replace


class OneIsEnough(Ledger):
    def enough(self, voters: tuple[VoterId, ...], view: View) -> bool:
        return bool(voters)


class EntersTooSoon(Member):
    """Lets its caller in when one voter has stored it."""

    ledger: Ledger = msgspec.field(default_factory=OneIsEnough)


class StruckOffAtOnce(Member):
    """Says that it is over as soon as it has begun."""

    def enter(self, lock: str, slot: int, fence: int, now: float, size: int = 1) -> bool:
        entered = super().enter(lock, slot, fence, now, size)
        if entered:
            self.strike(self.holds[lock, slot])
            self.ledger.striking = {}
        return entered


class LossNotReported(Member):
    """What was lost with the lease is over, as if it had been released."""

    def account(self) -> Report:
        return replace(super().account(), lost=())


class ForgottenAtAChange(Proposer):
    """Carries over what members report, and nothing else."""

    def registered(self, kept: list[Node]) -> tuple[Registration, ...]:
        reported = self.holders(kept)
        return tuple(each for each in super().registered(kept) if each.hold in reported)


class ForgottenAtTheNext(Voter):
    """Stores a view, but not what is registered in it."""

    def install(self, view: View, now: float) -> None:
        super().install(view, now)
        self.store(replace(self.file, registered=()))


class StoredAfterPromise(Voter):
    """Has told what there is, and takes more."""

    def register(self, sender: str, m: Register, now: float) -> None:
        ballot = self.file.ballot
        self.file = replace(self.file, ballot=None)
        super().register(sender, m, now)
        self.file = replace(self.file, ballot=ballot)


class SaidBeforeStored(Voter):
    """Says that it is stored, and then stores it."""

    def receive(self, sender: str, message: Any, now: float) -> None:
        super().receive(sender, message, now)
        if isinstance(message, Register):
            said: list[Effect] = [effect for effect in self.out if isinstance(effect, Send)]
            self.out = said + [effect for effect in self.out if isinstance(effect, Store)]


class NotPromised(Voter):
    """Keeps what is registered to itself."""

    def prepare(self, sender: str, m: Any, now: float) -> None:
        super().prepare(sender, m, now)
        self.out = [
            Send(effect.to, replace(effect.message, registered=()))
            if isinstance(effect, Send) and isinstance(effect.message, Promise)
            else effect
            for effect in self.out
        ]


class CountedFromTheLastRenewal(Voter):
    """The delay begins when the member was last heard, not when its loss was decided."""

    def install(self, view: View, now: float) -> None:
        heard = {inc: each.time for inc, each in self.heard.items()}
        super().install(view, now)
        for each in view.withheld:
            self.since[each.hold] = heard.get(each.hold.incarnation, self.since[each.hold])


class CountedByItsOwnClock(Voter):
    """Takes its clock for right, which may be fast."""

    def lapsed(self, now: float) -> set[Any]:
        assert self.view is not None
        lost = self.view.withheld
        return {each.hold for each in lost if now - self.since[each.hold] >= each.delay}


class NeverOver(Voter):
    """Does not see that the delay has passed."""

    def lapsed(self, now: float) -> set[Any]:
        return set()


REGISTRATIONS = [
    tooth(
        "entry before a majority has stored it", "registered", "withheld", 19, kit=Kit(member=EntersTooSoon)
    ),
    tooth(
        "struck off before it is released",
        "registered",
        "withheld",
        18,
        kit=Kit(member=StruckOffAtOnce),
        voters=("1",),
    ),
    tooth("loss taken for a release", "registered-silent", "withheld", 26, kit=Kit(member=LossNotReported)),
    tooth(
        "forgotten at a change",
        "registered",
        "withheld",
        17,
        kit=Kit(proposer=ForgottenAtAChange),
        voters=("1",),
    ),
    tooth(
        "forgotten at the change after",
        "registered-silent",
        "withheld",
        25,
        kit=Kit(voter=ForgottenAtTheNext),
    ),
    tooth(
        "stored after a promise",
        "registered",
        "withheld",
        17,
        kit=Kit(voter=StoredAfterPromise),
        voters=("1",),
    ),
    tooth(
        "said before it is stored",
        "registered-restarts",
        "withheld",
        17,
        kit=Kit(voter=SaidBeforeStored),
        voters=("1",),
    ),
    tooth(
        "not told with the promise", "registered", "withheld", 17, kit=Kit(voter=NotPromised), voters=("1",)
    ),
    tooth(
        "delay counted from the last renewal",
        "delayed",
        "withheld",
        22,
        kit=Kit(voter=CountedFromTheLastRenewal),
        restarts=0,
    ),
    tooth(
        "delay counted by a clock that is fast",
        "delayed-drift",
        "withheld",
        22,
        kit=Kit(voter=CountedByItsOwnClock),
    ),
    tooth("delay that never ends", "delayed", "progress", 1, every=1, kit=Kit(voter=NeverOver), restarts=0),
]
