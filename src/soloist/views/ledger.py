"""Registrations of one member: M8. What voters must know of before it begins, because its loss must not go unnoticed.

Only the living report what they hold, so nobody knows what a lost member held; unless voters were told before. A hold is
registered with a majority of voters, then it begins; it ends, then it is struck off, and then its place may go to somebody
else. A majority that promises to make the next view has a voter in common with both, and that voter tells.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from soloist.core import Message
from soloist.views.messages import Break, Register, Strike
from soloist.views.view import LOSS, Holder, Registration, View, VoterId


class Ledger(msgspec.Struct, kw_only=True):
    """Of the epoch that its member is in."""

    asked: dict[Registration, tuple[VoterId, ...]] = {}
    """What must be stored before its caller is let in, and who has stored it."""
    good: dict[Holder, Registration] = {}
    """Of holds that go on."""
    striking: dict[Holder, tuple[VoterId, ...]] = {}
    """Holds that have ended or never began, and who has struck them off."""
    lost: tuple[Holder, ...] = ()
    """Holds that were neither released nor broken: they stand, whatever becomes of this member."""

    def ask(self, registration: Registration) -> None:
        self.asked.setdefault(registration, ())

    def begins(self, hold: Holder, view: View) -> bool:
        """M8: whether this hold may begin: if it is one to be registered, only once a majority has stored it."""
        for each, voters in self.asked.items():
            if each.hold == hold:
                if not self.enough(voters, view):
                    return False
                del self.asked[each]
                self.good[hold] = each
                break
        return True

    def enough(self, voters: tuple[VoterId, ...], view: View) -> bool:
        return view.is_quorum(voters)

    def stored(self, hold: Holder, voter: VoterId, view: View) -> bool:
        """A voter has stored it. Whether there are enough of them from now on."""
        for each, voters in self.asked.items():
            if each.hold == hold and voter not in voters:
                self.asked[each] = (*voters, voter)
                return self.enough(self.asked[each], view) and not self.enough(voters, view)
        return False

    def ends(self, hold: Holder) -> bool:
        """It was released, or its caller did not wait to be let in. Whether it is to be struck off."""
        asked = [each for each in self.asked if each.hold == hold]
        for each in asked:
            del self.asked[each]
        known = self.good.pop(hold, None) is not None or bool(asked)
        if known:
            self.striking[hold] = ()
        return known

    def struck(self, hold: Holder, voter: VoterId, view: View) -> bool:
        """A voter has struck it off. Whether there are enough of them: the others need not be told."""
        if hold not in self.striking:
            return False
        self.striking[hold] = tuple(sorted({*self.striking[hold], voter}))
        if not view.is_quorum(self.striking[hold]):
            return False
        del self.striking[hold]
        return True

    def lose(self, hold: Holder, broken: bool) -> bool:
        """Whether this is a loss that nobody may get past."""
        if self.good.pop(hold, None) is None or broken:
            return False
        self.lost = tuple(sorted((*self.lost, hold)))
        return True

    def wedge(self) -> None:
        """Who has not been let in yet is not let in in this epoch, so what was asked for means nothing."""
        self.asked = {}

    def begin(self, view: View, inside: Iterable[Holder], passing: Iterable[Holder]) -> None:
        """The next view: what it says is registered with its voters, and nothing else."""
        known = {each.hold: each for each in view.registered}
        self.asked = {}
        self.good = {hold: known[hold] for hold in inside if hold in known}
        self.striking = {hold: () for hold in passing if hold in known}
        self.lost = tuple(hold for hold in self.lost if hold in known)

    def said(self, view: View) -> list[Message]:
        """To all voters, again and again; and a wish for the next view, if a loss is not in this one."""
        unseen = set(self.lost).difference(each.hold for each in view.withheld)
        said: list[Message] = [Register(view.epoch, each) for each in self.asked]
        said += [Strike(view.epoch, hold) for hold in self.striking]
        return [*said, Break(view.epoch, (LOSS,))] if unseen else said
