"""What a transport keeps of a peer, whether it is connected or not."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any

from soloist.net.link.security import Address
from soloist.net.link.session import Session
from soloist.net.link.wire import Envelope, Notice

if TYPE_CHECKING:
    from soloist.net.link.connection import Connection

MOST_FORMER = 4
"""Incarnations of a peer, before or after the one that is meant now, of which is known what was said."""


class Peer(Session):
    """One node that we know of."""

    def __init__(self, name: str, address: Address) -> None:
        super().__init__()
        self.name, self.address = name, address
        self.connection: Connection | None = None
        self.incarnation: str | None = None
        """Of the process that bears this name, as far as we have met it."""
        self.absent = asyncio.Event()
        """Set while there is no connection."""
        self.absent.set()
        self.connections = 0
        self.pulsing = False
        """Whether there is a connection for renewals, or one is being made."""
        self.trouble = ""
        """Why there is no connection, as it was last said."""
        self.failure = ""
        """Why it could not be called when that was last tried."""
        self.dialling: asyncio.Task[None] | None = None
        """Calls it whenever there is no connection; None once it has gone for good, as far as we know."""
        self._others: dict[str, dict[str, Any]] = {}
        """What was said to and by other incarnations of it: views and connections may name an older one, for a while."""

    def mean(self, incarnation: str) -> None:
        """Whom what is said from now on is for. There is one session for each pair of incarnations, and it is never
        begun twice: the peer, which goes on with it, would not understand."""
        if incarnation == self.incarnation:
            return
        if self.incarnation is not None:
            self._others[self.incarnation] = self.put_aside()
        self.begin()
        self.take_up(self._others.pop(incarnation, {}))
        while len(self._others) > MOST_FORMER:
            del self._others[next(iter(self._others))]
        self.incarnation = incarnation

    def forget(self) -> None:
        """We are another one ourselves: nothing was said between it and the peer."""
        self.begin()
        self._others.clear()
        self.incarnation = None


def nowhere(envelopes: list[Envelope], notices: list[Notice]) -> int:
    """What is said to somebody who has gone."""
    return 0


def in_words(error: Exception) -> str:
    """Why somebody could not be called. asyncio puts words of its own before those of the system."""
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, socket.gaierror):
        return str(error.strerror)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return str(error)  # its number is none of the system's
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
