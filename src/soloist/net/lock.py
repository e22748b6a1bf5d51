"""Locks and semaphores for asyncio: names on a node, and a `Hold` for each grant."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from soloist.algorithms import CATALOGUE
from soloist.core import UsageError
from soloist.net.errors import AcquireTimeout, LockLost, NodeClosed, NotOwned, WouldDeadlock
from soloist.net.instance import FENCE_BITS, Ticket
from soloist.net.observer import watched
from soloist.net.summons import Summons

if TYPE_CHECKING:
    from soloist.net.node import Node

OnLost = Literal["cancel", "flag"]
P = ParamSpec("P")
R = TypeVar("R")


LONGEST = 1000
"""Characters in a name or a note: a batch of messages must fit into a frame."""
TRY_SECONDS = 1.0
"""How long a try may take where messages are slow, or peers away."""

OWNER: ContextVar[object | None] = ContextVar("owner", default=None)
"""Who acts, where that is not the running task: a thread behind a `SyncNode`."""


def owner() -> object:
    return OWNER.get() or asyncio.current_task()


def _check_timeout(timeout: float | None) -> None:
    if timeout is not None and timeout < 0:
        raise UsageError(f"timeout must not be negative, but is {timeout}; None waits for ever, 0 tries once")


class Hold:
    """One grant of one lock. It is true, so `if hold := await lock.acquire(timeout=1):` reads as it should."""

    depth = 1
    """How often a reentrant lock has been taken by its holder."""
    on_lost: Callable[[Hold], None] | None = None
    """Called once, in the node's loop, if the lock is lost."""
    facade: Any = None
    """What threads see of it; a reentrant lock taken again is the same hold, for them too."""
    _in_body = False
    _cancelled_body = False
    _cancelling = 0
    _why = ""
    """Not empty if the lock is lost."""
    _lost: asyncio.Event | None = None
    fence: int
    """Grows from holder to holder. Hand it to whatever the lock protects, and let that refuse lower ones."""
    since: float
    """On the clock of `time.monotonic`."""
    _tickets: list[Ticket]

    def __init__(self, lock: Lock) -> None:
        """Made by whoever asks, so that little is left to do between the grant and the entry; then it `begins`."""
        self.name = lock.name
        self.note = lock.note
        self._lock = lock
        node = self._node = lock.node
        task = self._task = asyncio.current_task(node.loop)  # found faster if the loop is told
        self.key: tuple[str, object] = (lock.instance_name, OWNER.get() or task)
        """The instance and whoever holds it."""

    def begins(self, tickets: list[Ticket]) -> Self:
        self._tickets = tickets
        self.fence = tickets[0].fence if len(tickets) == 1 else max(ticket.fence for ticket in tickets)
        self.since = time.monotonic()
        node, lock = self._node, self.key[0]
        if not node.usable:  # closed between the grant and now
            node.check_usable()
        node.stats.entries += 1
        if lock in node.holds:
            node.holds[lock].append(self)
        else:
            node.holds[lock] = [self]
        return self

    @property
    def lost(self) -> asyncio.Event:
        """Set once the lock is lost. Few ask for it, so it is made for those who do."""
        if self._lost is None:
            self._lost = asyncio.Event()
        if self._why:
            self._lost.set()
        return self._lost

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
        return self.fence >> FENCE_BITS

    @property
    def released(self) -> bool:
        return all(ticket.released for ticket in self._tickets)

    @property
    def valid(self) -> bool:
        """Whether the lock is held at this moment, by this process (not by the child of a fork)."""
        return not (self.released or self._why or self._node.forked)

    def check(self) -> None:
        """Raise `LockLost` unless the lock is held at this moment."""
        if not self.valid:
            why = "is held by the parent of this process" if self._node.forked else "has been released"
            raise LockLost(self._why or f"{self.name!r} {why}", name=self.name)

    async def release(self) -> None:
        """Give it back. From any task, and as often as you like: only the first time counts.

        Nothing is awaited, so nothing can be cancelled half-way.
        """
        self.release_now()

    def release_now(self) -> None:
        node = self._node
        if node.forked:
            node.check_process()
        self.depth -= 1
        if self.depth > 0:
            return
        sent = node.stats.batches_sent
        for ticket in self._tickets:
            node.release(self.key[0], ticket)
        if node.stats.batches_sent != sent:
            node.step_aside(self.since)
        node.forget(self)

    def lose(self, why: str) -> None:
        """The lock is gone. Tell the body, in the way it asked for.

        A body that closes its own node is not cancelled: it learns of the loss when it ends.
        """
        self._why = f"{self.name!r} is lost: {why}"
        if self._lost:
            self._lost.set()
        self._node.forget(self)
        elsewhere = self._task and self._task is not asyncio.current_task() and not self._task.done()
        if self._in_body and self._lock.on_lost == "cancel" and self._task and elsewhere:
            self._cancelled_body = True
            self._task.cancel(self._why)
        if self.on_lost:
            self.on_lost(self)

    def enter_body(self) -> None:
        if not self._in_body and self._task:
            self._cancelling = self._task.cancelling()
        self._in_body = True

    def leave_body(self, error: BaseException | None) -> None:
        """At the end of a `with`: release, and turn the cancellation that a loss caused into `LockLost`.

        If somebody else has cancelled the task as well, that goes on, as with `asyncio.timeout`.
        """
        self._in_body = self.depth > 1
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


