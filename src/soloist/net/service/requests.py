"""The requests of one client at a node: those that wait, and those that were granted.

The owner of a hold is the request, not the client: who would wait for itself is for the client to know, which tells its tasks
apart. A request that can be granted at once, or waits for nothing but its turn, needs no task here.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.core import ProtocolError, SoloistError
from soloist.net.engine.summons import Summons
from soloist.net.engine.ticket import Ticket
from soloist.net.errors import AcquireTimeout, NodeClosed
from soloist.net.hold import OWNER, Hold
from soloist.net.link.wire import LockState
from soloist.net.lock import Lock
from soloist.net.losses import abandon
from soloist.net.service.dialogue import Acquire, Granted, Lost, Refused
from soloist.net.telemetry.observer import Wait

if TYPE_CHECKING:
    from soloist.net.node import Node
    from soloist.net.service.session import Session

log = logging.getLogger("soloist.net")


class Waiting:
    """A request without a task. The node's observers are told of it as of a caller that has one."""

    timer: asyncio.TimerHandle | None = None
    wait: Wait | None = None
    """What observers know of it, if there are any."""

    def __init__(self, asked: Acquire, lock: Lock) -> None:
        self.asked, self.lock = asked, lock
        self.hold = Hold(lock)
        self.ticket = Ticket()
        self.since = time.monotonic()
        if lock.node.observers:
            self.wait = Wait(lock)
            self._tell("on_request")

    def entered(self) -> None:
        self._tell("on_enter", self.hold)

    def gave_up(self, error: BaseException) -> None:
        self._tell("on_give_up", error)

    def _tell(self, what: str, *facts: object) -> None:
        """There is no caller here that an observer's error could go to, and the client whose step this is may be another one."""
        if not self.wait:
            return
        for observer in self.lock.node.observers:
            try:
                getattr(observer, what)(self.wait, *facts)
            except Exception:
                log.exception("%s: an observer failed in %s", self.lock.node.name, what)


