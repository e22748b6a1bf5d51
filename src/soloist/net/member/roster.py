"""Whom a node knows of: those whom it was told of, those whom it has met, and those whom the latest view names."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from soloist.net.link.handshake import Who, difference
from soloist.net.link.transport import Transport
from soloist.net.member.company import Company, node_of
from soloist.views import View

log = logging.getLogger("soloist.net")


class Roster:
    """Of one node. It decides whom the transport calls. Only the loop uses it."""

    def __init__(self, told: Company, transport: Transport) -> None:
        self.told, self.transport = told, transport
        self.met: dict[str, Who] = {}
        """Those whom we have met, as they were then."""
        self.view: View | None = None
        """The latest that we know of; we may not be in it."""
        self.left: set[str] = set()
        """Those who have said goodbye."""
        self._differing: set[str] = set()
        """What was said of those who were told of others than we were."""

    def meet(self, mine: Who, theirs: Who) -> None:
        """Who was told of other peers works with us all the same, once there is a view; but somebody should know."""
        self.met[theirs.node] = theirs
        self.left.discard(theirs.node)
        if mine.joins or theirs.joins or mine.members == theirs.members:
            return
        what = f"{difference(mine, theirs)}; who is a member is decided by the view, not by them"
        if what not in self._differing:
            self._differing.add(what)
            log.warning("%s: %s", mine.node, what)

    def is_namesake(self, theirs: Who) -> bool:
        """Whether another process of that name is connected, elsewhere. The two would put each other out for ever."""
        there = self.met.get(theirs.node)
        if there is None or theirs.node not in self.transport.connected():
            return False
        again = theirs.incarnation == there.incarnation or theirs.previous == there.incarnation
        return not again and theirs.address != there.address

    def learn(self, view: View) -> bool:
        """All who are in it are to be reached. Whether it is news."""
        if self.view and view.epoch <= self.view.epoch:
            return False
        self.view = view
        self.transport.know(addresses_of(view))
        return True

    def look_for_all(self) -> None:
        """We were left out, and have to be taken in again: by whomever we can find."""
        self.transport.know({**self.told.addresses, **(addresses_of(self.view) if self.view else {})})

    def forget(self, *left: str) -> set[str]:
        """Call those no more who are neither in the view nor vote, or have said goodbye: they call us when they are
        back. Gives all of them."""
        self.left.update(left)
        if self.view is None:
            return set()
        voters = {node_of(voter) for voter in self.view.voters}
        wanted = {node.name for node in self.view.members} | (voters - self.left)
        gone = {*self.told.addresses, *self.met, *self.left} - wanted
        self.transport.forget(gone)
        return gone

    def concerns(self, peer: str) -> bool:
        """Whether anybody here misses that node, if it cannot be reached."""
        return peer in self.told.addresses or (self.view is not None and peer in roles(self.view))

    def roll(self) -> dict[str, tuple[str, str]]:
        """Where each node of the view is, and what it does there, by name."""
        if self.view is None:
            return {}
        where = {**addresses_of(self.view), **self.told.addresses}
        return {name: (where.get(name, ""), role) for name, role in sorted(roles(self.view).items())}

    def voters(self, mine: Who, heard: set[str]) -> dict[str, bool]:
        """Who votes, and whether it is heard. With another vote file than the view names, a node cannot."""
        if self.view is None:
            return {}
        files = {name: who.voter for name, who in self.met.items() if name in heard}
        files[mine.node] = mine.voter
        return {node_of(voter): voter in files.values() for voter in sorted(self.view.voters)}

    def why(self, troubles: Mapping[str, str]) -> str:
        """What keeps this node from being a member; or from voting, if it does nothing else."""
        silent = "; ".join(f"{peer} ({why})" for peer, why in self.transport.failures().items())
        alone = bool(silent) and not self.transport.connected()
        reasons = [f"{peer}: {why}" for peer, why in sorted(troubles.items())]
        reasons += [f"nobody answers: {silent}"] if alone and not reasons else []
        if self.told.voter_only:
            return "; ".join(reasons)
        return f"this node is not a member yet: {'; '.join(reasons) or 'it has asked to join'}"


def addresses_of(view: View) -> dict[str, str]:
    """Where members and voters are to be found, by name. What a member says itself is newer."""
    homes = {node_of(voter): home for voter, home in view.homes}
    return {**homes, **{node.name: node.address for node in view.members if node.address}}


def roles(view: View) -> dict[str, str]:
    """What each node does, by name."""
    voters = {node_of(voter) for voter in view.voters} - {""}  # etcd is no node
    members = {node.name for node in view.members}
    words = {name: "member, votes" if name in voters else "member" for name in members}
    return words | dict.fromkeys(voters - members, "votes")