class Lock:
    """A lock by name. It may be shared by many tasks; each grant is a `Hold` of its own."""

    kind = "lock"
    permits = 1

    def __init__(
        self,
        node: Node,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
    ) -> None:
        if not name:
            raise UsageError("a lock needs a name")
        for what, text in (("name", name), ("note", note or "")):
            if len(text) > LONGEST:
                raise UsageError(f"a lock's {what} has at most {LONGEST} characters, not {len(text)}")
        _check_timeout(timeout)
        self.node, self.name, self.timeout, self.note, self.on_lost = node, name, timeout, note, on_lost
        self.instance_name = f"{self.kind}:{name}"
        self.capacity = 1
        self._bodies: dict[object, list[Hold]] = {}
        """The `with` bodies that each task is in, innermost last."""

    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Coroutine[Any, Any, Hold | None]:
        """Wait for the lock. None if it was not granted in time.

        `timeout=0` or `blocking=False` tries: it waits for messages, since a free lock may rest at another node,
        but for nobody who holds it.
        """
        wait = 0.0 if not blocking else self.timeout if timeout is None else timeout
        return self.acquire_or_raise(None) if wait is None else self._acquire_or_none(wait)

    async def _acquire_or_none(self, timeout: float) -> Hold | None:
        try:
            return await self.acquire_or_raise(timeout)
        except AcquireTimeout:
            return None

    async def release(self) -> None:
        """Give back the newest hold of this task."""
        hold = self.node.held_by(self.instance_name, owner())
        if hold is None:
            raise NotOwned(f"this task does not hold {self.name!r}", name=self.name)
        await hold.release()

    def locked(self) -> bool:
        """Whether somebody on this node holds it. `node.inspect` asks all nodes."""
        return self.instance_name in self.node.holds

    def acquire_or_raise(self, timeout: float | None) -> Coroutine[Any, Any, Hold]:
        """Wait for the lock, or raise `AcquireTimeout`."""
        observers = self.node.observers
        return watched(observers, self, self._acquire(timeout)) if observers else self._acquire(timeout)

    async def _acquire(self, timeout: float | None) -> Hold:
        if timeout is not None:
            _check_timeout(timeout)
        name, node = self.instance_name, self.node
        if not node.usable:
            node.check_usable()
        if name in node.holds and self.capacity == 1 and node.held_by(name, owner()):
            raise WouldDeadlock(
                f"this task holds {self.name!r} already and would wait for itself; rlock() allows that",
                name=self.name,
            )
        if timeout == 0 and node.inside(name) + self.permits > self.capacity:
            raise self._timed_out(0)
        instance = node.instances.get(name)
        if instance and instance.unheard > node.locality and node.deaf(instance):
            await node.listen()
        hold = Hold(self)
        ticket = None
        if self.permits == 1 and not node.behind:
            ticket = Ticket()
            node.request(name, self.capacity, ticket)
            if ticket.fence:  # it was here, and free: nothing that waiting needs is made
                return hold.begins([ticket])
            if timeout is None:  # as `_let_in`
                future = ticket.future = Summons(loop=node.loop)
                try:
                    await future
                except BaseException:
                    self._give_up(ticket)
                    raise
                if ticket.error:
                    raise ticket.error
                return hold.begins([ticket])
        if timeout is None:
            return hold.begins(await self._tickets(None))
        try:
            async with asyncio.timeout(timeout or TRY_SECONDS) as limit:
                return hold.begins(await (self._tickets(ticket) if timeout else self._tried(ticket, limit)))
        except TimeoutError:
            raise self._timed_out(timeout) from None

    async def _tried(self, ticket: Ticket | None, limit: asyncio.Timeout) -> list[Ticket]:
        """The same, until it turns out that others have it."""
        look = asyncio.create_task(self._look_around(limit))
        try:
            return await self._tickets(ticket)
        finally:
            look.cancel()

    async def _look_around(self, limit: asyncio.Timeout) -> None:
        pause = 0.0
        with contextlib.suppress(NodeClosed):  # which the caller hears anyway
            while not await self.node.taken(self.instance_name, self.name, self.capacity - self.permits + 1):
                if self.permits > 1:
                    return  # from now on, some of what is taken may be ours
                await asyncio.sleep(pause)
                pause = 2 * pause + 0.001
            limit.reschedule(asyncio.get_running_loop().time())

    async def _tickets(self, ticket: Ticket | None) -> list[Ticket]:
        if ticket is None:
            await self.node.room()
        return [await self._let_in(ticket or self._ask())]

    def _ask(self) -> Ticket:
        ticket = Ticket()
        self.node.request(self.instance_name, self.capacity, ticket)
        return ticket

    async def _let_in(self, ticket: Ticket) -> Ticket:
        """Wait. Cancelled meanwhile, the request is withdrawn; a grant that came first is given back."""
        if ticket.fence:
            return ticket
        future = ticket.future = Summons(loop=self.node.loop)
        try:
            await future
        except BaseException:
            self._give_up(ticket)
            raise
        if ticket.error:
            raise ticket.error
        return ticket

    def _give_up(self, ticket: Ticket) -> None:
        if ticket.fence:
            self.node.release(self.instance_name, ticket)
        else:
            self.node.withdraw(self.instance_name, ticket)

    def _timed_out(self, timeout: float | None) -> AcquireTimeout:
        trouble = self.node.trouble()
        return AcquireTimeout(
            f"{self.name!r} was not granted within {timeout or 0:g} s" + (f"; {trouble}" if trouble else ""),
            name=self.name,
        )

    async def __aenter__(self) -> Hold:
        hold = await self.acquire_or_raise(self.timeout)
        self._bodies.setdefault(asyncio.current_task(), []).append(hold)
        hold.enter_body()
        return hold

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        task = asyncio.current_task()
        bodies = self._bodies[task]
        hold = bodies.pop()
        if not bodies:
            del self._bodies[task]
        hold.leave_body(error)

    def __call__(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        """As a decorator: the function runs while the lock is held."""

        @functools.wraps(function)
        async def locked(*args: P.args, **kwargs: P.kwargs) -> R:
            async with self:
                return await function(*args, **kwargs)

        return locked

    def __reduce__(self) -> Any:
        return _by_name, (type(self), self.node.name, self.name, self._settings())

    def _settings(self) -> dict[str, Any]:
        return {"timeout": self.timeout, "note": self.note, "on_lost": self.on_lost}


class RLock(Lock):
    """A lock that its holder may take again. It is the same lock as `node.lock` of that name."""

    async def acquire_or_raise(self, timeout: float | None) -> Hold:
        self.node.check_usable()
        if hold := self.node.held_by(self.instance_name, owner()):
            hold.depth += 1
            return hold
        return await super().acquire_or_raise(timeout)


class Semaphore(Lock):
    """At most `value` permits are out at a time, over all nodes."""

    kind = "semaphore"

    def __init__(
        self,
        node: Node,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
    ) -> None:
        super().__init__(node, name, timeout=timeout, note=note, on_lost=on_lost)
        if value < 1:
            raise UsageError(f"a semaphore's value must be at least 1, not {value}")
        if not 1 <= permits <= value:
            raise UsageError(f"permits must be from 1 to the semaphore's value ({value}), not {permits}")
        if permits > 1 and not node.semaphore_card.prompt:
            raise UsageError(
                f"permits={permits}: with {node.semaphore_card.name} the second may wait for the first to be given "
                f"back; use {' or '.join(prompt())} for that"
            )
        self.capacity = value
        self.permits = permits

    async def _tickets(self, ticket: Ticket | None) -> list[Ticket]:
        """Several permits are collected by one caller at a time: two half-served ones would wait for ever."""
        if self.permits == 1:
            return await super()._tickets(ticket)
        await self.node.room()
        tickets: list[Ticket] = []
        async with Collector(self.node, self.name):
            try:
                for _ in range(self.permits):
                    tickets.append(await self._let_in(self._ask()))
            except BaseException:
                for each in tickets:
                    self.node.release(self.instance_name, each)
                raise
        return tickets

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "value": self.capacity, "permits": self.permits}


