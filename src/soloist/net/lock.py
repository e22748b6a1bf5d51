"""Locks and semaphores for asyncio: names on a node, and a `Hold` for each grant."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from soloist.algorithms import CATALOGUE
from soloist.core import UsageError, whole
from soloist.net.arguments import (
    OnHolderLoss,
    check_loss,
    check_max_hold,
    check_name,
    check_note,
    check_timeout,
)
from soloist.net.bodies import Bodies, Place
from soloist.net.engine.summons import Summons
from soloist.net.engine.ticket import Ticket
from soloist.net.engine.withheld import words
from soloist.net.errors import AcquireTimeout, NotOwned, WouldDeadlock
from soloist.net.hold import OWNER, Hold, owner
from soloist.net.registered import check_registers
from soloist.net.said import of_lock
from soloist.net.shown import Shown
from soloist.net.telemetry.observer import watched
from soloist.net.trying import tried, worth_a_try

if TYPE_CHECKING:
    from soloist.net.engine.switchboard import Switchboard
    from soloist.net.home import Home

OnLost = Literal["cancel", "flag"]
P = ParamSpec("P")
R = TypeVar("R")

TRY_SECONDS = 1.0
"""Seconds that a try may take where messages are slow, or peers away."""


class Lock(Shown):
    """A lock by name. It may be shared by many tasks; each grant is a `Hold` of its own."""

    _shown = (
        "acquire acquire_or_raise lock_delay locked max_hold name note on_holder_loss on_lost release timeout"
    )
    kind = "lock"
    __repr__ = of_lock

    def __init__(
        self,
        node: Home,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> None:
        if on_lost not in ("cancel", "flag"):
            raise UsageError(f"on_lost must be 'cancel' or 'flag', not {on_lost!r}")
        self.node, self.name, self.on_lost = node, check_name(name), on_lost
        self.timeout, self.note = check_timeout(timeout), check_note(note)
        self.max_hold = check_max_hold(max_hold)
        self.on_holder_loss, self.lock_delay = on_holder_loss, lock_delay
        self.delay = check_loss(on_holder_loss, lock_delay)
        if self.delay is not None:
            check_registers(node)
        self.instance_name = f"{self.kind}:{self.name}"
        self.capacity = self.permits = 1
        self._bodies: Bodies[Hold] = Bodies(self.name)

    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Coroutine[Any, Any, Hold | None]:
        """Wait for the lock. None if it was not granted in time.

        `timeout=0` or `blocking=False` tries: it waits for messages, since a free lock may rest at another node,
        but for nobody who holds it.
        """
        timeout = self.timeout if timeout is None else check_timeout(timeout)
        wait = timeout if blocking else 0.0
        return self.acquire_or_raise(None) if wait is None else self._acquire_or_none(wait)

    async def _acquire_or_none(self, timeout: float) -> Hold | None:
        try:
            return await self.acquire_or_raise(timeout)
        except AcquireTimeout:
            return None

    async def release(self) -> None:
        """Give back the newest hold of this task."""
        hold = self.node.table.held_by(self.instance_name, owner())
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
            timeout = check_timeout(timeout)
        name, node = self.instance_name, self.node
        if not node.usable:
            node.check_usable()
        hold = Hold(self)
        if name in node.holds and self.capacity == 1 and node.table.held_by(name, hold.key[1]):
            raise _would_deadlock(self.name)
        board = node.board
        if board is None:  # a node elsewhere deals with it
            return hold.begins(await node.obtain(self, timeout))
        if timeout == 0 and (
            board.table.inside(name) + self.permits > self.capacity or not worth_a_try(self)
        ):
            await asyncio.sleep(0)  # who tries again and again must not keep the holder from leaving
            raise self._timed_out(0)
        instance, turns = board.instances.get(name), board.turns
        if turns.entered >= turns.due or (
            instance and instance.unheard > instance.locality and turns.deaf(instance)
        ):
            await turns.listen()
            node.check_usable()
        ticket = None
        if self.permits == 1 and not board.outgoing.behind:
            ticket = Ticket(self.delay)
            board.request(name, self.capacity, ticket)
            if ticket.fence:  # it was here, and free: nothing that waiting needs is made
                return hold.begins([ticket])
            if timeout is None:
                return hold.begins([await self._wait(ticket)])
        if timeout is None:
            return hold.begins(await self.tickets(None))
        try:
            async with asyncio.timeout(timeout or TRY_SECONDS) as limit:
                return hold.begins(await (self.tickets(ticket) if timeout else tried(self, ticket, limit)))
        except TimeoutError:
            raise self._timed_out(timeout) from None

    async def _room(self) -> None:
        """Wait while a peer is far behind."""
        await _board(self).outgoing.room()
        self.node.check_usable()

    async def tickets(self, ticket: Ticket | None) -> list[Ticket]:
        """One ticket for each permit, granted."""
        if ticket is None:
            await self._room()
        return [await self._wait(ticket or self._request())]

    def _request(self) -> Ticket:
        ticket = Ticket(self.delay)
        _board(self).request(self.instance_name, self.capacity, ticket)
        return ticket

    async def _wait(self, ticket: Ticket) -> Ticket:
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
            _board(self).withdraw(self.instance_name, ticket)

    def _timed_out(self, timeout: float | None) -> AcquireTimeout:
        lost = self.node.table.withheld.get(self.instance_name, [])
        trouble = words(lost) or self.node.trouble()
        return AcquireTimeout(
            f"{self.name!r} was not granted within {timeout or 0:g} s" + (f"; {trouble}" if trouble else ""),
            name=self.name,
            holder=", ".join(each.node for each in lost) or None,
        )

    def __aenter__(self) -> Coroutine[Any, Any, Hold]:
        frame = sys._getframe(1)
        return self._enter((id(frame), frame.f_code))

    async def _enter(self, place: Place) -> Hold:
        hold = await self.acquire_or_raise(self.timeout)
        self._bodies.enter((place, hold.key[1], hold))
        hold.enter_body()
        return hold

    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: Any
    ) -> Coroutine[Any, Any, None]:
        frame = sys._getframe(1)
        return self._leave((id(frame), frame.f_code), error)

    async def _leave(self, place: Place, error: BaseException | None) -> None:
        body = self._bodies.find(place, owner)
        self._bodies.left(body)
        body[2].leave_body(error)

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
        return {
            "timeout": self.timeout,
            "note": self.note,
            "on_lost": self.on_lost,
            "max_hold": self.max_hold,
            "on_holder_loss": self.on_holder_loss,
            "lock_delay": self.lock_delay,
        }


class RLock(Lock):
    """A lock that its holder may take again. It is the same lock as `node.lock` of that name.

    Each time gives a hold of its own, with the same fence; the lock is free when all are released, in any order.
    """

    async def acquire_or_raise(self, timeout: float | None) -> Hold:
        self.node.check_usable()
        if held := self.node.table.held_by(self.instance_name, owner()):
            check_timeout(timeout)
            held.check()  # it may be lost, though nobody has told us: then no body begins
            return Hold(self).joins(held)
        return await super().acquire_or_raise(timeout)


class Semaphore(Lock):
    """At most `value` permits are out at a time, over all nodes."""

    _shown = "capacity permits"
    kind = "semaphore"

    def __init__(
        self,
        node: Home,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> None:
        super().__init__(
            node,
            name,
            timeout=timeout,
            note=note,
            on_lost=on_lost,
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )
        value, permits = whole("a semaphore's value", value), whole("permits", permits)
        if value < 1:
            raise UsageError(f"a semaphore's value must be at least 1, not {value}")
        if value > node.table.most_permits:
            raise UsageError(
                f"a semaphore's value is at most {node.table.most_permits} among {len(node.table.names)} nodes, not {value}: "
                "each permit is a site at every node"
            )
        if not 1 <= permits <= value:
            raise UsageError(f"permits must be from 1 to the semaphore's value ({value}), not {permits}")
        if permits > 1 and not node.table.prompt:
            raise UsageError(
                f"permits={permits}: with {node.table.several} the second may wait for the first to be given "
                f"back; use {' or '.join(prompt())} for that"
            )
        self.capacity = value
        self.permits = permits

    async def tickets(self, ticket: Ticket | None) -> list[Ticket]:
        """Several permits are collected by one caller at a time: two half-served ones would wait for ever."""
        if self.permits == 1:
            return await super().tickets(ticket)
        await self._room()
        tickets: list[Ticket] = []
        async with Collector(self.node, self.name):
            try:
                for _ in range(self.permits):
                    tickets.append(await self._wait(self._request()))
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
    """Held by the caller that collects several permits of the semaphore of that name."""

    kind = "permits"


def _board(lock: Lock) -> Switchboard:
    """Of the node to which it belongs; a lock of a client has none, and asks elsewhere."""
    board = lock.node.board
    assert board is not None
    return board


def _would_deadlock(name: str) -> WouldDeadlock:
    return WouldDeadlock(
        f"this task holds {name!r} already and would wait for itself; rlock() allows that", name=name
    )


def _by_name(kind: type[Lock], node: str, name: str, settings: dict[str, Any]) -> Lock:
    """A lock unpickled: it belongs to the node of that name in this process."""
    from soloist.net.registry import local_node

    return kind(local_node(node), name, **settings)


__all__ = ["OWNER", "Collector", "Hold", "Lock", "OnLost", "RLock", "Semaphore", "owner", "prompt"]
