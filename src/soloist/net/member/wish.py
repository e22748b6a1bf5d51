"""A change of voters that somebody asked for: what it may be, and how far it has come.

Voters change one at a time: one more, or one less (`soloist.views.view.View.follows`). It is done, and a removed one may be
switched off, only when a majority of the new voters has stored the view (rule P4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from soloist.core import UsageError
from soloist.net.link.handshake import Who
from soloist.net.member.company import node_of
from soloist.net.member.roster import Roster, addresses_of
from soloist.views import View
from soloist.views.messages import Stored
from soloist.views.proposer import VoterChange

Kind = Literal["add", "remove"]


class Wish:
    """One such change, as a council pursues it."""

    def __init__(self, change: VoterChange, then: Callable[[str], object]) -> None:
        """`then` is called once it is done, with nothing; or with the reason why it will not be."""
        self.change, self.then = change, then
        self.epoch: int | None = None
        """Of the first view in which it is so."""
        self.doubts = 0
        """Tries at which it would have left too few voters that are heard."""
        self._stored: set[str] = set()

    def fulfilled(self, view: View) -> bool:
        return (self.change.voter in view.voters) == (self.change.kind == "add")

    def heard(self, said: Stored, view: View) -> bool:
        """A voter has stored a view. Whether it is done."""
        if self.epoch is not None and said.epoch >= self.epoch:
            self._stored.add(said.voter)
        return view.is_quorum(self._stored)


def planned(roster: Roster, mine: Who, heard: set[str], kind: Kind, name: str) -> VoterChange:
    """The change that is meant; or in one line why it would be no good."""
    view = roster.view
    if view is None:
        raise UsageError("the cluster has not begun: its first voters are those of `peers`")
    whos = {**{each: who for each, who in roster.met.items() if each in heard}, mine.node: mine}
    change = _added(view, whos, name) if kind == "add" else _removed(view, whos, name)
    if why := unwise(change, view, {who.voter for who in whos.values()}):
        raise UsageError(why)
    return change


def unwise(change: VoterChange, view: View, files: Collection[str]) -> str:
    """Why nobody would be let in any more, if only these vote files are heard; nothing if somebody would."""
    try:
        voters = change.applied(view.voters)
    except UsageError as error:
        return str(error)
    heard = {*files, change.voter} if change.kind == "add" else files
    count, majority = sum(voter in heard for voter in voters), len(voters) // 2 + 1
    if count >= majority:
        return ""
    return (
        f"of the {len(voters)} voters that there would be {count} are heard, and {majority} are needed: "
        "nobody would be let in any more"
    )


def _added(view: View, whos: dict[str, Who], name: str) -> VoterChange:
    if name not in whos:
        known = ", ".join(sorted(whos))
        raise UsageError(f"{name!r} is not heard here, and cannot be made a voter; these are: {known}")
    who = whos[name]
    if not who.voter:
        raise UsageError(
            f"the vote file of {name!r} is no good, as its log says; stop it, remove its data directory, and start it again"
        )
    if who.voter in view.voters:
        raise UsageError(f"{name!r} is a voter already")
    if name in map(node_of, view.voters):
        raise UsageError(
            f"{name!r} is a voter with a vote file that it no longer has; first `soloist members --remove-voter {name}`"
        )
    return VoterChange("add", who.voter, who.address or addresses_of(view).get(name, ""))


def _removed(view: View, whos: dict[str, Who], name: str) -> VoterChange:
    found = [voter for voter in view.voters if node_of(voter) == name]
    if not found:
        raise UsageError(f"{name!r} is no voter; these are: {', '.join(sorted(map(node_of, view.voters)))}")
    lost = [voter for voter in found if name not in whos or voter != whos[name].voter]
    return VoterChange("remove", (lost or found)[0])
