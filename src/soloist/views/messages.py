"""What voters, members and proposers say to each other. The msgpack bytes of a message are its wire format.

`sender` in a driver's words is who said it: the incarnation of a member or proposer, or the id of a voter.
"""

from __future__ import annotations

import msgspec

from soloist.core import Message
from soloist.views.view import (
    Ballot,
    Eviction,
    Holder,
    Incarnation,
    Node,
    Registration,
    View,
    Vote,
    VoterId,
)


class Report(Message, frozen=True):
    """REPORT: this member is wedged in `epoch`, for good, and holds what is listed here."""

    epoch: int
    incarnation: Incarnation
    holds: tuple[Holder, ...]
    broken: tuple[Holder, ...] = ()
    """What it would hold as well, had that not been taken away."""
    lost: tuple[Holder, ...] = ()
    """Registered holds that it has lost, and not released."""
    counter: int = -1
    """What no fence that it has given or heard of counts beyond; below 0: it does not say."""


def newest(report: Report, other: Report | None) -> Report:
    """Of two reports of one member in one epoch: once wedged it only ever lets go, so the one with fewer holds."""
    return report if other is None or len(report.holds) <= len(other.holds) else other


class Renew(Message, frozen=True):
    """RENEW: I am alive. Once wedged, it brings the report along."""

    incarnation: Incarnation
    number: int
    epoch: int
    report: Report | None = None
    echo: int = 0
    """The newest answer of this voter that has come through."""
    start: int = 0
    """The highest start number that this member has seen of this voter."""
    deaf: tuple[Incarnation, ...] = ()
    """Members that this one has not heard for a lease."""


class Ack(Message, frozen=True):
    """ACK: the renewal of this number counts, from when it was sent."""

    voter: VoterId
    number: int
    epoch: int
    promised: bool
    """Whether the voter has promised to help make the next view, so that members must wedge."""
    start: int = 0
    evictions: tuple[Eviction, ...] = ()
    """What must be lost before it is reported."""


class Probe(Message, frozen=True):
    """An answer to a renewal that is worth nothing, but says what an acknowledgement would say."""

    voter: VoterId
    number: int
    epoch: int
    promised: bool
    start: int = 0
    evictions: tuple[Eviction, ...] = ()


class Poll(Message, frozen=True):
    """Who is silent for you? Binds nobody."""

    epoch: int
    number: int = 0
    """Said again in the answer, for who must know that it was asked first."""


class News(msgspec.Struct, frozen=True, array_like=True):
    """What a voter knows that a proposer may not have heard itself. Evidence, not a vote: kept in memory only."""

    reports: tuple[Report, ...] = ()
    gone: tuple[Incarnation, ...] = ()
    """Said BYE or proved dead."""
    joiners: tuple[Node, ...] = ()
    cut: tuple[tuple[Incarnation, Incarnation], ...] = ()
    """Members (first) that complain of not hearing others (second)."""
    evictions: tuple[Eviction, ...] = ()
    struck: tuple[Holder, ...] = ()
    """Registered holds that were released."""
    over: tuple[Holder, ...] = ()
    """Registered holds that were lost so long ago that nobody need wait for them any more."""


class Polled(Message, frozen=True):
    """The answer to a poll."""

    voter: VoterId
    epoch: int
    silent: tuple[Incarnation, ...]
    promised: bool
    news: News
    number: int = 0


class Prepare(Message, frozen=True):
    """PREPARE: help me make the view of `epoch`, for this reason. Members wedge."""

    epoch: int
    ballot: Ballot
    asked: bool = False
    """An operator, or a node that changes its own part, asked for it: reason enough for any voter."""
    news: News = News()


class Promise(Message, frozen=True):
    """PROMISE: no lower ballot gets my vote, and no banned member gets an acknowledgement before the next view."""

    epoch: int
    ballot: Ballot
    voter: VoterId
    accepted: Vote | None
    banned: tuple[Incarnation, ...]
    news: News
    start: int = 0
    registered: tuple[Registration, ...] = ()
    """All that are stored there: there will be no more before the next view."""


class Accept(Message, frozen=True):
    """ACCEPT: vote for this view at this ballot."""

    ballot: Ballot
    view: View


class Accepted(Message, frozen=True):
    """ACCEPTED: I have voted for your view of this epoch at this ballot."""

    epoch: int
    ballot: Ballot
    voter: VoterId


class Decided(Message, frozen=True):
    """DECIDED: this is the view of its epoch."""

    view: View


class Stored(Message, frozen=True):
    """The voter has stored the view of this epoch, or a later one."""

    voter: VoterId
    epoch: int


class Fetch(Message, frozen=True):
    """I am in this epoch and have heard of a later one: send me its view."""

    epoch: int


class Join(Message, frozen=True):
    """JOIN: take me in."""

    node: Node


class Bye(Message, frozen=True):
    """BYE: I hold nothing and shall never act again. Counts only on the session of that incarnation."""

    incarnation: Incarnation
    counter: int = -1
    """As in a report."""


class Dead(Message, frozen=True):
    """DEAD: this process has ended. The driver has examined the proof."""

    incarnation: Incarnation
    proof: str = ""


class Break(Message, frozen=True):
    """BREAK: in the view after that of `epoch`, nobody shall hold what is listed here."""

    epoch: int
    evictions: tuple[Eviction, ...]


class Register(Message, frozen=True):
    """REGISTER: store this before I let its caller in."""

    epoch: int
    registration: Registration


class Registered(Message, frozen=True):
    """It is stored."""

    voter: VoterId
    epoch: int
    hold: Holder


class Strike(Message, frozen=True):
    """STRIKE: this hold has ended, or never began: strike it off."""

    epoch: int
    hold: Holder


class Struck(Message, frozen=True):
    """It is struck off."""

    voter: VoterId
    epoch: int
    hold: Holder


Said = (
    Renew
    | Ack
    | Probe
    | Report
    | Poll
    | Polled
    | Prepare
    | Promise
    | Accept
    | Accepted
    | Decided
    | Stored
    | Fetch
    | Join
    | Bye
    | Dead
    | Break
    | Register
    | Registered
    | Strike
    | Struck
)
"""All of them, to decode what a peer sends."""
