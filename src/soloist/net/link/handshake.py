"""Who is there? The first frames each way, as a state machine without I/O.

The dialler says hello; the other says hello and proves itself; the dialler proves itself; the other says welcome.
A proof is a code over both hellos, made with the shared secret. Without a secret it is empty, and the transport lets
only loopback or a certificate vouch for the name. A node that will not go on says why, in words for the other's users.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Collection

import msgspec

from soloist.algorithms import find
from soloist.algorithms._source import source_digest
from soloist.core import ProtocolError, UsageError
from soloist.net.link.versions import Versions
from soloist.net.link.will import Will
from soloist.net.link.wire import encode


class Who(msgspec.Struct, frozen=True, array_like=True):
    """What a node says of itself, to everybody alike."""

    cluster: str
    node: str
    algorithm: str
    members: tuple[str, ...]
    """The names of all, sorted: two nodes that count different ones must never work together."""
    incarnation: str
    """Drawn when a node starts: the same name with another incarnation has forgotten what it knew."""
    origin: int
    """The fence that it would have all fences lie above; the largest of all members' is taken."""
    lease: float = 0.0
    """Seconds, or 0 if nobody is ever out-waited."""
    voter: str = ""
    """The id of its vote file; empty if it has none that is good."""
    epoch: int = 0
    """Of the newest view that it knows of; 0 if it has never heard of one."""
    previous: str = ""
    """The incarnation that had its data directory before, and has ended."""
    serves: bool = False
    """Whether other processes use its locks: these go on when it has ended."""
    will: str = ""
    """The hash of what its sentinel will reveal when it is dead; empty if there is none."""
    versions: Versions = Versions()
    """Of the protocol that it offers."""
    protocol: int = 0
    """The version that its view names; 0 without one."""
    digests: tuple[str, str] = ("", "")
    """Of the source of its algorithms; empty where there is none to be read."""
    named: tuple[bool, bool] = (True, True)
    """Whether it was told which algorithms to run, or is bound to them by a view; else it takes what others have."""
    engine: str = ""
    """What decides on who is a member, if it is not the voters among the nodes."""
    address: str = ""
    """Where others find it."""
    joins: bool = False
    """Whether it was told of some members only, who are to take it in."""
    votes_only: bool = False
    """Whether it hosts no locks."""
    voters: tuple[str, ...] = ()
    """The names of those who are to vote, if it was told; it matters before there is a view."""


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello"):
    version: int
    """The newest that the sender offers."""
    who: Who
    to: str
    """Whom the sender believes it is talking to; empty while it does not know."""
    met: str
    """The incarnation of the addressee that the sender knows; empty if none."""
    received: int
    """How much of what that one has said is here."""
    nonce: bytes
    pulse: bool = False
    """Whether this connection is for renewals alone."""


class Proof(msgspec.Struct, frozen=True, array_like=True, tag="proof"):
    code: bytes


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag="welcome"):
    """The link is open."""


class Sorry(msgspec.Struct, frozen=True, array_like=True, tag="sorry"):
    """It will not be, and why."""

    why: str
    mismatch: bool
    """Whether the two are configured differently."""


class Identity(msgspec.Struct, frozen=True):
    """What a node says of itself, and the secret that it shares with its peers."""

    who: Who
    secret: bytes = b""


class Mismatch(ProtocolError):
    """The peer is configured otherwise than we are."""


decode_greeting = msgspec.msgpack.Decoder(Hello | Proof | Welcome | Sorry | Will).decode


def nonce() -> bytes:
    return os.urandom(16)


def incarnation() -> str:
    return os.urandom(16).hex()


def hello(me: Identity, to: str, met: str, received: int, pulse: bool = False) -> Hello:
    return Hello(me.who.versions.newest, me.who, to, met, received, nonce(), pulse)


def check_hello(me: Who, theirs: Hello, expected: str | None) -> None:
    """Raise if this cannot be a peer of ours; before it is known who it is."""
    who = theirs.who
    agreed(me, who)
    if who.cluster != me.cluster:
        raise Mismatch(f"it belongs to cluster {who.cluster!r}, we belong to {me.cluster!r}")
    if who.node == me.node:
        raise ProtocolError(f"it calls itself {who.node!r}, as we do")
    if expected is not None and who.node != expected:
        raise ProtocolError(f"it calls itself {who.node!r}, expected {expected!r}")
    if theirs.to not in ("", me.node):
        raise ProtocolError(f"it wants to talk to {theirs.to!r}, we are {me.node!r}")


