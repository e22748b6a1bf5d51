"""Who a client is, what it may do, and how much of it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from soloist.core import UsageError
from soloist.net.link.wire import encode
from soloist.net.member.company import check_lease
from soloist.views import Lease


class Limits(msgspec.Struct, frozen=True):
    """What one door stands, and one client may have. Whatever is above is refused, and said."""

    connections: int = 4096
    strangers: int = 512
    """Connections that have not shown who they are; the oldest of them goes first."""
    share: int = 1024
    """Connections of one client, and as many for renewals."""
    waiting: int = 10_000
    """Requests of one client that wait, over all its connections."""
    holds: int = 10_000
    """Of one client, over all its connections."""
    names: int = 1_000_000
    """That one client may bring in, until a change of view forgets those that nobody uses."""
    frame: int = 64 * 1024
    """Bytes."""
    unread: int = 1024 * 1024
    """Bytes that a client may leave unread before it is dropped."""


class Rights(msgspec.Struct, frozen=True):
    """Of one client, as its door has made out."""

    name: str = ""
    """As its certificate or its secret says; empty for one without a name."""
    allow: tuple[str, ...] = ("*",)
    """Patterns of the names that it may use."""
    operator: bool = False
    """Whether it may change who votes, break locks, and have the node leave."""
    session: Lease | None = None
    """How long it is waited for when it is silent; None: it ends with its connection."""

    def allows(self, lock: str) -> bool:
        return any(pattern == "*" or fnmatchcase(lock, pattern) for pattern in self.allow)

    def check(self, lock: str) -> None:
        if not self.allows(lock):
            who = f"client {self.name!r}" if self.name else "this client"
            raise UsageError(
                f"{who} may not use {lock!r}: it is allowed {', '.join(self.allow) or 'nothing'}"
            )

    def shortened(self, seconds: float) -> Rights:
        """With a shorter session lease."""
        return msgspec.structs.replace(self, session=check_lease(seconds))

    def check_operator(self, what: str) -> None:
        if not self.operator:
            raise UsageError(f"{what} is for the operator: ask at the node's own socket, on its host")


LOCAL = Rights(operator=True)
"""A program that may open the node's own socket is its user."""


class Known(msgspec.Struct, frozen=True):
    """A client by name."""

    secret: bytes = b""
    allow: tuple[str, ...] = ("*",)


class Book(msgspec.Struct, frozen=True):
    """The clients of a port: with a secret that all share, or one for each name; or with certificates."""

    session: Lease
    secret: bytes = b""
    allow: tuple[str, ...] = ("*",)
    """For those without a line of their own."""
    known: Mapping[str, Known] = {}

    def secret_of(self, name: str) -> bytes:
        """Empty if there is none, and a certificate has to do."""
        return self.known[name].secret if name in self.known else self.secret

    def proves(self, name: str) -> bool:
        """Whether who comes in by that name has shown it, and not just said it."""
        return bool(name in self.known and self.known[name].secret)

    def rights(self, name: str) -> Rights:
        allow = self.known[name].allow if name in self.known else self.allow
        return Rights(name, allow, session=self.session)


def code(secret: bytes, whose: str, hello: bytes, challenge: bytes) -> bytes:
    """A proof that somebody knows the secret: over both greetings, so it is good for nothing else."""
    return hmac.new(secret, encode((whose, hello, challenge)), hashlib.sha256).digest()
