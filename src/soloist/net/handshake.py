"""Who is there? The first two frames each way, as a state machine without I/O.

Each side says hello (cluster, name, algorithm, version, what it has received so far, a fresh nonce); then each
proves that it knows the shared secret, by a code over both hellos. Without a secret the proof is empty, and the
transport lets only loopback or a certificate vouch for the name.
"""

from __future__ import annotations

import hashlib
import hmac
import os

import msgspec

from soloist.core import ProtocolError
from soloist.net.wire import VERSION, encode


class Hello(msgspec.Struct, frozen=True, array_like=True):
    version: int
    cluster: str
    node: str
    to: str
    """Whom the sender believes it is talking to; empty while it does not know."""
    algorithm: str
    incarnation: str
    """Drawn when a node starts: the same name with another incarnation has forgotten what it knew."""
    received: int
    nonce: bytes


class Proof(msgspec.Struct, frozen=True, array_like=True):
    code: bytes


class Identity(msgspec.Struct, frozen=True):
    """What a node says of itself, to everybody alike."""

    cluster: str
    node: str
    algorithm: str
    incarnation: str
    secret: bytes = b""


decode_hello = msgspec.msgpack.Decoder(Hello).decode
decode_proof = msgspec.msgpack.Decoder(Proof).decode


def nonce() -> bytes:
    return os.urandom(16)


def hello(me: Identity, to: str, received: int) -> Hello:
    return Hello(VERSION, me.cluster, me.node, to, me.algorithm, me.incarnation, received, nonce())


def check_hello(me: Identity, theirs: Hello, expected: str | None, known: frozenset[str]) -> None:
    """Raise if this is not a peer of ours; the message is for the log."""
    if theirs.version != VERSION:
        raise ProtocolError(f"it speaks version {theirs.version} of the protocol, we speak {VERSION}")
    if theirs.cluster != me.cluster:
        raise ProtocolError(f"it belongs to cluster {theirs.cluster!r}, we belong to {me.cluster!r}")
    if theirs.node not in known or theirs.node == me.node:
        raise ProtocolError(f"{theirs.node!r} is no peer of ours")
    if expected is not None and theirs.node != expected:
        raise ProtocolError(f"it calls itself {theirs.node!r}, expected {expected!r}")
    if expected is None and theirs.node > me.node:
        raise ProtocolError(f"{theirs.node!r} should wait until we call it")
    if theirs.to not in ("", me.node):
        raise ProtocolError(f"it wants to talk to {theirs.to!r}, we are {me.node!r}")
    if theirs.algorithm != me.algorithm:
        raise ProtocolError(f"it runs {theirs.algorithm}, we run {me.algorithm}")


def proof(me: Identity, ours: Hello, theirs: Hello) -> Proof:
    return Proof(_code(me.secret, ours, theirs))


def check_proof(me: Identity, ours: Hello, theirs: Hello, theirs_proof: Proof) -> None:
    if not hmac.compare_digest(_code(me.secret, theirs, ours), theirs_proof.code):
        raise ProtocolError(f"{theirs.node!r} does not know the secret")


def _code(secret: bytes, prover: Hello, verifier: Hello) -> bytes:
    """Both hellos, the prover's first: a proof cannot be sent back to whoever made it, nor used again."""
    return hmac.new(secret, encode((prover, verifier)), hashlib.sha256).digest()
