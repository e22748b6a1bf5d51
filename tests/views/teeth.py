"""Deliberate mistakes in the rules of views, one each, and the setting that shows it. They live here only."""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.check.views import Kit, Setting, find_setting
from soloist.check.views.site import Site
from soloist.views import (
    Activate,
    Effect,
    Lease,
    Mail,
    Member,
    Node,
    Proposer,
    Send,
    Store,
    View,
    VoteFile,
    Voter,
)
from soloist.views.messages import Ack, Bye, Renew, Report
from soloist.views.view import Holder, VoterId
from soloist.views.voter import Heard

replace = msgspec.structs.replace


# Members.


class NoEpochCheck(Member):
    def admit(self, sender: str, epoch: int) -> Mail:
        return Mail.DELIVER


class LeaseFromReceipt(Member):
    def credit(self, m: Ack, now: float) -> None:
        if m.number in self.sent and self.view:
            self.worth[m.voter] = now + self.view.lease.at_member


class NoWedge(Member):
    def wedge(self, now: float) -> None:
        self.report(now)


class NoLeaseAtEntry(Member):
    def may_enter(self, now: float) -> bool:
        return not self.wedged and not self.leaving and not self.ended


class ValidityCached(Member):
    """Good when it was entered, so good for ever."""

    def valid(self, now: float) -> bool:
        return bool(self.holds) or super().valid(now)


class NoDriftMargin(Member):
    def credit(self, m: Ack, now: float) -> None:
        if m.number in self.sent and self.view:
            self.worth[m.voter] = self.sent[m.number] + self.view.lease.length


class OneIsAMajority(Member):
    def lease_ends(self, view: View) -> float:
        return max(self.worth.get(voter, float("-inf")) for voter in view.voters)


class LeaseOverOldVoters(Member):
    """Counts the voters of the view that it began with."""

    old: tuple[VoterId, ...] = ()

    def activate(self, view: View, now: float) -> None:
        if self.view and not self.old:
            self.old = self.view.voters
        super().activate(view, now)

    def lease_ends(self, view: View) -> float:
        return super().lease_ends(replace(view, voters=self.old) if self.old else view)


class LaterMailDropped(Member):
    def admit(self, sender: str, epoch: int) -> Mail:
        found = super().admit(sender, epoch)
        return Mail.DROP if found is Mail.KEEP else found


class ByeThoughHolding(Member):
    def farewell(self, to: tuple[str, ...] = ()) -> bool:
        """Says it, and its callers work on."""
        if not self.leaving:
            return False
        for voter in self.known_voters():
            self.say(voter, Bye(self.me))
        return True


# Voters.


class BanNotKept(Voter):
    def may_acknowledge(self, m: Renew, now: float) -> bool:
        banned, self.file = self.file, replace(self.file, banned=())
        try:
            return super().may_acknowledge(m, now)
        finally:
            self.file = banned


class BanNotDurable(Voter):
    @classmethod
    def start(cls, file: VoteFile, place: str, now: float) -> Voter:
        return super().start(replace(file, banned=()), place, now)


class AllSilentAfterRestart(Voter):
    @classmethod
    def start(cls, file: VoteFile, place: str, now: float) -> Voter:
        voter = super().start(file, place, now)
        if file.view:
            long_ago = now - file.view.lease.at_voter
            voter.heard = {inc: Heard(0, long_ago) for inc in file.view.incarnations}
        return voter


class SaidBeforeStored(Voter):
    def receive(self, sender: str, message: Any, now: float) -> None:
        super().receive(sender, message, now)
        said: list[Effect] = [effect for effect in self.out if isinstance(effect, Send)]
        self.out = said + [effect for effect in self.out if isinstance(effect, Store)]


class AnyBallot(Voter):
    def may_promise(self, m: Any) -> bool:
        return True


class VotesForgotten(Voter):
    @classmethod
    def start(cls, file: VoteFile, place: str, now: float) -> Voter:
        return super().start(replace(file, ballot=None, accepted=None), place, now)


