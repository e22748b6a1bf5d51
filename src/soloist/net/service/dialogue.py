"""What a daemon and its clients say to each other on a control socket.

A client says hello, then asks; every answer bears the number of its question.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from soloist.net.link.wire import LockState
from soloist.net.member.breaks import Broken

CONTROL_VERSION = 1


# What a client says.


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    version: int
    program: str = ""


class Acquire(msgspec.Struct, frozen=True, tag="acquire"):
    """Wait for a lock, or for a semaphore if there is a `value`. Answered by `Granted` or `Refused`."""

    number: int
    name: str
    value: int | None = None
    permits: int = 1
    timeout: float | None = None
    note: str | None = None
    on_holder_loss: Literal["release", "hold"] = "release"
    lock_delay: float | None = None


class Release(msgspec.Struct, frozen=True, tag="release"):
    """Give back what the `Acquire` of that number got; or withdraw it, if it still waits. Answered by `Released`."""

    number: int


class AskStatus(msgspec.Struct, frozen=True, tag="status"):
    number: int


class AskHolders(msgspec.Struct, frozen=True, tag="holders"):
    number: int


class AskBreak(msgspec.Struct, frozen=True, tag="break"):
    """Have a lock taken from whoever holds it. Answered by `Broke` or `Refused`."""

    number: int
    name: str
    timeout: float | None = None


class ChangeVoters(msgspec.Struct, frozen=True, tag="voters"):
    """One more, or one less. Answered by `Done` once that holds whatever crashes, or `Refused`."""

    number: int
    kind: Literal["add", "remove"]
    name: str


class Leave(msgspec.Struct, frozen=True, tag="leave"):
    """Leave the cluster for good, vote no more, and end. Answered by `Done` or `Refused`."""

    number: int


Request = Hello | Acquire | Release | AskStatus | AskHolders | AskBreak | ChangeVoters | Leave


# What a daemon says.


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    version: int
    cluster: str
    node: str
    pid: int


class Granted(msgspec.Struct, frozen=True, tag="granted"):
    number: int
    fence: int
    slot: int | None


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """`kind` is the class of the error. `holders` is for people; it is known only after a timeout."""

    number: int
    kind: str
    why: str
    holders: list[LockState] = []


class Released(msgspec.Struct, frozen=True, tag="released"):
    number: int


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """What was granted is no longer sure: stop, and then release."""

    number: int
    why: str


class MemberStatus(msgspec.Struct, frozen=True):
    name: str
    address: str
    connected: bool
    backlog: int
    """Bytes that it has not acknowledged."""
    role: str = "member"
    """Whether it is a member, votes, or both."""


class Status(msgspec.Struct, frozen=True, tag="status"):
    number: int
    cluster: str
    node: str
    pid: int
    algorithm: str
    semaphore_algorithm: str
    uptime: float
    members: list[MemberStatus]
    entries: int
    messages_sent: int
    messages_received: int
    reconnects: int
    locks: int
    """Names that this node has met."""
    held: int
    waiting: int
    clients: int
    leaving: str | None = None
    """Why nobody gets anything here any more."""
    trouble: str = ""
    """Why callers may have to wait, though nobody holds what they want."""
    unready: str = ""
    """Why nobody would be let in here now, whoever holds what; nothing if somebody would."""
    epoch: int = 0
    protocol: int = 0
    """The version in which the members talk; 0 before they do."""
    lease: float | None = None
    voters: dict[str, bool] = {}
    """Who votes on who is a member, and whether it is heard here; nobody without a lease."""
    withheld: list[str] = []
    """Locks that are held for nodes which are lost."""
    waits: list[float] = []
    """Seconds that the last clients have waited here until they had what they asked for, oldest first."""


class Holders(msgspec.Struct, frozen=True, tag="holders"):
    number: int
    views: list[LockState]
    unreachable: list[str]
    """Nodes that did not answer; what they hold is not known."""


class Broke(msgspec.Struct, frozen=True, tag="broke"):
    number: int
    broken: Broken


class Done(msgspec.Struct, frozen=True, tag="done"):
    """What was asked for is so, from this epoch on."""

    number: int
    epoch: int


Reply = Welcome | Granted | Refused | Released | Lost | Status | Holders | Broke | Done

decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
