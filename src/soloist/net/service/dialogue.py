"""What a node and its clients say to each other.

A client says hello, and shows who it is if it has to; the node says welcome. From then on the client asks, and every answer
bears the number of its question. Greetings are maps, so that versions can tell each other which they are; the rest is short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from soloist.net.engine.inquiry import Inspection
from soloist.net.link.wire import LockState
from soloist.net.member.breaks import Broken

VERSION = 3
MOST_LIVE = 20_000
"""Requests and holds that one session may have."""


# Greetings.


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    version: int
    program: str = ""
    session: bytes = b""
    """Drawn by the client; a connection that knows it may go on in the session."""
    live: tuple[int, ...] = ()
    """The requests and holds that the client has in it: the lowest number, and from each to the next (`steps`)."""
    lease: float = 0.0
    """The longest session lease that the client wants; 0: as the node has it."""
    pulse: bool = False
    """Whether this connection is for renewals alone."""
    client: str = ""
    """Which of the node's clients it is, where these have names."""
    nonce: bytes = b""
    turn: int = 0
    """Of the connections in this session, which one this is: a hello may be late. 0: the client does not count."""


class Challenge(msgspec.Struct, frozen=True, tag="challenge"):
    """Show that you know the secret."""

    nonce: bytes


class Proof(msgspec.Struct, frozen=True, tag="proof"):
    code: bytes


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    version: int
    cluster: str
    node: str
    pid: int
    lease: float = 0.0
    """Of the session, in seconds; 0 if it ends with its connection."""
    renewed: bool = False
    """Whether what is held is good only for as long as renewals are acknowledged."""
    resumed: bool = False
    """Whether the session goes on."""
    live: tuple[int, ...] = ()
    """What the node has of it: requests and holds."""
    code: bytes = b""
    """The node's own proof that it knows the secret."""
    instance: bytes = b""
    """Drawn by the node for this session: one of the same number at another node, or after a restart, is another."""


class Sorry(msgspec.Struct, frozen=True, tag="sorry"):
    """It will not be, and why."""

    why: str


Greeting = Hello | Challenge | Proof | Welcome | Sorry


def steps(numbers: Iterable[int]) -> tuple[int, ...]:
    """Few bytes each, however long their client has been at work: a hello has to fit into a frame."""
    before, found = 0, []
    for number in sorted(numbers):
        found.append(number - before)
        before = number
    return tuple(found)


# What a client asks.


class Acquire(msgspec.Struct, frozen=True, array_like=True, tag="acquire", gc=False):
    """Wait for a lock, or for a semaphore if there is a `value`. Answered by `Granted` or `Refused`."""

    number: int
    name: str
    value: int | None = None
    permits: int = 1
    timeout: float | None = None
    note: str | None = None
    on_holder_loss: Literal["release", "hold"] = "release"
    lock_delay: float | None = None


class Release(msgspec.Struct, frozen=True, array_like=True, tag="release", gc=False):
    """Give back what the `Acquire` of that number got; or withdraw it, if it still waits. There is no answer."""

    number: int


class Renew(msgspec.Struct, frozen=True, array_like=True, tag="renew", gc=False):
    """On a connection for renewals. Answered by `Renewed`."""

    number: int


class Bye(msgspec.Struct, frozen=True, array_like=True, tag="bye"):
    """The client holds and wants nothing any more, and goes."""


class AskStatus(msgspec.Struct, frozen=True, array_like=True, tag="status"):
    number: int


class AskHolders(msgspec.Struct, frozen=True, array_like=True, tag="holders"):
    number: int


class AskInspect(msgspec.Struct, frozen=True, array_like=True, tag="inspect"):
    number: int
    name: str


class AskBreak(msgspec.Struct, frozen=True, array_like=True, tag="break"):
    """Have a lock taken from its holder. Answered by `Broke` or `Refused`."""

    number: int
    name: str
    timeout: float | None = None


class ChangeVoters(msgspec.Struct, frozen=True, array_like=True, tag="voters"):
    """One more, or one less. Answered by `Done` once that holds whatever crashes, or `Refused`."""

    number: int
    kind: Literal["add", "remove"]
    name: str


class Leave(msgspec.Struct, frozen=True, array_like=True, tag="leave"):
    """Leave the cluster for good, vote no more, and end. Answered by `Done` or `Refused`."""

    number: int


Question = AskStatus | AskHolders | AskInspect | AskBreak | ChangeVoters | Leave
Request = Acquire | Release | Renew | Bye | Question


# What a node answers.


class Granted(msgspec.Struct, frozen=True, array_like=True, tag="granted", gc=False):
    number: int
    fences: tuple[int, ...]
    """One for each permit."""
    slots: tuple[int, ...]


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """`kind` is the class of the error. `holders` is for people; it is known only after a timeout."""

    number: int
    kind: str
    why: str
    holders: list[LockState] = []


class Lost(msgspec.Struct, frozen=True, array_like=True, tag="lost"):
    """What was granted is no longer sure: stop, and then release."""

    number: int
    why: str


class Renewed(msgspec.Struct, frozen=True, array_like=True, tag="renewed", gc=False):
    number: int
    worth: float
    """Seconds from when the renewal was sent, on the client's clock."""


class MemberStatus(msgspec.Struct, frozen=True):
    name: str
    address: str
    connected: bool
    backlog: int
    """Bytes that it has not acknowledged."""
    role: str = "member"
    """Whether it is a member, votes, or both."""


class Status(msgspec.Struct, frozen=True):
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
    """Why nobody would be let in here now, apart from holders; nothing if somebody would."""
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


class Holders(msgspec.Struct, frozen=True):
    views: list[LockState]
    unreachable: list[str]
    """Nodes that did not answer; what they hold is not known."""


class Done(msgspec.Struct, frozen=True):
    """What was asked for is so, from this epoch on."""

    epoch: int


class Answer(msgspec.Struct, frozen=True, array_like=True, tag="answer"):
    number: int
    found: msgspec.Raw
    """What it is, the asking client knows."""


Reply = Granted | Refused | Lost | Renewed | Answer
Found = Status | Holders | Inspection | Broken | Done

decode_greeting = msgspec.msgpack.Decoder(Greeting).decode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
