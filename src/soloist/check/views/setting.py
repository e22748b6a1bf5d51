"""A setting in which views are explored: who is there, and what may happen."""

from __future__ import annotations

from typing import Literal

import msgspec

from soloist.check.views.site import Site
from soloist.views import Breaking, Lease, Member, Node, Proposer, Voter, VoterChange

THREE = ("1", "2", "3")


def node_called(name: str) -> Node:
    """A member: a and a' are two processes of one name."""
    return Node(name.rstrip("'"), name)


class Kit(msgspec.Struct, frozen=True):
    """The state machines that are explored; tests put deliberate mistakes in their place."""

    voter: type[Voter] = Voter
    member: type[Member] = Member
    proposer: type[Proposer] = Proposer
    site: type[Site] = Site
    breaking: type[Breaking] = Breaking


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting. Messages may be lost, doubled, late and out of order in all of them, and anybody may pause."""

    name: str
    says: str
    voters: tuple[str, ...] = ("1",)
    members: tuple[str, ...] = ("a", "b")
    joiners: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """Joiners that proposers know of from the start. Those that are not in `joiners` are never heard of."""
    spare_voters: tuple[str, ...] = ()
    """Voters to be: in no view at the start."""
    lease: Lease = Lease(2, 0)
    rates: tuple[int, ...] = (1,)
    """By how much a clock may go on in one tick, each clock as it likes."""
    ticks: int = 2
    inside: bool = False
    """Whether the first member is inside at the start; else the token rests there."""
    entries: tuple[int, ...] = (1, 1)
    """Of each member, then of each joiner."""
    renewals: Literal["apart", "whole", "none"] = "whole"
    """Sending, receipt and acknowledgement as steps of their own, or as one step with one voter."""
    echo: bool = False
    """Whether renewals apart say which answers have come through, and a member that does not hear falls silent."""
    renewing: tuple[str, ...] | None = None
    """Who renews; the others were heard once, at the start. None: everybody."""
    proposers: tuple[str, ...] = ("p",)
    """Where there is no lease each is part of a member, and ends with it: `p.a` of a."""
    outlives: bool = False
    """Whether proposers go on when their members have ended: they must not."""
    tries: int = 9
    """Of each proposer for one epoch."""
    ballots: int = 1
    """In all, of all proposers."""
    again: bool = False
    """Whether PREPARE is received again at the same ballot, to be answered with what has become silent since."""
    rivals: bool = False
    """Whether this is about the agreement on views itself, which goes on when nobody enters any more."""
    epochs: int = 2
    """The last one that may be made."""
    changes: dict[int, VoterChange] = {}
    """By the epoch that is to bring them."""
    restarts: int = 0
    """Of voters, at any point between two effects of a step."""
    lost_disks: int = 0
    crashes: int = 0
    proof: bool = False
    """Whether a crash is proved, at any time after it."""
    leaves: tuple[str, ...] = ()
    """Members that may leave, at any time."""
    hangs: int = 0
    breakers: tuple[str, ...] = ()
    """Proposers that know from the start that the lock is to be taken from its holder in the first epoch."""
    stuck: tuple[str, ...] = ()
    """Members that never let go by themselves once nothing bad happens any more."""
    relayed: bool = False
    """Proposers and members do not hear each other: wedge and reports travel by renewals and promises."""
    passing: bool = True
    """Whether the token is handed over by messages."""
    delay: float | None = None
    """With which holds are registered before they begin; `FOR_GOOD`: for good. None: they are not registered."""
    size: Literal["small", "large"] = "small"