def agreed(me: Who, theirs: Who) -> int:
    """Which version of the protocol a link uses."""
    version = me.versions.common(theirs.versions)
    if version is None:
        raise Mismatch(f"it speaks {theirs.versions} of the protocol, we speak {me.versions}")
    return version


def check_config(me: Who, theirs: Who) -> None:
    """Raise if that node, which is known to be who it says, is configured otherwise than we are."""
    for one, other in ((me, theirs), (theirs, me)):
        if one.protocol and one.protocol not in other.versions:
            raise Mismatch(
                f"the cluster uses version {one.protocol} of the protocol, {other.node!r} speaks {other.versions}"
            )
    check_algorithms(me, theirs)
    # Where there is a view, or will be before they meet, it decides on the rest.
    beginning = not (me.epoch or theirs.epoch or me.joins or theirs.joins)
    # Without a lease no disk remembers it: should those who are in the view all be started again, they would only know of
    # whom they were told of, and begin without the others.
    remembered = me.lease or theirs.lease
    if (beginning or not remembered) and theirs.members != me.members:
        raise Mismatch(f"{difference(me, theirs)}; give all nodes the same and restart them")
    if theirs.engine != me.engine:
        raise Mismatch(f"{theirs.node!r} runs {_engine(theirs)}, {me.node!r} runs {_engine(me)}")
    if theirs.lease != me.lease:
        raise Mismatch(f"{theirs.node!r} runs {_lease(theirs)}, {me.node!r} runs {_lease(me)}")
    if beginning and theirs.voters != me.voters:
        raise Mismatch(f"{theirs.node!r} has {_voters(theirs)}, {me.node!r} has {_voters(me)}")


def check_algorithms(me: Who, theirs: Who) -> None:
    """Raise if they cannot run the same: who was not told which takes what the other has, if it has that, too.

    Two that were not told may have other defaults, being of other releases: then it is as in `cards.agreed_algorithms`.
    """
    ours, others = me.algorithm.split(), theirs.algorithm.split()
    for kind in range(2):
        if ours[kind] != others[kind]:
            if me.named[kind] and theirs.named[kind]:
                raise Mismatch(f"{theirs.node!r} runs {theirs.algorithm}, {me.node!r} runs {me.algorithm}")
            theirs_it_is = (theirs.named[kind], others[kind]) > (me.named[kind], ours[kind])
            mine = source_of(others[kind]) if theirs_it_is else ""
        else:
            mine = me.digests[kind]
        if mine is None:
            raise Mismatch(f"{theirs.node!r} runs {others[kind]}, which {me.node!r} does not have")
        if mine and theirs.digests[kind] and mine != theirs.digests[kind]:
            raise Mismatch(
                f"{theirs.node!r} runs {others[kind]} of another source than {me.node!r}; install the same on both"
            )


def source_of(algorithm: str) -> str | None:
    """The digest of an algorithm's source, as far as it is at hand; None if there is no such algorithm here."""
    try:
        return source_digest(find(algorithm).process)
    except UsageError:
        return None


def _lease(who: Who) -> str:
    return f"with a lease of {who.lease:g} s" if who.lease else "without a lease"


def _voters(who: Who) -> str:
    return f"the voters {', '.join(who.voters)}" if who.voters else "no voters of its own choice"


def _engine(who: Who) -> str:
    return f"with {who.engine}" if who.engine else "without etcd"


def difference(me: Who, theirs: Who) -> str:
    """In words: which members only one of them counts. The same on both sides."""
    one, other = sorted((me, theirs), key=lambda who: who.node)
    here = f"{one.node!r} alone counts {_names(set(one.members) - set(other.members))}"
    there = f"{other.node!r} alone counts {_names(set(other.members) - set(one.members))}"
    parts = [part for part in (here, there) if not part.endswith("counts ")]
    return f"different peers: {', '.join(parts)}"


def _names(members: Collection[str], most: int = 5) -> str:
    shown = [repr(member) for member in sorted(members)[:most]]
    return ", ".join(shown) + (f" and {len(members) - most} more" if len(members) > most else "")


def proof(me: Identity, ours: bytes, theirs: bytes) -> Proof:
    return Proof(_code(me.secret, ours, theirs))


def check_proof(me: Identity, ours: bytes, theirs: bytes, said: Proof, name: str) -> None:
    if not hmac.compare_digest(_code(me.secret, theirs, ours), said.code):
        raise ProtocolError(f"{name!r} does not know the secret")


def _code(secret: bytes, prover: bytes, verifier: bytes) -> bytes:
    """Both hellos, the prover's first: a proof cannot be sent back to its maker, nor used again.

    As they were sent: a later version may say more in one than we can read.
    """
    return hmac.new(secret, encode((prover, verifier)), hashlib.sha256).digest()
