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

from soloist.core import ProtocolError, SoloistError, UsageError
from soloist.net.engine.summons import Summons
from soloist.net.engine.ticket import Ticket
from soloist.net.errors import AcquireTimeout, NodeClosed
from soloist.net.hold import OWNER, Hold
from soloist.net.link.wire import LockState
from soloist.net.lock import Lock
from soloist.net.losses import abandon
from soloist.net.service.dialogue import Acquire, Granted, Lost, Refused

if TYPE_CHECKING:
    from soloist.net.node import Node
    from soloist.net.service.session import Session

log = logging.getLogger("soloist.net")


class Waiting:
    """A request without a task."""

    timer: asyncio.TimerHandle | None = None

    def __init__(self, asked: Acquire, lock: Lock) -> None:
        self.asked, self.lock = asked, lock
        self.hold = Hold(lock)
        self.ticket = Ticket()
        self.since = time.monotonic()


class Requests:
    """By number. `tasks` are those of them, and of the client's questions, that need one."""

    def __init__(self, session: Session) -> None:
        self.session, self.server, self.node = session, session.server, session.node
        self.holds: dict[int, Hold] = {}
        self.waiting: dict[int, Waiting] = {}
        self.tasks: dict[int, asyncio.Task[Any]] = {}
        self.acquiring: set[int] = set()
        """Those of the tasks that ask for a lock."""
        self._context = contextvars.copy_context()

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
            self._log("%s: %s left while it held %r", hold, level=logging.WARNING)
            abandon(hold, why)
        self.holds.clear()

    def begin(self, number: int, work: Coroutine[Any, Any, object]) -> None:
        task = self.tasks[number] = asyncio.create_task(work)
        task.add_done_callback(partial(self._ended, number))

    def _ended(self, number: int, task: asyncio.Task[Any]) -> None:
        if self.tasks.get(number) is task:
            del self.tasks[number]
        if number in self.acquiring and number not in self.tasks:  # it was cancelled before it began
            self.acquiring.discard(number)
            if self.server.stopping:
                self.session.say(Refused(number, "NodeClosed", self.server.stopping))

    def acquire(self, asked: Acquire) -> None:
        number = asked.number
        if number in self.holds or number in self.waiting or number in self.tasks:
            if self.session.stay is None:
                raise ProtocolError(f"number {number} is in use")
            if number in self.holds:  # asked again after a reconnection: the answer was lost
                self.session.say(_granted(number, self.holds[number]))
            return
        try:
            self._check(asked)
            lock = self._lock(asked)
            if lock.permits > 1 or asked.timeout == 0 or lock.delay is not None or self.server.busy():
                self.acquiring.add(number)
                self.begin(number, self._acquired(asked, lock))
            else:
                self._request(asked, lock)
        except SoloistError as error:
            self._refuse(asked, error)

    def _check(self, asked: Acquire) -> None:
        if self.server.stopping:
            raise NodeClosed(self.server.stopping)
        self.session.rights.check(asked.name)
        self.node.check_usable()
        if len(self.waiting) + len(self.acquiring) >= self.session.limits.waiting:
            raise UsageError(
                f"a client may have {self.session.limits.waiting} requests that wait, and this one has"
            )
        if len(self.holds) >= self.session.limits.holds:
            raise UsageError(
                f"a client may hold {self.session.limits.holds} locks at a time, and this one does"
            )

    def _lock(self, asked: Acquire) -> Lock:
        options: dict[str, Any] = {
            "timeout": asked.timeout,
            "note": asked.note,
            "on_lost": "flag",
            "on_holder_loss": asked.on_holder_loss,
            "lock_delay": asked.lock_delay,
        }
        if asked.value is None:
            return self.node.lock(asked.name, **options)
        return self.node.semaphore(asked.name, asked.value, permits=asked.permits, **options)

    def _request(self, asked: Acquire, lock: Lock) -> None:
        """Without a task: it is granted at once, or its turn will come."""
        waiting = Waiting(asked, lock)
        ticket, number = waiting.ticket, asked.number
        self.node.request(lock.instance_name, lock.capacity, ticket)
        if ticket.fence:
            self._enter(waiting)
            return
        self.waiting[number] = waiting
        ticket.future = Summons(loop=self.node.loop)
        ticket.future.add_done_callback(partial(self._summoned, waiting), context=self._context)
        if asked.timeout is not None:
            waiting.timer = self.node.loop.call_later(asked.timeout, self._expired, waiting)

    def _summoned(self, waiting: Waiting, _: object) -> None:
        if self.waiting.pop(waiting.asked.number, None) is not waiting:
            return
        if waiting.timer:
            waiting.timer.cancel()
        if waiting.ticket.error:
            self._refuse(waiting.asked, waiting.ticket.error)
        else:
            self._enter(waiting)

    def _enter(self, waiting: Waiting) -> None:
        try:
            self._granted(waiting.asked.number, waiting.hold.begins([waiting.ticket]), waiting.since)
        except SoloistError as error:
            self._refuse(waiting.asked, error)

    def _expired(self, waiting: Waiting) -> None:
        if waiting.ticket.gone:  # it was let in, or failed, in this very turn
            return
        error = waiting.lock._timed_out(waiting.asked.timeout)
        self._withdraw(waiting.asked.number)
        self._refuse(waiting.asked, error)

    def _withdraw(self, number: int) -> None:
        waiting = self.waiting.pop(number)
        if waiting.timer:
            waiting.timer.cancel()
        waiting.lock._give_up(waiting.ticket)

    async def _acquired(self, asked: Acquire, lock: Lock) -> None:
        OWNER.set(object())
        since = time.monotonic()
        try:
            hold = await lock.acquire_or_raise(asked.timeout)
        except SoloistError as error:
            self.acquiring.discard(asked.number)
            self._refuse(asked, error)
        except asyncio.CancelledError:
            if self.server.stopping:
                self.session.say(Refused(asked.number, "NodeClosed", self.server.stopping))
            raise
        else:
            self._granted(asked.number, hold, since)
        finally:
            self.acquiring.discard(asked.number)

    def _refuse(self, asked: Acquire, error: Exception) -> None:
        if isinstance(error, AcquireTimeout):
            self.begin(asked.number, self._timed_out(asked, str(error)))
        else:
            self.session.say(Refused(asked.number, type(error).__name__, str(error)))

    async def _timed_out(self, asked: Acquire, why: str) -> None:
        self.session.say(Refused(asked.number, "AcquireTimeout", why, await _holders_of(self.node, asked)))

    def _granted(self, number: int, hold: Hold, since: float) -> None:
        if self.session.ended:
            hold.release_now()
            return
        hold._task = None
        self.server.waits.append(time.monotonic() - since)
        self.holds[number] = hold
        hold.on_lost = lambda lost: self.session.say(Lost(number, lost.why))
        self._log("%s: granted to %s: %r", hold)
        self.session.say(_granted(number, hold))

    def release(self, number: int) -> None:
        if hold := self.holds.pop(number, None):
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


async def _holders_of(node: Node, asked: Acquire) -> list[LockState]:
    kind = "lock" if asked.value is None else "semaphore"
    try:
        inspection = await node.inspect(asked.name)
    except NodeClosed:
        return []
    holders = [view for view in inspection.holders if view.lock == f"{kind}:{asked.name}"]
    return sorted(holders, key=lambda view: view.node)


def _granted(number: int, hold: Hold) -> Granted:
    return Granted(number, tuple(hold.fences), hold.slots)
