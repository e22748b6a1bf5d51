"""What a node has of one client: its requests, its holds, and how long it is waited for."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import msgspec

from soloist.core import ProtocolError, SoloistError
from soloist.net.link.wire import encode
from soloist.net.service.answers import find
from soloist.net.service.dialogue import Answer, Lost, Question, Refused, Renewed, Reply, Request
from soloist.net.service.requests import Requests
from soloist.net.service.rights import Rights
from soloist.views import Lease, NodeSession, slower

if TYPE_CHECKING:
    from soloist.net.service.account import Account
    from soloist.net.service.control import ControlServer
    from soloist.net.service.visit import Visit


class Session:
    """Of one client. `visit` is its connection, while there is one, and `pulse` that for its renewals."""

    visit: Visit | None = None
    pulse: Visit | None = None

    def __init__(
        self, server: ControlServer, key: bytes, program: str, rights: Rights, account: Account
    ) -> None:
        account.check_session()
        account.sessions += 1
        self.server, self.node, self.key = server, server.node, key
        self.program, self.rights, self.account = program, rights, account
        self.requests = Requests(self)
        self.instance = os.urandom(8)
        self.turn = 0
        """The latest connection of it that we know of."""
        self.stay: NodeSession | None = None
        """How long it is waited for; None: it ends with its connection."""
        if rights.session:
            self.stay = NodeSession.begun(rights.session, server.clock())
        self.believed = -math.inf
        """Until when the client may take what it holds for good, on our clock."""
        self.ended = False

    @property
    def holds(self) -> bool:
        return bool(self.requests.holds)

    def renew(self, number: int) -> Renewed:
        """S2. A session that ends with its connection is worth what the node has, too."""
        now, left = self.server.clock(), self.server.left()
        if self.ended or self.server.silent:
            return Renewed(number, 0.0)
        lease = self.rights.session or Lease(math.inf)
        worth = self.stay.renew(left, now) if self.stay else slower(left, lease.drift)
        self.believed = max(self.believed, now + worth * (1 + lease.drift) / (1 - lease.drift))
        return Renewed(number, worth)

    def overdue(self) -> bool:
        """S4."""
        return self.stay is not None and self.stay.ended(self.server.clock())

    def end(self, why: str = "its client has ended") -> None:
        """The client is no more: nothing of it stays behind."""
        if self.ended:
            return
        self.ended = True
        self.account.sessions -= 1
        self.server.forget(self)
        if self.visit:
            cut(self.visit)  # a client of this host finds that out before anybody else is let in
        if self.pulse:
            self.pulse.hang_up()
        self.requests.abandon(why)

    def resume(self, live: Iterable[int]) -> tuple[int, ...]:
        """S5. What the client has no more is released; gives what is there."""
        kept = set(live)
        for number in self.requests.live():
            if number not in kept:
                self.requests.release(number)
        return self.requests.live()

    def remind(self) -> None:
        """Say again what was lost: the client may not have been there to hear it."""
        for number, hold in self.requests.holds.items():
            if hold.why:
                self.say(Lost(number, hold.why))

    def evict(self, why: str) -> None:
        """Ask the client to let go of everything."""
        for number in self.requests.holds:
            self.say(Lost(number, why))

    def asked(self, question: Request) -> None:
        if not isinstance(question, Question):
            raise ProtocolError(f"{type(question).__name__} does not belong here")
        if question.number in self.requests.tasks:
            raise ProtocolError(f"number {question.number} is in use")
        try:
            self.account.check_room()
        except SoloistError as error:
            self._refuse(question, error)
        else:
            self.requests.begin(question.number, self._answer(question))

    async def _answer(self, question: Question) -> None:
        with self.account.waits():
            try:
                async with nullcontext() if self.rights.operator else self.account.asking:
                    found, then = await find(self, question)
            except SoloistError as error:
                self._refuse(question, error)
                return
        self.say(Answer(question.number, msgspec.Raw(encode(found))))
        then()

    def _refuse(self, question: Question, error: SoloistError) -> None:
        self.say(Refused(question.number, type(error).__name__, str(error)))

    def say(self, reply: Reply) -> None:
        if self.visit:
            self.visit.say(reply)


def cut(visit: Visit) -> None:
    """Now, and not once all is written: a program that asks at the other end is told so by the kernel."""
    sock = visit.transport.get_extra_info("socket")
    with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(sock.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)
    visit.hang_up()
