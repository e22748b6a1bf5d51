"""What a client has asked of its node, and what it was granted: by number."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.core import UsageError
from soloist.net import errors
from soloist.net.client.session import Grant, Granted
from soloist.net.engine.summons import Summons
from soloist.net.engine.ticket import Ticket
from soloist.net.errors import AcquireTimeout, LockError, LockLost
from soloist.net.link.wire import LockState, encode, frame
from soloist.net.service import dialogue
from soloist.net.service.dialogue import Acquire, Answer, Lost, Question, Refused, Release, Reply, Request

if TYPE_CHECKING:
    from soloist.net.client.client import Client
    from soloist.net.client.contact import Contact
    from soloist.net.lock import Lock

ANSWER_SECONDS = 2.0
"""Seconds that a node gets beyond a timeout to say who has the lock. Then it is taken for one that does not answer."""


class Wanted:
    """A request that waits."""

    def __init__(self, lock: Lock, asked: Acquire, ticket: Granted) -> None:
        self.lock, self.asked, self.ticket = lock, asked, ticket
        self.number, self.frame = asked.number, written(asked)
        self.tickets: list[Ticket] = [ticket]

    def again(self, number: int) -> None:
        """What it was granted came to nothing. The number is another one, for words about the one before are on their way."""
        self.number, self.frame = number, written(msgspec.structs.replace(self.asked, number=number))
        del self.tickets[1:]
        self.ticket.fence, self.ticket.slot, self.ticket.gone = 0, None, False


class Desk:
    """Waiting is done here; what is said goes through the client's line, if there is one."""

    def __init__(self, client: Client, contact: Contact) -> None:
        self.client, self.contact = client, contact
        self.wanted: dict[int, Wanted] = {}
        self.unsure: dict[int, Wanted] = {}
        """Those of them that were granted: but the session is good for nothing, yet or any more, and nobody is told."""
        self.granted: dict[int, Grant] = {}
        """What the node believes that we have."""
        self.questions: dict[int, asyncio.Future[Any]] = {}
        self.next = itertools.count(1).__next__

    def live(self) -> tuple[int, ...]:
        return (*self.wanted, *self.granted)

    # Locks.

    async def obtain(self, lock: Lock, timeout: float | None) -> list[Ticket]:
        client, number = self.client, self.next()
        value = lock.capacity if lock.kind == "semaphore" else None
        asked = Acquire(
            number, lock.name, value, lock.permits, timeout, lock.note, lock.on_holder_loss, lock.lock_delay
        )
        ticket = Granted()
        wanted = self.wanted[number] = Wanted(lock, asked, ticket)
        future = ticket.future = Summons(loop=client.loop)
        self.contact.wanted()
        self.contact.write(wanted.frame)
        try:
            if timeout is None:
                await future
            else:
                await self._in_time(future, lock, timeout)
            if ticket.error:
                raise ticket.error
            if not ticket.grant.good:
                raise LockLost(f"{lock.name!r} is lost: it was so before it could be held", name=lock.name)
        except BaseException:
            self._withdraw(wanted.number)
            raise
        return wanted.tickets

    async def _in_time(self, future: Summons, lock: Lock, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout + ANSWER_SECONDS):
                await future
        except TimeoutError:
            unsure = any(wanted.ticket.future is future for wanted in self.unsure.values())
            silent = "its node has no lease" if unsure else "its node does not answer"
            trouble = self.client.trouble() or silent
            raise AcquireTimeout(
                f"{lock.name!r} was not granted within {timeout:g} s; {trouble}", name=lock.name
            ) from None

    def _withdraw(self, number: int) -> None:
        waiting = self.wanted.pop(number, None) is not None
        self.unsure.pop(number, None)
        if self.granted.pop(number, None) or waiting:
            self._say(Release(number))

    def release(self, lock: str, ticket: Ticket) -> None:
        """Said first, for somebody may wait for it; then it is looked whether it was good to the end."""
        assert isinstance(ticket, Granted)
        grant, ticket.released = ticket.grant, True
        self.let_go(grant)
        if not (grant.good and grant.session.good):
            ticket.lost = True

    def let_go(self, grant: Grant) -> None:
        """Its node may have it."""
        if self.granted.get(grant.number) is grant:
            del self.granted[grant.number]
            self._say(Release(grant.number))

    # What the node says.

    def heard(self, reply: Reply) -> None:
        match reply:
            case dialogue.Granted():
                self._granted(reply)
            case Lost(number, why):
                self._lost(number, why)
            case Refused(number):
                self._refused(number, reply)
            case Answer(number, found):
                if (waiting := self.questions.get(number)) and not waiting.done():
                    waiting.set_result(found.copy())  # it is read later, and what it shows is not

    def _granted(self, said: dialogue.Granted) -> None:
        number = said.number
        wanted = self.wanted.pop(number, None)
        if wanted is None:
            if number not in self.granted:  # otherwise it was said again
                self._say(Release(number))
            return
        grant = self.granted[number] = Grant(number, wanted.lock.instance_name, self.contact.session)
        if len(said.fences) > 1:
            wanted.tickets += [Granted() for _ in said.fences[1:]]
        slots: tuple[int | None, ...] = said.slots or (None,) * len(said.fences)
        for ticket, fence, slot in zip(wanted.tickets, said.fences, slots, strict=True):
            assert isinstance(ticket, Granted)
            ticket.grant, ticket.fence, ticket.slot, ticket.gone = grant, fence, slot, True
        if grant.session.begun and grant.session.good:
            _wake(wanted.ticket)
        else:
            self.unsure[number] = wanted

    def begun(self) -> None:
        """Something may be held in the session from now on."""
        for number in list(self.unsure):
            _wake(self.unsure.pop(number).ticket)

    def _refused(self, number: int, said: Refused) -> None:
        if (waiting := self.questions.get(number)) and not waiting.done():
            waiting.set_exception(error_of(said))
        elif wanted := self.wanted.pop(number, None):
            wanted.ticket.fail(error_of(said, wanted.lock.name))

    def _lost(self, number: int, why: str) -> None:
        """If nobody was let in, or has even heard of the grant, it is asked for again."""
        if number in self.unsure or number in self.wanted:
            self._say(Release(number))
            self.contact.write(self._want_again(number))
        elif grant := self.granted.get(number):
            self._lose(grant, why.partition(" is lost: ")[2] or why)

    def _lose(self, grant: Grant, why: str) -> None:
        if not grant.good:
            return
        grant.good = False
        for hold in list(self.client.table.holds.get(grant.lock, ())):
            if getattr(hold._tickets[0], "grant", None) is grant:
                hold.lose(why)

    # The line.

    def _want_again(self, number: int) -> bytes:
        self.granted.pop(number, None)
        wanted = self.wanted.pop(number, None) or self.unsure.pop(number)
        wanted.again(self.next())
        self.wanted[wanted.number] = wanted
        return wanted.frame

    def say_again(self) -> None:
        """Over a new connection: what waits still waits."""
        for number in sorted(self.wanted):
            self.contact.write(self.wanted[number].frame)

    def lose_all(self, why: str, kept: tuple[int, ...] = ()) -> None:
        """The node has these no more, or the session is over."""
        for number, grant in list(self.granted.items()):
            if number not in kept:
                del self.granted[number]
                if number in self.unsure:
                    self._want_again(number)
                else:
                    self._lose(grant, why)

    def fail_all(self, error: Exception) -> None:
        """Nobody answers, and nobody will."""
        for wanted in [*self.wanted.values(), *self.unsure.values()]:
            wanted.ticket.fail(error)
        self.wanted.clear()
        self.unsure.clear()
        self.fail_questions(error)

    def fail_questions(self, error: Exception) -> None:
        for waiting in self.questions.values():
            if not waiting.done():
                waiting.set_exception(error)

    async def ask(self, question: Question, kind: Any) -> Any:
        answer = self.questions[question.number] = self.client.loop.create_future()
        try:
            await self.contact.connected()
            self.contact.write(written(question))
            return msgspec.msgpack.decode(await answer, type=kind)
        finally:
            del self.questions[question.number]

    def _say(self, request: Request) -> None:
        self.contact.write(frame(encode(request)))


