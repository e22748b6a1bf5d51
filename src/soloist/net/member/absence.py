"""Who is missing, or is there and does not vote, said once and in words: on the side that goes on without them, and on the side
that cannot."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set

from soloist.net.member.company import node_of
from soloist.net.member.hearing import Hearing
from soloist.views import View

SPENT = " or be closed; who stays away for good should vote no more: `soloist members --remove-voter NAME`"

log = logging.getLogger("soloist.net")


class Absence:
    """Members and voters that one node does not hear. Only the thread of its council looks; anybody may read `words`."""

    def __init__(self, hearing: Hearing) -> None:
        self.hearing = hearing
        self.words = ""
        """Who is missing and what that means, or nothing."""
        self.mute: frozenset[str] = frozenset()
        """Voters that are heard and cannot vote: a disk is full, or a vote file damaged. They say so with all they say."""
        self._since: dict[str, float] = {}

    def look(self, view: View, now: float) -> None:
        """Twice a renewal has not come, and for a moment already: a connection that is made again is no absence."""
        lease, me = view.lease.length, self.hearing.name
        voters = {node_of(voter) for voter in view.voters}
        others = ({node.name for node in view.members} | voters) - {me}
        heard = {me, *self.hearing.lately(lease * 2 / 3, now)}
        mute = self._mute(view, heard)
        missing = (others - heard) | mute
        self._since = {name: self._since.get(name, now) for name in missing}
        away = sorted(name for name, since in self._since.items() if now - since >= lease / 6)
        self.mute = mute.intersection(away)
        words = _words(away, self.mute, len(voters.difference(away)), len(voters), view.majority)
        if words == self.words:
            return
        self.words = words
        if words:
            log.warning("%s: %s", me, words, extra={"missing": away})
        else:
            log.info("%s: all members and voters are heard", me)

    def too_few(self, view: View, since: float, now: float) -> str:
        """Why there has been no majority for a whole lease, if that is so; without a lease since then."""
        lease = view.lease.length
        if now - since < lease:
            return ""
        heard = {self.hearing.name, *self.hearing.lately(lease, now)}
        mute = self._mute(view, heard)
        away = sorted(name for name in map(node_of, view.voters) if name not in heard - mute)
        count = len(view.voters) - len(away)
        if count >= view.majority:
            return ""
        return (
            f"{_count(count, len(view.voters), mute)}, and there was no lease for {now - since:.1f} s; "
            f"{_who(away, mute)}"
        )

    def _mute(self, view: View, heard: Set[str]) -> frozenset[str]:
        """Of the others that are heard. What this node itself cannot do, it says in other words."""
        names = {node_of(voter) for voter in view.voters} & (heard - {self.hearing.name})
        return frozenset(name for name in names if self.hearing.files.get(name) not in view.voters)


def _words(away: list[str], mute: Set[str], left: int, voters: int, majority: int) -> str:
    if not away:
        return ""
    count = f"{_who(away, mute)}; {_count(left, voters, mute)}"
    if left < majority:
        return f"{count}, {majority} are needed: nobody is let in here once the lease is over"
    spare = left - majority
    return f"{count}, {spare} more may fail" + ("" if spare else SPENT)


def _who(away: list[str], mute: Set[str]) -> str:
    silent, there = ", ".join(name for name in away if name not in mute), ", ".join(sorted(mute))
    without = f"heard, but without a vote: {there}; `soloist status` there says why" if there else ""
    return "; ".join(filter(None, [silent and f"not heard: {silent}", without]))


def _count(left: int, voters: int, mute: Set[str]) -> str:
    return f"{left} of {voters} voters can vote" if mute else f"{left} of {voters} voters are heard"


def vote_left(name: str, voters: Mapping[str, bool]) -> str:
    """What it means for the others that a voter is closed: it still counts among those of whom most are needed."""
    if name not in voters or len(voters) == 1:
        return ""
    spare = sum(heard for other, heard in voters.items() if other != name) - (len(voters) // 2 + 1)
    left = (
        f"{spare} of the other voters may fail or be closed"
        if spare >= 0
        else "too few of the others are heard"
    )
    return f"its vote stays for when it comes back, and until then {left}"
