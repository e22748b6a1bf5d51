"""What a state machine asks of its driver, in order: each effect is done before the next is begun.

So whatever a voter says after a `Store` is said only once it is on disk: the file and its directory synced, the
bytes read back. If a store fails, the rest is thrown away and the voter votes no more.
"""

from __future__ import annotations

import msgspec

from soloist.core import Message
from soloist.views.view import Ballot, Holder, Incarnation, Registration, View, Vote, VoterId


class VoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """All that a voter must never forget, in one file, so that view and promise never disagree."""

    cluster: str
    voter: VoterId
    view: View | None = None
    """The newest one stored; None: a voter to be, which has never been in a view."""
    ballot: Ballot | None = None
    accepted: Vote | None = None
    banned: tuple[Incarnation, ...] = ()
    """Members that get no acknowledgement before the next view."""
    registered: tuple[Registration, ...] = ()
    """Holds whose loss must not go unnoticed."""
    start: int = 0
    """How many times a voter was started on this file."""
    place: str = ""
    """Device, inode and machine that the file was written on."""


class Store(msgspec.Struct, frozen=True):
    """Write the vote file, synced, before anything that follows."""

    file: VoteFile


class Send(msgspec.Struct, frozen=True):
    """Send a message to a voter, member or proposer, by its id. It may be lost; it will be said again."""

    to: str
    message: Message


class Activate(msgspec.Struct, frozen=True):
    """Throw all instances away and begin this view; those who wait ask again, in order."""

    view: View
    inside: tuple[Holder, ...]
    """Holds of this node that go on."""
    passing: tuple[Holder, ...]
    """Holds of this node that the view carries over, but that have ended meanwhile: go in and out at once."""


class Lost(msgspec.Struct, frozen=True):
    """A hold is lost for good."""

    hold: Holder
    broken: bool = False
    """Whether somebody had it taken away; else there was no lease, or a view without it."""


class Entitled(msgspec.Struct, frozen=True):
    """A majority has stored the registration of this hold: it may begin."""

    hold: Holder


class Discharged(msgspec.Struct, frozen=True):
    """A majority has struck this hold off: its place may go to somebody else."""

    hold: Holder


class Dropped(msgspec.Struct, frozen=True):
    """This incarnation is not in the view: never act again; start anew as another incarnation."""

    view: View


Effect = Store | Send | Activate | Lost | Entitled | Discharged | Dropped