def _wake(ticket: Granted) -> None:
    """Here and now: no task is running."""
    future = ticket.future
    if future and not future.done():
        future.set_result(None)
        if future.wake:
            future.context.run(future.wake, future)


def written(request: Request) -> bytes:
    try:
        return frame(encode(request))
    except (OverflowError, TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"this cannot be asked of a node: {error}") from None


def error_of(refused: Refused, name: str | None = None) -> Exception:
    """The node's error, as the same class here; after a timeout it says who has the lock."""
    if refused.kind == "UsageError":
        return UsageError(refused.why)
    if refused.kind == "AcquireTimeout":
        holder = ", ".join(view.node for view in refused.holders) or None
        return AcquireTimeout(f"{refused.why}; {describe(refused.holders)}", name=name, holder=holder)
    kind = getattr(errors, refused.kind, LockError)
    if not (isinstance(kind, type) and issubclass(kind, LockError)):
        kind = LockError
    return kind(refused.why, name=name)


def describe(holders: list[LockState]) -> str:
    """Who holds it, for how long and why, in half a sentence."""
    if not holders:
        return "nobody that answers holds it"
    return "held by " + " and ".join(
        view.node
        + (f" for {view.held_for:.1f} s" if view.held_for is not None else "")
        + (f" ({view.lost or view.note})" if view.lost or view.note else "")
        for view in holders
    )