class Requests:
    """By number. `tasks` are those of them, and of the client's questions, that need one."""

    def __init__(self, session: Session) -> None:
        self.session, self.server, self.node = session, session.server, session.node
        self.account = session.account
        self.holds: dict[int, Hold] = {}
        self.waiting: dict[int, Waiting] = {}
        self.tasks: dict[int, asyncio.Task[Any]] = {}
        self.acquiring: set[int] = set()
        """Those of the tasks that ask for a lock."""
        self._context = contextvars.copy_context()
        self._same: tuple[Any, ...] = ()
        self._lock: Lock
        """That of the last request, which it was allowed, and what it was made of: most clients want one again and again."""

    def live(self) -> tuple[int, ...]:
        return (*self.holds, *self.waiting, *self.acquiring)

    def withdraw(self, why: str = "") -> None:
        """The client waits no longer for any lock; it is told why."""
        for number in list(self.waiting):
            self._withdraw(number)
            if why:
                self.session.say(Refused(number, "NodeClosed", why))
        for number in self.acquiring:
            self.tasks[number].cancel(why)

    def abandon(self, why: str) -> None:
        """The client is gone."""
        self.withdraw()
        for task in list(self.tasks.values()):
            task.cancel()
        for hold in list(self.holds.values()):
            level = logging.WARNING if self.account.tells() else logging.DEBUG
            self._log("%s: %s left while it held %r", hold, level=level)
            abandon(hold, why)
        self.account.holds -= len(self.holds)
        self.holds.clear()

    def begin(self, number: int, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self.tasks[number] = task
        task.add_done_callback(partial(self._ended, number))
        return task

    def _ended(self, number: int, task: asyncio.Task[Any]) -> None:
        if self.tasks.get(number) is task:  # or else another one goes on where it was
            del self.tasks[number]

    def _acquiring_no_more(self, number: int) -> None:
        """Said by the request itself, and at its end: cancelled at once, it never begins."""
        if number in self.acquiring:
            self.acquiring.discard(number)
            self.account.waiting -= 1

    def acquire(self, asked: Acquire) -> None:
        number = asked.number
        if number in self.holds or number in self.waiting or number in self.tasks:
            if self.session.stay is None:
                raise ProtocolError(f"number {number} is in use")
            if hold := self.holds.get(number):  # our answer was lost with a line, or they have crossed
                self.session.say(Lost(number, hold.why) if hold.why else _granted(number, hold))
            return
        try:
            self._check()
            if (what := msgspec.structs.astuple(asked)[1:]) != self._same:
                self.session.rights.check(asked.name)
                self._lock, self._same = _lock_of(self.node, asked), what
            lock = self._lock
            if lock.instance_name not in self.node.instances and lock.instance_name not in self.node.asleep:
                self.account.brings_in_name(self.node.epoch)
            if lock.permits > 1 or asked.timeout == 0 or lock.delay is not None or self.node.outgoing.behind:
                self.acquiring.add(number)
                self.account.waiting += 1
                task = self.begin(number, self._acquired(asked, lock))
                task.add_done_callback(lambda _: self._acquiring_no_more(number))
            else:
                self._request(asked, lock)
        except SoloistError as error:
            self._refuse(asked, error)

    def _check(self) -> None:
        if self.server.stopping:
            raise NodeClosed(self.server.stopping)
        self.node.check_usable()
        self.account.check_room()

    def _request(self, asked: Acquire, lock: Lock) -> None:
        """Without a task: it is granted at once, or its turn will come."""
        waiting = Waiting(asked, lock)
        ticket, number = waiting.ticket, asked.number
        try:
            self.node.request(lock.instance_name, lock.capacity, ticket)
        except SoloistError as error:
            waiting.gave_up(error)
            raise
        if ticket.fence:
            self._enter(waiting)
            return
        self.waiting[number] = waiting
        self.account.waiting += 1
        ticket.future = Summons(loop=self.node.loop)
        ticket.future.add_done_callback(partial(self._summoned, waiting), context=self._context)
        if asked.timeout is not None:
            waiting.timer = self.node.loop.call_later(asked.timeout, self._expired, waiting)

    def _summoned(self, waiting: Waiting, _: object) -> None:
        if self.waiting.get(waiting.asked.number) is not waiting:
            return  # withdrawn just now; and its number may be another request's already
        del self.waiting[waiting.asked.number]
        self.account.waiting -= 1
        if waiting.timer:
            waiting.timer.cancel()
        if error := waiting.ticket.error:
            waiting.gave_up(error)
            self._refuse(waiting.asked, error)
        else:
            self._enter(waiting)

    def _enter(self, waiting: Waiting) -> None:
        try:
            hold = waiting.hold.begins([waiting.ticket])
        except SoloistError as error:
            waiting.gave_up(error)
            self._refuse(waiting.asked, error)
        else:
            waiting.entered()
            self._granted(waiting.asked.number, hold, waiting.since)

    def _expired(self, waiting: Waiting) -> None:
        if waiting.ticket.gone:  # it was let in, or failed, in this very turn
            return
        error = waiting.lock._timed_out(waiting.asked.timeout)
        self._withdraw(waiting.asked.number, error)
        self._refuse(waiting.asked, error)

    def _withdraw(self, number: int, error: BaseException | None = None) -> None:
        waiting = self.waiting.pop(number)
        self.account.waiting -= 1
        if waiting.timer:
            waiting.timer.cancel()
        waiting.lock._give_up(waiting.ticket)
        waiting.gave_up(error or asyncio.CancelledError())

    async def _acquired(self, asked: Acquire, lock: Lock) -> None:
        OWNER.set(object())
        since = time.monotonic()
        try:
            hold = await lock.acquire_or_raise(asked.timeout)
        except SoloistError as error:
            self._acquiring_no_more(asked.number)
            self._refuse(asked, error)
        except asyncio.CancelledError:
            if self.server.stopping:
                self.session.say(Refused(asked.number, "NodeClosed", self.server.stopping))
            raise
        else:
            self._granted(asked.number, hold, since)
        finally:
            self._acquiring_no_more(asked.number)

    def _refuse(self, asked: Acquire, error: Exception) -> None:
        if isinstance(error, AcquireTimeout):
            self.begin(asked.number, self._timed_out(asked, str(error)))
        else:
            self.session.say(Refused(asked.number, type(error).__name__, str(error)))

    async def _timed_out(self, asked: Acquire, why: str) -> None:
        with self.account.waits():
            holders: list[LockState] = []
            if not self.account.asking.locked():
                async with self.account.asking:
                    holders = await _holders_of(self.node, asked)
        self.session.say(Refused(asked.number, "AcquireTimeout", why, holders))

    def _granted(self, number: int, hold: Hold, since: float) -> None:
        if self.session.ended:
            hold.release_now()
            return
        hold._task = None
        self.server.waits.append(time.monotonic() - since)
        self.holds[number] = hold
        self.account.holds += 1
        hold.on_lost = lambda lost: self.session.say(Lost(number, lost.why))
        self._log("%s: granted to %s: %r", hold)
        self.session.say(_granted(number, hold))

    def release(self, number: int) -> None:
        if hold := self.holds.pop(number, None):
            self.account.holds -= 1
            self._log("%s: released by %s: %r", hold)
            hold.release_now()
        elif number in self.waiting:
            self._withdraw(number)
        elif task := self.tasks.get(number):
            task.cancel()

    def _log(self, text: str, hold: Hold, level: int = logging.DEBUG) -> None:
        if log.isEnabledFor(level):
            program = self.session.program
            facts = {"lock": hold.name, "fence": hold.fence, "client": program}
            log.log(level, text, self.node.name, program, hold.name, extra=facts)


def _granted(number: int, hold: Hold) -> Granted:
    if hold.lock.capacity == 1:
        return Granted(number, (hold.fence,), ())
    return Granted(number, tuple(hold.fences), hold.slots)


def _lock_of(node: Node, asked: Acquire) -> Lock:
    options: dict[str, Any] = {
        "timeout": asked.timeout,
        "note": asked.note,
        "on_lost": "flag",
        "on_holder_loss": asked.on_holder_loss,
        "lock_delay": asked.lock_delay,
    }
    if asked.value is None:
        return node.lock(asked.name, **options)
    return node.semaphore(asked.name, asked.value, permits=asked.permits, **options)


async def _holders_of(node: Node, asked: Acquire) -> list[LockState]:
    kind = "lock" if asked.value is None else "semaphore"
    try:
        inspection = await node.inspect(asked.name)
    except NodeClosed:
        return []
    holders = [view for view in inspection.holders if view.lock == f"{kind}:{asked.name}"]
    return sorted(holders, key=lambda view: view.node)