class RemovedVoterForgets(Voter):
    """Begins again as on its first day, when it was the only voter."""

    first: View | None = None

    def install(self, view: View, now: float) -> None:
        self.first = self.first or self.view
        if self.first and self.file.voter not in view.voters:
            self.heard = {inc: Heard(0, now) for inc in self.first.incarnations}
            empty = VoteFile(cluster=self.file.cluster, voter=self.file.voter, view=self.first)
            self.store(empty)
            return
        super().install(view, now)


class NoReportNeeded(Voter):
    def may_acknowledge(self, m: Renew, now: float) -> bool:
        return m.incarnation not in self.file.banned and self.comes_through(m, now)


# Proposers.


class KeptWithoutReport(Proposer):
    """Takes it that a member that is not banned holds nothing."""

    def next_view(self) -> View | None:
        for inc in self.view.incarnations:
            if inc not in self.reports and not self.may_drop(inc):
                self.reports[inc] = Report(self.view.epoch, inc, ())
        return super().next_view()


class SilentKept(Proposer):
    def next_view(self) -> View | None:
        for inc in self.view.incarnations:
            if inc not in self.reports and self.may_drop(inc):
                self.reports[inc] = Report(self.view.epoch, inc, ())
        return super().next_view()


class DroppedOnSuspicion(Proposer):
    def may_drop(self, inc: str) -> bool:
        return True


class HolderForgotten(Proposer):
    def holders(self, kept: list[Node]) -> tuple[Holder, ...]:
        return ()


class AcceptedIgnored(Proposer):
    def accepted_before(self) -> View | None:
        return None


class VoterReplaced(Proposer):
    def next_voters(self, members: tuple[Node, ...]) -> tuple[VoterId, ...]:
        change = self.change
        return (change.voter,) if change and change.kind == "add" else self.view.voters

    def sound(self, view: View) -> bool:
        return True


# Sites: the lock above, and what the model does to a process.


class TokenAtFirstMember(Site):
    def first_token(self, view: View) -> int | None:
        return 0 if view.members[0].incarnation == self.member.me else None


class FenceWithoutEpoch(Site):
    def next_fence(self) -> int:
        assert self.token is not None
        return self.token + 1


class ReleaseForgotten(Site):
    """Does not go in and out for a hold that ended while wedged."""

    def activate(self, effect: Activate) -> list[Send]:
        sends = super().activate(effect)
        if effect.passing:
            self.token = None
        return sends


class SameIncarnation(Site):
    def crash(self) -> None:
        """All is forgotten but the name: it goes on as the same incarnation."""
        old = self.member
        self.member = type(old)(node=old.node, view=old.view, number=old.number)
        self.token, self.kept, self.fresh = None, (), True


class FalseProof(Site):
    def crash(self) -> None:
        """It lives."""


class Tooth(msgspec.Struct, frozen=True):
    """A mistake, and what shows it."""

    name: str
    kit: Kit
    setting: Setting
    property: str
    steps: int
    """Of the shortest run that shows it (of those tried, for progress)."""
    every: int = 0


def tooth(
    name: str, setting: str, property: str, steps: int, every: int = 0, kit: Kit | None = None, **changes: Any
) -> Tooth:
    return Tooth(name, kit or Kit(), replace(find_setting(setting), **changes), property, steps, every)


ALONE: dict[str, Any] = {
    "members": ("a",),
    "joiners": ("c",),
    "known": ("c",),
    "inside": True,
    "entries": (0, 0),
}
"""One member that holds, and a newcomer, so that there can be a view without it."""
TWO_BALLOTS: dict[str, Any] = {"restarts": 0, "ticks": 0, "rivals": True}

