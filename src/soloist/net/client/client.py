"""A client: the locks of a node, for a program that is no member of its cluster.

    async with soloist.connect("unix:/run/soloist/a.sock") as client:
        async with client.lock("orders", timeout=5) as hold:
            ...

Locks and holds are those of a node, and keep the same rules; the node is asked, and answers. What a client holds belongs to
its session with one node (`soloist.views.session`).
"""

from __future__ import annotations

import os
import ssl
import sys
import time
from collections.abc import Callable
from typing import Any, Self

from soloist.core import UsageError
from soloist.net import registry
from soloist.net.arguments import check_name, check_timeout
from soloist.net.client.contact import Contact
from soloist.net.client.greeting import Credentials
from soloist.net.client.session import ClientDoor
from soloist.net.client.url import Target, target
from soloist.net.engine.holdings import Holdings
from soloist.net.engine.inquiry import Inspection
from soloist.net.engine.outgoing import Stats
from soloist.net.errors import NodeClosed
from soloist.net.hold import Hold
from soloist.net.life import Life
from soloist.net.link.security import TLS
from soloist.net.link.wire import LockState
from soloist.net.maker import LockMaker
from soloist.net.member.breaks import Broken
from soloist.net.said import of_client
from soloist.net.service.dialogue import AskBreak, AskHolders, AskInspect, Holders
from soloist.net.told import check_secret, check_tls, check_word

PATIENCE = 30.0
"""Seconds that a client looks for a node, once it has lost its own, before those who wait are told."""


class Entries:
    """Where it is noted when somebody was let in, and on which clock."""

    def __init__(self) -> None:
        self.entered = self.due = 0.0
        self.clock: Callable[[], float] = time.monotonic


class Client(Life, LockMaker):
    """Made by `connect`. Use it with `async with`, or call `start` and `close`.

    `url`: where its nodes are (`soloist.net.client.url`); otherwise the environment's SOLOIST_URL. `program`: what nodes call it
    in their logs. `lease`: seconds after which it is given up when it is silent, if that is to be less than its node says.
    `secret`, `tls`: how it shows who it is, beyond this host.
    """

    _shown = "break_lock close holders inspect node start trouble"
    what, for_threads = "client", "connect_sync"
    __repr__ = of_client
    board = None
    voting = "elsewhere"

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        program: str | None = None,
        lease: float | None = None,
        secret: str | bytes | None = None,
        tls: TLS | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.target: Target = target(url)
        super().__init__(self.target.text)
        key = check_secret(secret).rstrip(b"\r\n")  # as a file has it
        check_tls(tls)
        if program is not None:
            check_word("program", program)
        self.table = Holdings()
        self.table.door = ClientDoor()
        self.holds, self.observers = self.table.holds, self.table.observers
        self.stats, self.turns = Stats(), Entries()
        who = Credentials(program or _program(), self.target.client, key, _lease(lease))
        self.contact = Contact(self, self.target, who, _context(self.target, tls), patience)
        self.desk = self.contact.desk
        self.obtain, self.release, self.heard = self.desk.obtain, self.desk.release, self.desk.heard
        registry.guard(self)

    # Life.

    async def start(self) -> Self:
        """Find a node, and go on looking for one whenever it is gone."""
        self.begin_life()
        await self.contact.start(self.loop)
        self.usable = not self.closed
        registry.enter(self)
        return self

    async def close(self) -> None:
        """What is held is lost, and given back; callers that wait get `NodeClosed`."""
        if self.closed:
            return
        if self.at_home and self.started:
            self.check_loop()
        self.closed, self.usable = True, False
        registry.leave(self)
        if not self.at_home or not self.started:
            return
        self.desk.fail_all(NodeClosed(f"client {self.name!r} was closed"))
        for hold in [hold for holds in self.holds.values() for hold in holds]:
            hold.lose("the client was closed")
        await self.contact.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def descriptors(self) -> list[int]:
        """The files that belong to this client alone."""
        return self.contact.descriptors()

    # What locks need.

    def lose(self, lock: str, fence: int, why: str) -> None:
        """The node says that a hold is lost."""
        for hold in [hold for hold in self.holds.get(lock, ()) if fence in hold.fences]:
            hold.lose(why)
            self.let_go(hold)

    def let_go(self, hold: Hold) -> None:
        """Its body has heard of the loss, and has ended."""
        self.desk.let_go(hold._tickets[0].grant)  # type: ignore[attr-defined]

    def trouble(self) -> str:
        """Why callers may have to wait, though nobody holds what they want: in words, or nothing."""
        return "" if self.contact.line else self.contact.why or "not connected"

    # What is asked.

    @property
    def node(self) -> str:
        """The name of the node that it talks to, or did last."""
        return self.contact.welcome.node if self.contact.welcome else ""

    async def inspect(self, name: str) -> Inspection:
        """Who holds it, since when, with which note, and who waits: asked of all nodes."""
        name = check_name(name)
        found: Inspection = await self._query(AskInspect(self.desk.next(), name), Inspection)
        return found

    async def holders(self) -> list[LockState]:
        """All locks that are held or waited for, anywhere."""
        found: Holders = await self._query(AskHolders(self.desk.next()), Holders)
        return found.views

    async def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """As `Node.break_lock`; for the operator, at the node's own socket."""
        name, timeout = check_name(name), check_timeout(timeout)
        found: Broken = await self._query(AskBreak(self.desk.next(), name, timeout), Broken)
        return found

    async def _query(self, question: Any, kind: Any) -> Any:
        self.check_usable()
        self.check_loop()
        return await self.desk.ask(question, kind)


def _program() -> str:
    return f"{os.path.basename(sys.argv[0]) or 'python'} (process {os.getpid()})"


def _lease(seconds: float | None) -> float:
    if seconds is None:
        return 0.0
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"lease must be a number of seconds above 0, or None; not {seconds!r}")
    return float(seconds)


def _context(target: Target, tls: TLS | None) -> ssl.SSLContext | None:
    if target.kind == "tls":
        if tls is None:
            raise UsageError(f"{target.text!r} needs tls=TLS(certificate, authority, key)")
        context = tls.client()
        context.check_hostname = False  # a node's certificate has its name, and a URL has its host's
        return context
    if tls is not None:
        raise UsageError(f"tls is for soloist+tls:// URLs, not for {target.text!r}")
    return None
