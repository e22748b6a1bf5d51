"""The same leaders for threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from soloist.net.errors import LockLost, NodeClosed, NoQuorum
from soloist.net.leader import RETRY_SECONDS, Candidacy, Leader, Told, linger, log

if TYPE_CHECKING:
    from soloist.net.protocols import AsyncLockLike, HoldLike, LockLike
    from soloist.net.threaded import Threaded

T = TypeVar("T")


class Runner(Protocol):
    """Who has a loop in a thread of its own, as a `SyncNode` does."""

    def call(self, work: Callable[[], Coroutine[Any, Any, T]], /) -> T: ...

    def soon(self, work: Callable[[], None], /) -> None: ...


class SyncLeader(Candidacy):
    """A candidate that leads as long as it can, and is a candidate again when it has lost the lead; for threads.

    Have it `run` your work in this thread, or use it with `with` beside other work: then `on_gain` and `on_loss` are
    called in a thread of their own, one after the other. A thread cannot be interrupted, so work looks at `leading`.
    """

    def __init__(
        self,
        runner: Runner,
        lock: LockLike,
        inner: AsyncLockLike,
        *,
        on_gain: Told | None = None,
        on_loss: Told | None = None,
    ) -> None:
        """`lock` and `inner` are the same one: for threads, and for the loop of the runner."""
        super().__init__(lock, on_gain, on_loss)
        self._runner, self._lock = runner, lock
        self._inner = Leader(inner, on_gain=self._gained, on_loss=self._dropped)
        self._elected = threading.Event()
        self._left = False
        """Whether it was told to step down in this term."""
        self._hands: ThreadPoolExecutor | None = None
        """The thread of the callbacks, between `__enter__` and `__exit__`."""
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None

    # In the thread that calls.

    def run(self, work: Callable[[HoldLike], T]) -> T:
        """Wait for the lead, and do the work. Once it leads no more, work should end; it is begun again in the next term.

        What the work gives, or raises, while it leads ends this.
        """
        self._begin()
        try:
            while True:
                hold = None
                try:
                    with self._lock as hold:
                        result = self._lead(hold, work)
                    if not self._left:
                        return result
                except (NoQuorum, NodeClosed) as error:
                    if hold is not None:
                        raise
                    self._away(error, self._inner._lock)
                    time.sleep(RETRY_SECONDS)
                except LockLost as lost:
                    self._lost(lost)
        finally:
            self._running = False

    def _lead(self, hold: HoldLike, work: Callable[[HoldLike], T]) -> T:
        try:
            self._left, self.hold = False, hold
            if self._on_gain:
                self._on_gain(hold)
            self._elected.set()
            return work(hold)
        finally:
            self.hold = None
            self._elected.clear()
            if self._on_loss:
                self._on_loss(hold)

    # Beside other work: a candidate in the loop, whose callbacks have a thread.

    def __enter__(self) -> Self:
        self._begin()
        self._hands = ThreadPoolExecutor(1, thread_name_prefix=f"leader {self.name}")
        self._error = None
        try:
            self._runner.soon(self._start)
        except BaseException:
            self._finish()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lead no more. If a callback or the node has failed, this raises why."""
        self._finish()
        if self._error is not None and error is None:
            raise self._error

    def _finish(self) -> None:
        try:
            with contextlib.suppress(NodeClosed):
                self._runner.call(self._stop)
        finally:
            if self._hands:
                self._hands.shutdown(wait=False)
            self._hands, self._running = None, False

    def elected(self, timeout: float | None = None) -> bool:
        """Wait until it leads (and `on_gain` is done); False if it did not in that time."""
        return self._elected.wait(timeout)

    def step_down(self) -> None:
        """Give the lead back, if it has it, and be a candidate again, behind those who wait.

        With `run`, that is so once the work has seen that it leads no more, and has ended.
        """
        if self._hands:
            self._runner.call(self._inner.step_down)
        elif self.hold:
            self._left, self.hold = True, None

    # In the loop.

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._inner.run(linger))
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._error = error
            log.error("%r: no candidate any more: %s", self.name, error)

    async def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _gained(self, hold: HoldLike) -> None:
        self.hold = hold
        await self._tell(self._on_gain, hold)
        self._elected.set()

    async def _dropped(self, hold: HoldLike) -> None:
        self.hold = None
        self._elected.clear()
        await self._tell(self._on_loss, hold)

    async def _tell(self, told: Told | None, hold: HoldLike) -> None:
        if told and self._hands:
            await asyncio.get_running_loop().run_in_executor(self._hands, told, hold)


class SyncElections:
    """The part of a `SyncNode` or a `SyncClient` that makes leaders."""

    def leader(
        self, name: str, *, note: str | None = None, on_gain: Told | None = None, on_loss: Told | None = None
    ) -> SyncLeader:
        """A candidate who leads while it holds the lock of that name, and holds it as long as it can."""
        ours = cast("Threaded[Any]", self)
        lock = ours.lock(name, note=note)
        return SyncLeader(ours, lock, ours.node.lock(name, note=note), on_gain=on_gain, on_loss=on_loss)
