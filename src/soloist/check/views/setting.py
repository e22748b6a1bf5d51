"""Small settings in which views are explored, each complete: who is there, and what may happen."""

from __future__ import annotations

from typing import Literal

import msgspec

from soloist.check.views.site import Site
from soloist.core import unknown
from soloist.views import Breaking, Lease, Member, Proposer, Voter, VoterChange


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
    """Proposers that know from the start that the lock is to be taken from whoever holds it in the first epoch."""
    stuck: tuple[str, ...] = ()
    """Members that never let go by themselves once nothing bad happens any more."""
    relayed: bool = False
    """Proposers and members do not hear each other: wedge and reports travel by renewals and promises."""
    passing: bool = True
    """Whether the token is handed over by messages."""
    size: Literal["small", "large"] = "small"


def settings() -> dict[str, Setting]:
    return {setting.name: setting for setting in ALL}


def find_setting(name: str) -> Setting:
    known = settings()
    if name not in known:
        raise unknown("setting", name, known)
    return known[name]


THREE = ("1", "2", "3")
DRIFT = Lease(3, 1 / 3)
"""Two ticks at a member whose clock is slow, four at a voter whose clock is fast: the same time."""

ALL = (
    Setting(
        name="renewals",
        says="1 voter, 2 members, one inside; its renewals sent, received and acknowledged apart; 2 ticks",
        renewals="apart",
        renewing=("a",),
        lease=Lease(1, 0),
        inside=True,
        entries=(0, 1),
        passing=False,
        size="large",
    ),
    Setting(
        name="drift",
        says="1 voter, 2 members; clocks go on by 1 or 2 in a tick, LM = 2, LV = 4, 4 ticks",
        lease=DRIFT,
        rates=(1, 2),
        ticks=4,
    ),
    Setting(
        name="three-voters",
        says="3 voters, 2 members, one inside and renewing, LM = LV = 2, 3 ticks",
        voters=THREE,
        ticks=3,
        inside=True,
        entries=(0, 1),
        renewing=("a",),
        passing=False,
        size="large",
    ),
    Setting(
        name="both-free",
        says="3 voters, both members renew as they like, LM = LV = 1, 2 ticks",
        voters=THREE,
        lease=Lease(1, 0),
        inside=True,
        entries=(0, 1),
        passing=False,
        size="large",
    ),
    Setting(
        name="three-drift",
        says="3 voters, 1 member inside, clocks go on by 1 or 2 in a tick, LM = 2, LV = 4, 3 ticks",
        voters=THREE,
        lease=DRIFT,
        rates=(1, 2),
        ticks=3,
        members=("a",),
        known=("c",),
        inside=True,
        entries=(0,),
        renewing=("a",),
        passing=False,
    ),
    Setting(
        name="two-ballots",
        says="3 voters, 1 member inside, 2 rival ballots and a tick",
        voters=THREE,
        lease=Lease(1, 0),
        ticks=1,
        proposers=("p", "q"),
        ballots=2,
        tries=1,
        members=("a",),
        known=("c",),
        inside=True,
        entries=(0,),
        renewals="none",
        rivals=True,
    ),
    Setting(
        name="three-ballots",
        says="3 voters, 1 member inside, 3 rival ballots",
        voters=THREE,
        ticks=0,
        proposers=("p", "q", "r"),
        tries=1,
        ballots=3,
        members=("a",),
        known=("c",),
        inside=True,
        entries=(0,),
        renewals="none",
        rivals=True,
        size="large",
    ),
    Setting(
        name="epochs",
        says="1 voter, 3 epochs in a row, old tokens under way, carry-over twice",
        ballots=2,
        tries=1,
        epochs=3,
        lease=Lease(1, 0),
        entries=(2, 1),
        size="large",
    ),
    Setting(
        name="voter-restarts",
        says="3 voters, one restarts at any point of any step, one loses its disk; 2 rival ballots",
        voters=THREE,
        lease=Lease(1, 0),
        ticks=0,
        ballots=2,
        tries=1,
        proposers=("p", "q"),
        restarts=1,
        lost_disks=1,
        members=("a",),
        known=("c",),
        inside=True,
        entries=(0,),
        renewals="none",
        rivals=True,
        size="large",
    ),
    Setting(
        name="one-voter-restarts",
        says="1 voter that restarts at any point of any step, 2 rival ballots, 2 ticks",
        ballots=2,
        proposers=("p", "q"),
        restarts=1,
        inside=True,
        entries=(0, 1),
        passing=False,
        size="large",
    ),
    Setting(
        name="joins-and-leaves",
        says="1 voter, a joiner and two leavers at any time, 3 epochs",
        joiners=("c",),
        entries=(1, 1, 1),
        leaves=("a", "b"),
        ticks=0,
        ballots=2,
        tries=1,
        epochs=3,
        renewing=("c",),
        passing=False,
    ),
    Setting(
        name="crashes",
        says="1 voter, crashes with proof, and a joiner; 3 epochs",
        joiners=("c",),
        entries=(1, 1, 1),
        crashes=1,
        proof=True,
        ticks=0,
        ballots=2,
        tries=1,
        epochs=3,
        renewing=("c",),
        size="large",
    ),
    Setting(
        name="voters-change",
        says="voters {1}, then {1, 2}, then {2}, then an epoch more; LM = LV = 1, 2 ticks",
        spare_voters=("2",),
        lease=Lease(1, 0),
        ballots=3,
        tries=1,
        epochs=4,
        changes={2: VoterChange("add", "2"), 3: VoterChange("remove", "1")},
        inside=True,
        entries=(0, 1),
        renewing=("a",),
        passing=False,
    ),
    Setting(
        name="removed-voter",
        says="voters {1}, then {1, 2}, then {2}; a second proposer that has heard nothing of it",
        members=("a",),
        joiners=("c",),
        known=("c",),
        spare_voters=("2",),
        lease=Lease(1, 0),
        entries=(0, 0),
        renewals="none",
        ticks=1,
        proposers=("p", "q"),
        ballots=3,
        tries=1,
        epochs=3,
        rivals=True,
        changes={2: VoterChange("add", "2"), 3: VoterChange("remove", "1")},
        size="large",
    ),
    Setting(
        name="hung-loop",
        says="1 voter, a member whose loop hangs while its renewals go on, 3 ticks",
        hangs=1,
        ticks=3,
    ),
    Setting(
        name="all-crash",
        says="all members crash without proof, the voter restarts, a joiner waits; 3 ticks",
        joiners=("c",),
        inside=True,
        entries=(0, 0, 1),
        crashes=2,
        restarts=1,
        ticks=3,
        renewing=("a", "c"),
        passing=False,
    ),
    Setting(
        name="relayed",
        says="1 voter, proposer and members do not hear each other: reports travel by renewals and promises",
        relayed=True,
        again=True,
        lease=Lease(1, 0),
        inside=True,
        entries=(0, 1),
        passing=False,
    ),
    Setting(
        name="bans",
        says="3 voters, one member inside, LM = LV = 2, 3 ticks: who is banned stays banned",
        voters=THREE,
        members=("a",),
        known=("c",),
        ticks=3,
        inside=True,
        entries=(0,),
        renewing=("a",),
        again=True,
    ),
    Setting(
        name="bans-restart",
        says="the same without PREPARE said again, and a voter restarts at any point of any step",
        voters=THREE,
        members=("a",),
        known=("c",),
        ticks=3,
        inside=True,
        entries=(0,),
        renewing=("a",),
        restarts=1,
    ),
    Setting(
        name="member-restarts",
        says="1 voter, renewals apart, a member crashes and is another one afterwards",
        renewals="apart",
        renewing=("a",),
        crashes=1,
        ticks=0,
        size="large",
    ),
    Setting(
        name="breaks",
        says="1 voter, a member inside that is to lose the lock, a rival that does not know; 3 epochs, 2 ticks",
        proposers=("p", "q"),
        breakers=("p",),
        stuck=("a",),
        tries=1,
        ballots=2,
        epochs=3,
        inside=True,
        entries=(0, 1),
        renewing=("a",),
        passing=False,
        size="large",
    ),
    Setting(
        name="breaks-three",
        says="3 voters, a member inside that is to lose the lock, a rival that does not know; a tick",
        voters=THREE,
        lease=Lease(1, 0),
        ticks=1,
        proposers=("p", "q"),
        breakers=("p",),
        stuck=("a",),
        tries=1,
        ballots=2,
        members=("a",),
        known=("c",),
        inside=True,
        entries=(0,),
        renewals="none",
    ),
    Setting(
        name="breaks-unheard",
        says="1 voter, proposer and members do not hear each other: the wish to break travels by answers to renewals",
        relayed=True,
        again=True,
        breakers=("p",),
        stuck=("a",),
        inside=True,
        entries=(0, 1),
        passing=False,
    ),
    Setting(
        name="deaf",
        says="1 voter, 1 member, renewals apart with echoes, a newcomer: who does not hear falls silent",
        renewals="apart",
        echo=True,
        lease=Lease(1, 0),
        members=("a",),
        known=("c",),
        renewing=("a",),
        inside=True,
        entries=(0,),
    ),
)
