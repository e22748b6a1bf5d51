"""What has a loop and a thread of its own, and locks for all other threads: a node, or a client of one.

A body that runs in a thread cannot be interrupted: if the lock is lost, `hold.lost` is set, `on_lost` is called, and
`LockLost` is raised when the body ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Self, TypeVar

from soloist.net.arguments import OnHolderLoss
from soloist.net.engine.inquiry import Inspection
from soloist.net.errand import Errand
from soloist.net.errors import NodeClosed
from soloist.net.link.wire import LockState
from soloist.net.member.breaks import Broken
from soloist.net.said import of_threaded
from soloist.net.shown import Shown
from soloist.net.sync_leader import SyncElections
from soloist.net.sync_lock import OnLost, SyncLock, SyncLocks

T = TypeVar("T")


H = TypeVar("H", bound=Any)


class Threaded(SyncElections, Shown, Generic[H]):
    """Made with what makes the other one, in its loop; it has the same name."""

    _shown = "break_lock close holders inspect leader lock locks name rlock semaphore start"
    what = "node"
    __repr__ = of_threaded

    def __init__(self, name: str, make: Callable[[], H]) -> None:
        self._make = make
        self.name = name
        self._node: H | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting: asyncio.Task[Any] | None = None
        self._begun: H | None = None
        """As the loop has it; `_node` is what the thread knows of."""
        self._ending: asyncio.Task[None] | None = None
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        """Held while work is handed to the loop: what is handed over before `close` is finished by it."""

    @property
    def node(self) -> H:
        self._check_process()
        if self._node is None:
            raise self._not_running()
        return self._node

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise NodeClosed(
                f"{self.what} {self.name!r} belongs to the parent of this process; make a new one here"
            )

    def _not_running(self) -> NodeClosed:
        return NodeClosed(f"{self.what} {self.name!r} is not running; use it with `with`, or call start()")

    def start(self) -> Self:
        """Start the loop in a thread of its own; `with` does this. Interrupted, it leaves nothing behind."""
        self._make()  # complain here, in the caller's thread
        self._begun = None
        loop = self._loop = new_loop()
        thread = self._thread = threading.Thread(
            target=_run, args=(loop,), name=f"soloist {self.name}", daemon=True
        )
        thread.start()
        try:
            self._node = self.call(self._begin)
            _NODES[self.name] = self
        except BaseException:
            self._loop = self._node = None
            _NODES.pop(self.name, None)
            loop.call_soon_threadsafe(self._give_up, loop)
            thread.join()
            raise
        return self

    async def _begin(self) -> H:
        self._starting = asyncio.current_task()
        try:
            node: H = await self._make().start()
            self._begun = node
            return node
        finally:
            self._starting = None

    def _give_up(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the loop, after what was handed to it before: it did not start, or did, and nobody has heard of it."""

        async def end() -> None:
            if starting := self._starting:
                await asyncio.wait({starting})
            if node := self._begun:
                await _close(node)
            loop.stop()

        self._ending = loop.create_task(end())

    def close(self) -> None:
        """Leave, and wait until all is over; what was interrupted meanwhile goes on to its end."""
        if os.getpid() != self._pid:
            return
        with self._mutex:
            node, loop = self._node, self._loop
            self._node = self._loop = None
            if node and loop:
                loop.call_soon_threadsafe(functools.partial(loop.create_task, _close(node)))
        if _NODES.get(self.name) is self:
            del _NODES[self.name]
        if self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run it in the node's loop, and wait for the result in this thread."""
        errand = Errand(work)
        self.run(errand)
        if errand.error is not None:
            raise errand.error
        return errand.result

    def run(self, errand: Errand[Any]) -> None:
        """Have an errand run, to its end; a caller that is interrupted meanwhile withdraws it."""
        try:
            self.soon(errand.begin)
            errand.wait()
        except BaseException:
            with contextlib.suppress(NodeClosed):
                self.soon(errand.withdraw)
            raise

    def soon(self, work: Callable[[], None]) -> None:
        """Let the loop do something, later."""
        self._check_process()
        with self._mutex:
            if self._loop is None:
                raise self._not_running()
            self._loop.call_soon_threadsafe(work)

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> SyncLock:
        """A lock by name; the options are those of `Node.lock`, and `on_lost` may be called when it is lost."""
        lock = self.node.lock(
            name,
            timeout=timeout,
            note=note,
            on_lost="flag",
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )
        return SyncLock(self, lock, on_lost)

    def rlock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> SyncLock:
        """A lock that its thread may take again."""
        lock = self.node.rlock(
            name,
            timeout=timeout,
            note=note,
            on_lost="flag",
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )
        return SyncLock(self, lock, on_lost)

    def semaphore(
        self,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> SyncLock:
        """At most `value` permits are out at a time."""
        semaphore = self.node.semaphore(
            name,
            value,
            permits=permits,
            timeout=timeout,
            note=note,
            on_lost="flag",
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )
        return SyncLock(self, semaphore, on_lost)

    def locks(
        self,
        *names: str,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> SyncLocks:
        """Several locks, all or none: as `Node.locks`."""
        locks = self.node.locks(
            *names,
            timeout=timeout,
            note=note,
            on_lost="flag",
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )
        return SyncLocks(self, locks, on_lost)

    def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """As `Node.break_lock`."""
        broken: Broken = self.call(functools.partial(self.node.break_lock, name, timeout))
        return broken

    def inspect(self, name: str) -> Inspection:
        """As `Node.inspect`."""
        found: Inspection = self.call(functools.partial(self.node.inspect, name))
        return found

    def holders(self) -> list[LockState]:
        """As `Node.holders`."""
        return self.call(self.node.holders)


_NODES: dict[str, Threaded[Any]] = {}
"""The nodes of this process, by name: what a pickled lock comes back to."""


def local_node(name: str) -> Threaded[Any]:
    if name not in _NODES:
        raise NodeClosed(
            f"no node {name!r} runs in this process, nor a client of that URL; start it before unpickling its locks"
        )
    return _NODES[name]


async def _close(node: Any) -> None:
    """Close it, and let all that was begun in its loop come to its end, so that no thread waits for ever."""
    await node.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
    asyncio.get_running_loop().stop()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def new_loop() -> asyncio.AbstractEventLoop:
    """The fastest event loop that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
