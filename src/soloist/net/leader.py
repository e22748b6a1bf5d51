"""Leader election on top of a lock: who holds it leads, and the fence of that hold is the number of the term."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self, TypeVar

from soloist.core import UsageError
from soloist.net.errors import LockError, LockLost, NodeClosed, NoQuorum
from soloist.net.shown import Shown

if TYPE_CHECKING:
    from soloist.net.protocols import AsyncLockLike, HoldLike, LockLike

log = logging.getLogger("soloist.net")

T = TypeVar("T")
Told = Callable[["HoldLike"], object]
"""What is called with the hold of a term; in asyncio it may be a coroutine function."""

RETRY_SECONDS = 1.0
"""Seconds until a candidate that was told that nobody can be let in asks again."""


class Candidacy(Shown):
    """What candidates in asyncio and in threads have in common."""

    _shown = "elected hold leading name run step_down term"
    hold: HoldLike | None = None
    """That of the term which has begun here and has not ended."""
    _running = False

    def __init__(self, lock: AsyncLockLike | LockLike, on_gain: Told | None, on_loss: Told | None) -> None:
        for what, told in (("on_gain", on_gain), ("on_loss", on_loss)):
            if told is not None and not callable(told):
                raise UsageError(f"{what} must be a function of the hold, or None, not {told!r}")
        self.name, self._on_gain, self._on_loss = lock.name, on_gain, on_loss

    @property
    def leading(self) -> bool:
        """Whether it leads at this moment. The next moment may differ: give the term to whatever is changed."""
        return self.term is not None

    @property
    def term(self) -> int | None:
        """The fence of the lock while this one leads: it grows from leader to leader. None while it does not."""
        hold = self.hold
        return hold.fence if hold is not None and hold.valid else None

    def _begin(self) -> None:
        if self._running:
            raise UsageError(f"this candidate for {self.name!r} is running already; make another one")
        self._running = True

    def _away(self, error: LockError, lock: object) -> None:
        """It was not let in. Raise that, unless this may pass: too few are heard, or no node answers its client."""
        node = getattr(lock, "node", None)
        if isinstance(error, NodeClosed) and not getattr(node, "usable", False):
            raise error
        log.info("%s; it asks again", error)

    def _lost(self, lost: LockLost) -> None:
        """Raise it again, unless it is our own lock that was lost. An error of the work is not lost with it."""
        if lost.name != self.name:
            raise lost
        cause = lost.__cause__
        if isinstance(cause, Exception) and not isinstance(cause, LockLost):
            log.error("%s; what was done meanwhile ended with an error", lost, exc_info=cause)
        else:
            log.info("%s; it is a candidate again", lost)

    def __repr__(self) -> str:
        state = f"leads in term {term}" if (term := self.term) else "does not lead"
        return f"<{type(self).__name__} {self.name!r} {state}>"


class Leader(Candidacy):
    """A candidate that leads as long as it can, and is a candidate again when it has lost the lead.

    Have it `run` your work, or use it with `async with` beside other work. `on_gain` and `on_loss` are called with the
    hold of the term, and awaited if they are coroutine functions; what `on_gain` has begun, even if it failed, `on_loss` ends.
    """

    def __init__(
        self, lock: AsyncLockLike, *, on_gain: Told | None = None, on_loss: Told | None = None
    ) -> None:
        super().__init__(lock, on_gain, on_loss)
        if getattr(lock, "on_lost", "cancel") != "cancel":
            raise UsageError("a leader needs a lock whose loss cancels (on_lost='cancel')")
        self._lock = lock
        self._elected = asyncio.Event()
        self._scope: asyncio.Timeout | None = None
        self._over: asyncio.Event | None = None

    async def run(self, work: Callable[[HoldLike], Awaitable[T]]) -> T:
        """Wait for the lead, and do the work. It is cancelled when the lead is lost, and begun again in the next term.

        What the work gives, or raises while it leads, ends this. Cancelled, it leads no more.
        """
        self._begin()
        try:
            while True:
                self._over, hold = asyncio.Event(), None
                try:
                    async with self._lock as hold:
                        return await self._lead(hold, work)
                except (NoQuorum, NodeClosed) as error:
                    if hold is not None:
                        raise
                    self._away(error, self._lock)
                    await asyncio.sleep(RETRY_SECONDS)
                except LockLost as lost:
                    self._lost(lost)
                except _SteppedDown:
                    log.info("%r: stepped down; it is a candidate again", self.name)
                finally:
                    self._over.set()
        finally:
            self._running = False

    async def _lead(self, hold: HoldLike, work: Callable[[HoldLike], Awaitable[T]]) -> T:
        self.hold = hold
        scope = asyncio.timeout(None)  # never over by itself: `step_down` ends it
        try:
            async with scope:
                self._scope = scope
                await _told(self._on_gain, hold)
                self._elected.set()
                return await work(hold)
        except TimeoutError:
            if scope.expired():
                raise _SteppedDown from None
            raise
        finally:
            self.hold = self._scope = None
            self._elected.clear()
            await _told(self._on_loss, hold)

    async def elected(self) -> HoldLike:
        """Wait until it leads (and `on_gain` is done); gives the hold of the term."""
        while not self._elected.is_set() or self.hold is None:
            await self._elected.wait()
        return self.hold

    async def step_down(self) -> None:
        """Give the lead back, if it has it: its work is cancelled, and it is a candidate again, behind those who wait."""
        if self._scope is not None and self._over is not None:
            self._scope.reschedule(asyncio.get_running_loop().time())
            await self._over.wait()

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._task = self._group.create_task(self.run(linger))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lead no more. If a callback or the node has failed, the body was cancelled, and this raises why."""
        self._task.cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if len(group.exceptions) > 1:
                raise
            if (only := group.exceptions[0]) is not error:
                raise only from None


class _SteppedDown(Exception):
    """Out of the body of a term that was given back."""


async def linger(hold: HoldLike) -> Never:
    """The work of who only wants to be the leader."""
    await asyncio.Future()
    raise AssertionError


async def _told(told: Told | None, hold: HoldLike) -> None:
    if told is not None and inspect.isawaitable(said := told(hold)):
        await said
