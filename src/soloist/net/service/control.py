"""Where clients come in: at the node's own Unix socket, and at a port for clients if there is one.

At the socket, which only the node's user may open, whatever a client holds belongs to its connection: when that ends, for
whatever reason, its locks are released and its requests withdrawn. From elsewhere an end of a connection proves nothing, and
the client is waited for as its session says. What is said is in `soloist.net.service.dialogue`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from soloist.core import UsageError
from soloist.net.link.security import Address
from soloist.net.member.clock import lease_clock
from soloist.net.member.gate import Gate
from soloist.net.node import Node
from soloist.net.service.dialogue import Hello
from soloist.net.service.door import Door
from soloist.net.service.rights import Limits, Rights
from soloist.net.service.session import Session
from soloist.net.service.visit import Visit

log = logging.getLogger("soloist.net")

LOCAL_LIMITS = Limits(
    connections=100_000,
    strangers=4096,
    waiting=20_000,
    holds=20_000,
    names=sys.maxsize,
    frame=1024 * 1024,
    unread=4 * 1024 * 1024,
)
WAITS_KEPT = 200
LET_GO_SECONDS = 6.0
"""Seconds, at most, for clients that were told to let go: a little more than `soloist run` gives its command."""
LOOK_SECONDS = 0.2
"""Seconds between two looks for sessions that are over."""


class ControlServer:
    """The node's side: all sessions, and the doors that they come in by."""

    def __init__(self, node: Node, cluster: str, addresses: dict[str, str]) -> None:
        self.node, self.cluster, self.addresses = node, cluster, addresses
        self.sessions: dict[bytes, Session] = {}
        self.doors: list[Door] = []
        self.waits: deque[float] = deque(maxlen=WAITS_KEPT)
        self.stopping: str | None = None
        """Why nothing is granted any more."""
        self.silent = False
        """Whether no renewal is acknowledged any more."""
        self.told_to_leave: Callable[[], None] = lambda: None
        """Called when a client wants this node to end."""
        self.clock: Callable[[], float] = time.monotonic
        with contextlib.suppress(UsageError):  # then there are no leases, either
            self.clock = lease_clock()
        self._started = time.monotonic()
        self._looking: asyncio.TimerHandle | None = None

    async def start(self, path: Path) -> None:
        """Listen. The caller is the only daemon of that path: what lies there is left from a dead one."""
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        door = Door(self, LOCAL_LIMITS, "the control socket")
        await door.listen(Address(str(path)))
        self.enter_by(door)

    def enter_by(self, door: Door) -> None:
        """A door that is open."""
        self.doors.append(door)
        if self._looking is None:
            self._look()

    # Sessions.

    def session(self, visit: Visit, hello: Hello, rights: Rights) -> tuple[Session, bool]:
        """The one that a client goes on in, or a new one; and whether it goes on."""
        key = hello.session or os.urandom(16)
        session = self.sessions.get(key)
        if session and session.rights.name != rights.name:
            raise UsageError("that session belongs to another client")
        if session and 0 < hello.turn <= session.turn:
            raise UsageError("that session goes on over a later connection")
        if session and (session.stay is None or session.overdue()):
            session.end()
            session = None
        resumed = session is not None
        if session is None:
            assert visit.account
            session = Session(self, key, visit.program, _asked_for(rights, hello.lease), visit.account)
            self.sessions[key] = session
        elif session.visit:
            session.visit.hang_up()
        session.visit, session.turn = visit, hello.turn
        return session, resumed

    def forget(self, session: Session) -> None:
        if self.sessions.get(session.key) is session:
            del self.sessions[session.key]

    def went(self, visit: Visit) -> None:
        """A connection is gone."""
        session = visit.session
        if session and session.pulse is visit:
            session.pulse = None
        if session is None or session.visit is not visit:
            return
        if session.stay is None:
            session.end()
        session.visit = None

    def _look(self) -> None:
        """S4."""
        for session in [each for each in self.sessions.values() if each.overdue()]:
            session.end("its client was silent for longer than the lease of its session")
        self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    # What the node has.

    def left(self) -> float:
        """Seconds of the node's own lease."""
        door = self.node.table.door
        return door.left() if isinstance(door, Gate) else math.inf

    def bounded(self) -> bool:
        return self.node.lease is not None

    def uptime(self) -> float:
        return time.monotonic() - self._started

    # The end.

    async def drain(self, grace: float, hurried: asyncio.Event | None = None) -> None:
        """No more grants. Holders may finish in that time, or else is told to stop and let go.

        That gets as long again, at most: who wants it done quickly gets it quickly. Once it is `hurried` nobody is waited
        for but those who would go on believing that they hold something.
        """
        self.stopping = f"node {self.node.name!r} is being stopped"
        for session in list(self.sessions.values()):
            session.requests.withdraw(self.stopping)
        if not await self._released(grace, hurried):
            for session in list(self.sessions.values()):
                session.evict(self.stopping)
            await self._released(min(grace, LET_GO_SECONDS), hurried)
        await self.outwait()

    async def outwait(self) -> None:
        """Until no client can take what it holds for good: what follows lets others in."""
        self.silent = True
        while any(session.holds and self.clock() < session.believed for session in self.sessions.values()):
            await asyncio.sleep(0.01)

    def holders(self) -> int:
        return sum(1 for session in self.sessions.values() if session.holds)

    async def _released(self, seconds: float, hurried: asyncio.Event | None) -> bool:
        """Whether all have let go within that time: only then may others have what they held."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.holders() and not (hurried and hurried.is_set()):
                    await asyncio.sleep(0.01)
        return not self.holders()

    async def close(self) -> None:
        if self._looking:
            self._looking.cancel()
        for door in self.doors:
            await door.close()
        for session in list(self.sessions.values()):
            session.end("its node has ended")


def _asked_for(rights: Rights, lease: float) -> Rights:
    """A client may ask for a shorter session lease than the node would give it."""
    return rights.shortened(lease) if rights.session and 0 < lease < rights.session.length else rights
