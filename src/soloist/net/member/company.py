"""Whom a node was told of: all its peers, or a few members of a cluster that it is to join; and who votes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from soloist.core import UsageError, shown
from soloist.net.link.handshake import Who
from soloist.net.link.security import Address, address
from soloist.net.told import check_told
from soloist.views import Lease, View

LEAST_LEASE = 0.5
"""Seconds. Less is lost by any hiccup."""
USUAL_LEASE = 10.0
"""Seconds, where nobody says."""
LEAST_VOTERS = 3
"""Voters; with fewer of them no crash is survived: the majority of two is both."""
MOST_VOTERS = 7
"""Voters that are found by name: more of them would only make each view cost more."""


Asked = float | Literal["auto"] | None
"""What a user may say of the lease: seconds, whatever suits the cluster, or none."""


class Company(msgspec.Struct, frozen=True):
    """What the user of one node has said about all of them."""

    name: str
    addresses: dict[str, str]
    """Of everybody whom it was told of, by name, this node included."""
    listen: str = ""
    """Where this node listens, if not at its address."""
    joins: bool = False
    voters: tuple[str, ...] = ()
    """Those who are to vote, if that was said."""
    voter_only: bool = False

    @property
    def address(self) -> str:
        """Where others find this node."""
        return self.addresses[self.name]

    @property
    def members(self) -> list[str]:
        """Those who begin together: of those who are there already a newcomer knows nothing before it sees a view."""
        return [self.name] if self.joins else sorted(self.addresses)

    @property
    def peers(self) -> dict[str, str] | None:
        """What all nodes should be told alike; None if this one was told something else."""
        return None if self.joins else self.addresses

    def introduced(self, who: Who) -> Who:
        """With what others are to know of it."""
        return msgspec.structs.replace(
            who, address=self.address, joins=self.joins, votes_only=self.voter_only, voters=self.voters
        )

    def parsed(self) -> dict[str, Address]:
        return {name: address(where) for name, where in self.addresses.items()}

    def listens(self) -> Address | None:
        return address(self.listen) if self.listen else None


def company(
    name: str,
    peers: Mapping[str, str] | None,
    join: Mapping[str, str] | None,
    listen: str,
    where: str,
    voters: Iterable[str] | None,
    voter_only: bool,
    voting: str,
    in_memory: bool,
) -> Company:
    """From what a user says, looked at: `where` is the address that others are to use, `voting` who decides."""
    check_told(name, {"peers": peers, "join": join}, {"listen": listen, "address": where})
    leased = bool(voting)
    if voting == "etcd" and (voter_only or voters is not None):
        raise UsageError("with etcd= nobody votes among the nodes: leave out voters= and voter_only=")
    chosen = _voters(voters, peers, leased)
    if voter_only and not leased:
        raise UsageError("voter_only= needs a lease, not lease=None: without one nobody votes")
    if join is not None:
        if peers is not None:
            raise UsageError("give peers= or join=, not both: a cluster that is there knows its members")
        _check_join(name, join)
        if not leased:
            raise UsageError(
                "join= needs a lease, not lease=None: if those who began together were all started again, they would not "
                "know of who had joined, and both would hold the same lock"
            )
        mine = where or listen
        if not in_memory:
            _check_own(mine, where)
        everybody = {**join, name: mine}
        return Company(name, everybody, listen, joins=True, voters=chosen, voter_only=voter_only)
    if peers is None:
        raise UsageError("give peers= to begin a cluster, or join= to join one that is there")
    if name not in peers:
        raise UsageError(f"node {name!r} is not among its peers: {', '.join(sorted(peers))}")
    if where:
        raise UsageError(f"address= goes with join=; with peers= the address of {name!r} is the one there")
    return Company(name, dict(peers), listen, voters=chosen, voter_only=voter_only)


def _check_join(name: str, join: Mapping[str, str]) -> None:
    if not join or name in join:
        raise UsageError(f"join= names members that are there, other than {name!r}, with their addresses")


def _check_own(mine: str, where: str) -> None:
    if not mine:
        raise UsageError('join= needs address= (or listen=), where others find this node, as in "host:7400"')
    if address(mine).anywhere:
        what = "address" if where else "listen"
        raise UsageError(
            f"{what}={mine!r} is no address that others could call; give address= with a host that they know"
        )


def _voters(voters: Iterable[str] | None, peers: Mapping[str, str] | None, leased: bool) -> tuple[str, ...]:
    if voters is None:
        return ()
    names = list(voters) if isinstance(voters, Iterable) and not isinstance(voters, str) else [None]
    if not all(isinstance(each, str) for each in names):
        raise UsageError(f"voters= is a list of names, not {shown(voters)}")
    chosen = tuple(sorted({str(each) for each in names}))
    if not leased:
        raise UsageError("voters= needs a lease, not lease=None: without one nobody votes")
    if peers is None:
        raise UsageError(
            "voters= goes with peers=: who joins asks for a vote by `soloist members --add-voter`"
        )
    if strange := [each for each in chosen if each not in peers]:
        raise UsageError(f"voters= names {', '.join(map(repr, strange))}, which is not among the peers")
    if not chosen:
        raise UsageError("voters= names nobody; leave it out, and the first seven nodes by name vote")
    return chosen


def elect(names: Iterable[str], chosen: Iterable[str], only: Iterable[str]) -> list[str]:
    """Who votes in the first view: those who were chosen, or the first by name; those who do nothing else always."""
    always = set(only)
    if wanted := set(chosen):
        return sorted(wanted | always)
    others = [name for name in sorted(names) if name not in always]
    return sorted((*always, *others[: max(0, MOST_VOTERS - len(always))]))


def obstacle(whos: Mapping[str, Who], mine: str, epoch: int) -> str:
    """Why all who have met cannot begin, in words, or nothing. `mine` says what is wrong with our own vote file.

    Who has one that is no good may have had a view, and so may have all the others that have lost theirs.
    """
    if forgetful := [name for name in sorted(whos) if not whos[name].voter]:
        return (
            f"the vote file of {', '.join(forgetful)} is no good{f': {mine}' if mine else ', as the log there says'}; "
            f"if nothing can be saved of it, stop the node and run `soloist init --name {forgetful[0]} --epoch {epoch}` "
            "where it was"
        )
    if all(who.votes_only for who in whos.values()):
        return "all nodes only vote (voter_only); at least one must have locks"
    return ""


def first_view(born: View, whos: Mapping[str, Who], chosen: Iterable[str], lease: Lease) -> View:
    """What all make alike of those who have met: who votes, who has locks, and where everybody is to be found."""
    only = [name for name, who in whos.items() if who.votes_only]
    voters = [whos[name] for name in elect(whos, chosen, only)]
    hosts = [node for node in born.members if node.name not in only]
    return msgspec.structs.replace(
        born,
        voters=tuple(sorted(who.voter for who in voters)),
        members=tuple(msgspec.structs.replace(node, address=whos[node.name].address) for node in hosts),
        lease=lease,
        homes=tuple(sorted((who.voter, who.address) for who in voters)),
    )


def wanted_lease(
    said: Asked,
    peers: Mapping[str, str] | None,
    join: Mapping[str, str] | None,
    voters: Iterable[str] | None,
    voter_only: bool,
) -> Asked:
    """What "auto" means for this node, without etcd: a lease where there are voters enough.

    All who begin together are in `peers`, those who only vote as well, so all come to the same answer. A node that speaks of
    voters wants them to vote, and only a cluster that votes can be joined.
    """
    if said != "auto":
        return said
    enough = isinstance(peers, Mapping) and len(peers) >= LEAST_VOTERS
    return USUAL_LEASE if enough or join is not None or voters is not None or voter_only else None


def check_lease(seconds: Asked) -> Lease | None:
    """The terms, from what a user says: half a percent of drift each way is more than any clock has."""
    if seconds is None:
        return None
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not LEAST_LEASE <= seconds < math.inf
    ):
        raise UsageError(
            f'lease must be a number of seconds, {LEAST_LEASE:g} or more, "auto" or None; not {seconds!r}'
        )
    return Lease(float(seconds), drift=0.01, margin=max(0.05, seconds / 50))


def node_of(voter: str) -> str:
    """The name of the node that has this vote file."""
    return voter.rpartition("#")[0]
