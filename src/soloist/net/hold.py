"""One grant of one lock: what its holder has in hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self

from soloist.net.engine.ticket import FENCE_BITS, Ticket
from soloist.net.engine.turns import TURN_SECONDS
from soloist.net.errors import LockLost
from soloist.net.losses import LEASE_OVER, Limit, tell
from soloist.net.shown import Shown

if TYPE_CHECKING:
    from soloist.net.lock import Lock

OWNER: ContextVar[object | None] = ContextVar("owner", default=None)
"""Who acts, where that is not the running task: a thread behind a `SyncNode`."""


def owner() -> object:
    return OWNER.get() or asyncio.current_task()


class Hold(Shown):
    """One grant of one lock. It is true, so `if hold := await lock.acquire(timeout=1):` reads as it should."""

    _shown = "check epoch fence fences lost name note on_lost release released since slot slots valid why"
    on_lost: Callable[[Hold], None] | None = None
    """Called once, in the node's loop, if the lock is lost."""
    first: Hold | None = None
    """Where a reentrant lock was taken again: the hold that it was first taken with."""
    _in_body = False
    _cancelled_body = False
    _cancelling = 0
    _lost: asyncio.Event | None = None
    fence: int
    """Grows from holder to holder. Hand it to whatever the lock protects, and let that refuse lower ones."""
    _tickets: list[Ticket]
    _entered: float
    """When it began, on the clock of its node's turns."""

    def __init__(self, lock: Lock) -> None:
        """Made by the caller, so that little is left to do between the grant and the entry; then it `begins`."""
        self.name = lock.name
        self.note = lock.note
        self.lock = lock
        node = self.node = lock.node
        task = self._task = asyncio.current_task(node.loop)  # found faster if the loop is told
        if task is None or get_ident() != node.thread:
            node.check_loop()
        self.key: tuple[str, object] = (lock.instance_name, OWNER.get() or task)
        """The instance and its holder."""
        self.released = False
        self._why = ""
        """Not empty if the lock is lost."""
        self._limit: Limit | None = None
        """Where there is a `max_hold`."""

    def begins(self, tickets: list[Ticket]) -> Self:
        """From now on it is held, with these tickets."""
        self._tickets, first = tickets, tickets[0]
        self.fence, lost = first.fence, first.lost
        if len(tickets) > 1:
            self.fence, lost = max(self.fences), any(ticket.lost for ticket in tickets)
        node, lock = self.node, self.key[0]
        turns = node.turns
        clock = turns.clock
        self._entered = turns.entered = first.entered or clock()
        if (
            first.future
        ):  # it has waited: the loop has had a turn, and the next caller need not let it have another one yet
            turns.due = self._entered + TURN_SECONDS
        if lost:
            for ticket in tickets:
                node.release(lock, ticket)
            raise LockLost(f"{self.name!r} is lost: it was so before this task went on", name=self.name)
        if not node.usable:  # closed between the grant and now
            node.check_usable()
        node.stats.entries += 1
        if lock in node.holds:
            node.holds[lock].append(self)
        else:
            node.holds[lock] = [self]
        if self.lock.max_hold is not None:
            self._limit = Limit(self, self.lock.max_hold)
        return self

    def joins(self, other: Hold) -> Self:
        """One more hold of a grant that its holder has already: the lock is free when all of them are released."""
        self._tickets, self.fence, self._entered = other._tickets, other.fence, other._entered
        self._tickets[0].shares += 1
        self.first = other.first or other
        self.node.holds[self.key[0]].append(self)
        if self.lock.max_hold is not None:
            self._limit = Limit(self, self.lock.max_hold)  # from when it was granted first
        return self

    @property
    def since(self) -> float:
        """When it began, on the clock of `time.monotonic`; before that, if the machine was suspended meanwhile."""
        clock = self.node.turns.clock
        return self._entered if clock is time.monotonic else time.monotonic() - (clock() - self._entered)

    @property
    def lost(self) -> asyncio.Event:
        """Set once the lock is lost. Few ask for it, so it is made for those who do."""
        if self._lost is None:
            self._lost = asyncio.Event()
        if self._why:
            self._lost.set()
        return self._lost

    @property
    def why(self) -> str:
        """Why the lock is lost, in words; nothing as long as it is not."""
        return self._why

    @property
    def slots(self) -> tuple[int, ...]:
        """Which of a semaphore's places are held, where the algorithm tells them apart; else ()."""
        return tuple(ticket.slot for ticket in self._tickets if ticket.slot is not None)

    @property
    def slot(self) -> int | None:
        """The first of them: from 0 up to the semaphore's value, and nobody else's. None where there are none."""
        return next(iter(self.slots), None)

    @property
    def epoch(self) -> int:
        """The first half of its fence: with a lease, the view in which it was granted."""
        return self.fence >> FENCE_BITS

    @property
    def valid(self) -> bool:
        """Whether the lock is held at this moment, by this process (not by the child of a fork)."""
        if self.released or self._why or self.node.forked or (self._limit and self._limit.over):
            return False
        door, lock = self.node.table.door, self.lock
        return door is None or all(
            door.holding(lock.instance_name, lock.capacity, ticket) for ticket in self._tickets
        )

    def check(self) -> None:
        """Raise `LockLost` unless the lock is held at this moment."""
        if not self.valid:
            raise LockLost(self._why or f"{self.name!r} {_why_not(self)}", name=self.name)

    async def release(self) -> None:
        """Give it back. From any task, and as often as you like: only the first time counts.

        Nothing is awaited, so nothing can be cancelled half-way.
        """
        node = self.node
        if get_ident() != node.thread:
            node.check_loop()
        self.release_now()

    def release_now(self) -> None:
        """Give it back in one step, which nothing can interrupt."""
        node, tickets = self.node, self._tickets
        if node.forked:
            node.check_process()
        if self.released or self._why:
            if node.board is None and not self.released:
                node.let_go(self)
            return
        if self._limit:
            self._limit.cancel()
            if self._limit.over:  # the loop was too busy to tell
                self._limit.ring()
                return
        self.released = True
        if tickets[0].shares > 1:
            self._leave_to_the_others()
            return
        lost = False
        for ticket in tickets:
            node.release(self.key[0], ticket)
            lost |= ticket.lost
        if lost:
            self.lose(LEASE_OVER)  # before it was given back, and nobody had told us
        else:
            node.table.forget(self)

    def _leave_to_the_others(self) -> None:
        """There are more holds of this grant: with the last of them it ends."""
        self._tickets[0].shares -= 1
        self.node.table.forget(self, last=False)

    def lose(self, why: str) -> None:
        """The lock is gone. Tell the body, in the way it asked for.

        A body that closes its own node is not cancelled: it learns of the loss when it ends.
        """
        if self._limit:
            self._limit.cancel()
        self._why = f"{self.name!r} is lost: {why}"
        if self._lost:
            self._lost.set()
        if self._tickets[0].shares > 1:
            self._leave_to_the_others()
        else:
            self.node.table.forget(self)
        elsewhere = self._task and self._task is not asyncio.current_task() and not self._task.done()
        running = self._in_body and not self.released
        if running and self.lock.on_lost == "cancel" and self._task and elsewhere:
            self._cancelled_body = True
            self._task.cancel(self._why)
        if self.on_lost:
            tell(self.on_lost, self)

    @property
    def fences(self) -> list[int]:
        """Of this grant; several where it has several permits."""
        return [ticket.fence for ticket in self._tickets]

    def enter_body(self) -> None:
        """From now on a loss cancels the body."""
        if self._task:
            self._cancelling = self._task.cancelling()
        self._in_body = True

    def leave_body(self, error: BaseException | None) -> None:
        """At the end of a `with`: release, and turn the cancellation that a loss caused into `LockLost`.

        If somebody else has cancelled the task as well, that goes on, as with `asyncio.timeout`.
        """
        self._in_body = False
        self.release_now()
        if not self._why:
            return
        cancelled_by_others = isinstance(error, asyncio.CancelledError)
        if self._cancelled_body and self._task:
            self._cancelled_body = False
            cancelled_by_others &= self._task.uncancel() > self._cancelling
        if not cancelled_by_others:
            raise LockLost(self._why, name=self.name) from error

    def __repr__(self) -> str:
        state = "held" if self.valid else "lost" if self._why else "released"
        return f"<Hold {self.name!r} fence={self.fence} {state}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Hold cannot be pickled: it belongs to this process; pickle the lock's name instead"
        )


def _why_not(hold: Hold) -> str:
    """What is wrong with a hold that is not good, though nobody has told it of a loss yet."""
    if hold.node.forked:
        return "is held by the parent of this process"
    if hold.released:
        return "has been released"
    return f"is lost: {hold._limit.why if hold._limit and hold._limit.over else LEASE_OVER}"
