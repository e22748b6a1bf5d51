"""The will of a node: a secret whose hash it registers when it joins, and which is revealed when it is dead.

A peer that knows the secret can only say that this node has ended, and nobody else can. So it needs no other proof: a will
is heard before any handshake, in the clear even where all else is TLS, and its bearer counts as a stranger.
"""

from __future__ import annotations

import hashlib
import os

import msgspec

from soloist.core import ProtocolError
from soloist.net.link.wire import encode, frame

SECRET_BYTES = 32
LONGEST = 64
"""Bytes of a frame with a will, and room to spare: on a port for TLS nothing longer is read in the clear."""


class Will(msgspec.Struct, frozen=True, array_like=True, tag="will"):
    """WILL: the node that registered the hash of this has ended."""

    secret: bytes


def new_will() -> bytes:
    return os.urandom(SECRET_BYTES)


def will_of(secret: bytes) -> str:
    """What is registered: it tells nothing of the secret."""
    return hashlib.sha256(b"soloist will " + secret).hexdigest()


def will_frame(secret: bytes) -> bytes:
    """As it goes over the wire."""
    return frame(encode(Will(secret)))


def read_will(said: Will) -> str:
    """The hash of a will that was heard. Whether anybody has registered it, others know."""
    if len(said.secret) != SECRET_BYTES:
        raise ProtocolError(f"a will of {len(said.secret)} bytes; it has {SECRET_BYTES}")
    return will_of(said.secret)
