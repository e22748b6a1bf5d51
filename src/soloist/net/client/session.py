"""How long what a client holds is good: its session, asked by its loop and its threads, and renewed by one of its own."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable

from soloist.core import UsageError
from soloist.net.engine.ticket import Ticket
from soloist.net.member.clock import Clock, lease_clock
from soloist.views import ClientSession

HUNG_UP = select.POLLHUP | getattr(select, "POLLRDHUP", 0)
"""What the kernel says of a connection on this host as soon as the other end is closed, whatever is still to be read."""


def clock() -> Clock:
    try:
        return lease_clock()
    except UsageError:  # no platform without one has leases
        return time.monotonic


class Grant:
    """What a node has granted to one request, for as long as it counts."""

    def __init__(self, number: int, lock: str, session: Session) -> None:
        self.number, self.lock, self.session = number, lock, session
        self.good = True
        """Whether nobody has said that it is lost."""


class Granted(Ticket):
    """One permit of it."""

    grant: Grant


class Session:
    """One session with one node. `ClientDoor` asks it whether what is held in it is good."""

    def __init__(self, clock: Callable[[], float], key: bytes = b"") -> None:
        self.key = key or os.urandom(16)
        self.clock = clock
        self.node = ""
        """With which it is; nothing before that has said welcome."""
        self.instance = b""
        """What that has drawn for it. A node that knows the key and not this, as it may after a restart, acknowledges nothing."""
        self.turn = 0
        """How often it was tried to connect in it."""
        self.renewed = False
        """Whether what is held is good only for as long as renewals are acknowledged; else while there is a connection."""
        self.lease = 0.0
        """Seconds; 0: it ends with its connection."""
        self.ended = False
        self._state = ClientSession()
        self._mutex = threading.Lock()
        self._line: select.poll | None = None

    def ends_with(self, descriptor: int) -> None:
        """The node lets go when this connection has ended, whether or not our loop has had a turn since."""
        self._line = select.poll()
        self._line.register(descriptor, HUNG_UP)

    @property
    def good(self) -> bool:
        """Whether what is held in it is held at this moment. Asked when it is not, it is lost for good."""
        with self._mutex:
            if self._line and not self.ended and self._line.poll(0):
                self.ended = True
            if self.ended or not self.node:
                return False
            return not self.renewed or self._state.good(self.clock())

    @property
    def begun(self) -> bool:
        """Whether anything may be held in it: a first renewal has been acknowledged."""
        return bool(self.node) and (not self.renewed or (self._state.number > 0 and self._state.until > 0))

    def left(self) -> float:
        """Seconds for which it is good, if nothing more is heard."""
        return max(0.0, self._state.until - self.clock())

    def alive(self) -> bool:
        with self._mutex:
            return not self.ended and (not self.renewed or self._state.alive(self.clock()))

    # What the thread does.

    def renew(self) -> int:
        with self._mutex:
            return self._state.renew(self.clock())

    def acknowledged(self, number: int, worth: float) -> None:
        with self._mutex:
            self._state.renewed(number, worth, self.clock())


class ClientDoor:
    """The `Validity` of all that a client holds: `Hold.valid` asks it."""

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        assert isinstance(ticket, Granted)
        grant = ticket.grant
        return grant.good and grant.session.good