TEETH = [
    tooth("no epoch check", "epochs", "exclusion", 13, kit=Kit(member=NoEpochCheck), ticks=0),
    tooth(
        "lease counted from receipt at the member",
        "renewals",
        "carry-over",
        11,
        kit=Kit(member=LeaseFromReceipt),
        lease=Lease(2, 0),
        ticks=3,
        **ALONE,
    ),
    tooth(
        "view decided without a kept member's report",
        "bans",
        "carry-over",
        7,
        kit=Kit(proposer=KeptWithoutReport),
    ),
    tooth(
        "silent member kept",
        "renewals",
        "exclusion",
        15,
        kit=Kit(proposer=SilentKept),
        members=("b", "a"),
        renewing=None,
        inside=True,
        ticks=1,
        entries=(0, 1),
    ),
    tooth("drop on mere suspicion", "bans", "carry-over", 7, kit=Kit(proposer=DroppedOnSuspicion)),
    tooth("reported holder forgotten", "bans", "carry-over", 8, kit=Kit(proposer=HolderForgotten)),
    tooth(
        "token made at the first member although the lock is held",
        "epochs",
        "exclusion",
        12,
        kit=Kit(site=TokenAtFirstMember),
        ticks=0,
    ),
    tooth("no wedge", "epochs", "carry-over", 8, kit=Kit(member=NoWedge), ticks=0),
    tooth("no lease check at entry", "epochs", "fence", 10, kit=Kit(member=NoLeaseAtEntry)),
    tooth("validity cached", "bans", "carry-over", 9, kit=Kit(member=ValidityCached)),
    tooth("no drift margin", "three-drift", "carry-over", 11, kit=Kit(member=NoDriftMargin)),
    tooth("epoch left out of the fence", "epochs", "fence", 11, kit=Kit(site=FenceWithoutEpoch), ticks=0),
    tooth(
        "one acknowledgement taken for a majority", "bans", "carry-over", 10, kit=Kit(member=OneIsAMajority)
    ),
    tooth("ban not kept", "bans", "carry-over", 14, kit=Kit(voter=BanNotKept)),
    tooth("ban not durable", "bans-restart", "carry-over", 15, kit=Kit(voter=BanNotDurable)),
    tooth(
        "restarted voter takes all for silent",
        "one-voter-restarts",
        "carry-over",
        7,
        kit=Kit(voter=AllSilentAfterRestart),
    ),
    tooth(
        "vote before it is stored",
        "one-voter-restarts",
        "view",
        13,
        kit=Kit(voter=SaidBeforeStored),
        **ALONE,
        ticks=0,
        rivals=True,
    ),
    tooth(
        "any ballot accepted",
        "one-voter-restarts",
        "view",
        13,
        kit=Kit(voter=AnyBallot),
        **ALONE,
        **TWO_BALLOTS,
    ),
    tooth(
        "accepted value ignored",
        "one-voter-restarts",
        "view",
        13,
        kit=Kit(proposer=AcceptedIgnored),
        **ALONE,
        **TWO_BALLOTS,
    ),
    tooth(
        "votes forgotten at restart",
        "one-voter-restarts",
        "view",
        14,
        kit=Kit(voter=VotesForgotten),
        **ALONE,
        ticks=0,
        rivals=True,
    ),
    tooth(
        "same incarnation after a restart", "member-restarts", "carry-over", 16, kit=Kit(site=SameIncarnation)
    ),
    tooth("BYE though holding", "joins-and-leaves", "carry-over", 10, kit=Kit(member=ByeThoughHolding)),
    tooth("false proof", "crashes", "carry-over", 8, kit=Kit(site=FalseProof)),
    tooth(
        "voter replaced in one step",
        "voters-change",
        "carry-over",
        18,
        kit=Kit(proposer=VoterReplaced),
        lease=Lease(2, 0),
    ),
    tooth("lease over the old voters", "voters-change", "carry-over", 31, kit=Kit(member=LeaseOverOldVoters)),
    tooth("removed voter forgets", "removed-voter", "view", 24, kit=Kit(voter=RemovedVoterForgets)),
    tooth(
        "mail of a later epoch dropped",
        "epochs",
        "progress",
        10,
        every=1,
        kit=Kit(member=LaterMailDropped),
        ticks=0,
        entries=(1, 0),
    ),
    tooth(
        "release while wedged forgotten",
        "one-voter-restarts",
        "progress",
        6,
        every=1,
        kit=Kit(site=ReleaseForgotten),
        ticks=0,
        restarts=0,
        ballots=1,
    ),
    tooth(
        "renewal without report acknowledged after a promise",
        "hung-loop",
        "progress",
        1,
        every=1,
        kit=Kit(voter=NoReportNeeded),
        ticks=1,
    ),
]
