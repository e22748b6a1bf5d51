"""Deliberate mistakes in how a lock is broken, one each, and the setting that shows it. They live here only."""

from __future__ import annotations

import msgspec

from soloist.check.views import Kit
from soloist.views import Breaking, Eviction, Holder, Member, Node, Proposer, View, Voter
from soloist.views.messages import News, Renew, Report
from soloist.views.view import Incarnation, evicted

from .teeth import tooth

replace = msgspec.structs.replace


class ReportedBeforeLost(Member):
    """Says that it has let go, and lets go later: never, here."""

    gone: tuple[Eviction, ...] = ()

    def let_go(self, evictions: tuple[Eviction, ...]) -> None:
        self.gone = evictions

    def report(self, now: float) -> Report:
        report = super().report(now)
        return replace(report, holds=tuple(h for h in report.holds if not evicted(h, self.gone)))


class StruckOut(Proposer):
    """Leaves the hold out of the view, whatever its member says."""

    def has_reported(self, inc: Incarnation) -> bool:
        return inc in self.reports

    def holders(self, kept: list[Node]) -> tuple[Holder, ...]:
        return tuple(hold for hold in super().holders(kept) if not evicted(hold, self.evictions))


class AnyViewWillDo(Breaking):
    """Takes the next view for the one that was asked for, though a rival made it who had not heard of the wish."""

    def done(self, view: View) -> bool:
        return view.epoch > self.since.epoch


class LostWithoutAWord(Member):
    """Has reported already, loses the hold, and does not say so again."""

    def let_go(self, evictions: tuple[Eviction, ...]) -> None:
        if not self.wedged:
            super().let_go(evictions)
            return
        askers, self.askers = self.askers, ()
        super().let_go(evictions)
        self.askers = askers

    def report(self, now: float) -> Report:
        report = super().report(now)
        return replace(report, holds=tuple(sorted((*report.holds, *self.broken))))


class NotRelayed(Voter):
    """Does not say in its answers to renewals what is to be broken."""

    def renewed(self, sender: str, m: Renew, now: float) -> None:
        kept, self.evictions = self.evictions, set()
        super().renewed(sender, m, now)
        self.evictions = kept


class NoReasonEnough(Voter):
    """Hears of the wish and does nothing about it."""

    def has_reason(self, now: float) -> bool:
        kept, self.evictions = self.evictions, set()
        try:
            return super().has_reason(now)
        finally:
            self.evictions = kept

    def news(self) -> News:
        return replace(super().news(), evictions=())


BREAKS = [
    tooth("reported before it is lost", "breaks", "carry-over", 7, kit=Kit(member=ReportedBeforeLost)),
    tooth("struck out by the proposer", "breaks", "carry-over", 9, kit=Kit(proposer=StruckOut)),
    tooth("forgotten by a rival, and claimed", "breaks", "break", 7, kit=Kit(breaking=AnyViewWillDo)),
    tooth("lost without a word", "breaks", "progress", 0, every=1, kit=Kit(member=LostWithoutAWord)),
    tooth("not relayed", "breaks-unheard", "progress", 1, every=1, kit=Kit(voter=NotRelayed)),
    tooth("no reason to change the view", "breaks", "progress", 0, every=1, kit=Kit(voter=NoReasonEnough)),
]