def prompt() -> list[str]:
    return sorted(card.name for card in CATALOGUE.values() if card.prompt)


class Collector(Lock):
    """Held by whoever collects several permits of the semaphore of that name."""

    kind = "permits"


class Locks:
    """Several locks, all or none, in one fixed order."""

    def __init__(self, locks: list[Lock], timeout: float | None) -> None:
        if not locks:
            raise UsageError("locks() needs at least one name")
        self.locks, self.timeout = locks, timeout
        self._stacks: dict[object, list[AsyncExitStack]] = {}

    async def __aenter__(self) -> dict[str, Hold]:
        stack = AsyncExitStack()
        holds = {}
        try:
            async with asyncio.timeout(self.timeout):
                for lock in self.locks:
                    holds[lock.name] = await stack.enter_async_context(lock)
        except TimeoutError:
            await stack.aclose()
            names = ", ".join(lock.name for lock in self.locks)
            raise AcquireTimeout(f"{names} were not granted within {self.timeout:g} s") from None
        except BaseException:
            await stack.aclose()
            raise
        self._stacks.setdefault(asyncio.current_task(), []).append(stack)
        return holds

    async def __aexit__(self, *error: Any) -> None:
        task = asyncio.current_task()
        stack = self._stacks[task].pop()
        if not self._stacks[task]:
            del self._stacks[task]
        await stack.__aexit__(*error)


def _by_name(kind: type[Lock], node: str, name: str, settings: dict[str, Any]) -> Lock:
    """A lock unpickled: it belongs to the node of that name in this process."""
    from soloist.net.node import local_node

    return kind(local_node(node), name, **settings)
