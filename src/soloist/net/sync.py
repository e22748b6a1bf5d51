"""The same locks for threads: a node with a loop and a thread of its own.

    with SyncNode("a", PEERS) as node:
        with node.lock("orders", timeout=5) as hold:
            ...

A body that runs in a thread cannot be interrupted: if the lock is lost, `hold.lost` is set, `on_lost` is called, and
`LockLost` is raised when the body ends.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, ParamSpec, Self, TypedDict, TypeVar, Unpack

from soloist.net.errors import AcquireTimeout, LockLost, NodeClosed, NotOwned
from soloist.net.lock import OWNER, Hold, Lock, Locks
from soloist.net.node import Inspection, Node
from soloist.net.security import TLS
from soloist.net.transport import Transport
from soloist.net.wire import LocalView

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

OnLost = Callable[["SyncHold"], None]


class NodeOptions(TypedDict, total=False):
    """What `Node` may be told, besides its name and peers."""

    algorithm: str
    semaphore_algorithm: str
    cluster: str
    lease: float | None
    tls: TLS | None
    secret: str | bytes | None
    data_dir: str | None
    transport: Transport | None
    insecure: bool
    locality: int
    shortcut: bool


class SyncNode:
    """A member of a cluster, for threads. Takes what `Node` takes."""

    def __init__(self, name: str, peers: Mapping[str, str], **options: Unpack[NodeOptions]) -> None:
        self._make = functools.partial(Node, name, peers, **options)
        self.name = name
        self._node: Node | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        """Held while work is handed to the loop: what is handed over before `close` is finished by it."""

    @property
    def node(self) -> Node:
        self._check_process()
        if self._node is None:
            raise self._not_running()
        return self._node

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise NodeClosed(f"node {self.name!r} belongs to the parent of this process; make a new one here")

    def _not_running(self) -> NodeClosed:
        return NodeClosed(f"node {self.name!r} is not running; use it with `with`, or call start()")

    def start(self) -> Self:
        self._make()  # complain here, in the caller's thread
        self._loop = new_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"soloist {self.name}", daemon=True
        )
        self._thread.start()
        try:
            self._node = self.call(self._begin())
        except BaseException:
            self._stop_loop(self._loop)
            raise
        _NODES[self.name] = self
        return self

    async def _begin(self) -> Node:
        return await self._make().start()

    def close(self) -> None:
        if os.getpid() != self._pid:
            return
        with self._mutex:
            node, loop = self._node, self._loop
            self._node = self._loop = None
        if node and loop:
            asyncio.run_coroutine_threadsafe(_close(node), loop).result()
            self._stop_loop(loop)
            if _NODES.get(self.name) is self:
                del _NODES[self.name]

    def _stop_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._thread
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()
        self._loop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run in the node's loop, and wait for the result in this thread."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Hand work to the node's loop."""
        try:
            self._check_process()
            with self._mutex:
                if self._loop is None:
                    raise self._not_running()
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        except NodeClosed:
            work.close()
            raise

    def soon(self, work: Callable[[], None]) -> None:
        with self._mutex:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
    ) -> SyncLock:
        return SyncLock(self, self.node.lock(name, timeout=timeout, note=note, on_lost="flag"), on_lost)

    def rlock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
    ) -> SyncLock:
        return SyncLock(self, self.node.rlock(name, timeout=timeout, note=note, on_lost="flag"), on_lost)

    def semaphore(
        self,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost | None = None,
    ) -> SyncLock:
        semaphore = self.node.semaphore(
            name, value, permits=permits, timeout=timeout, note=note, on_lost="flag"
        )
        return SyncLock(self, semaphore, on_lost)

    def locks(self, *names: str, timeout: float | None = None, note: str | None = None) -> SyncLocks:
        return SyncLocks(self, self.node.locks(*names, timeout=timeout, note=note))

    def inspect(self, name: str) -> Inspection:
        return self.call(self.node.inspect(name))

    def holders(self) -> list[LocalView]:
        return self.call(self.node.holders())

    def missing(self) -> list[str]:
        return self.node.missing()


class SyncHold:
    """One grant, for threads."""

    def __init__(self, node: SyncNode, hold: Hold, on_lost: OnLost | None) -> None:
        self._node, self._hold, self._on_lost = node, hold, on_lost
        self.lost = threading.Event()
        hold.facade = self
        hold.on_lost = self._lose
        if hold.lost.is_set():  # already
            self._lose(hold)

    def _lose(self, hold: Hold) -> None:
        self.lost.set()
        if self._on_lost:
            self._on_lost(self)

    @property
    def name(self) -> str:
        return self._hold.name

    @property
    def fence(self) -> int:
        return self._hold.fence

    @property
    def epoch(self) -> int:
        return self._hold.epoch

    @property
    def slots(self) -> tuple[int, ...]:
        return self._hold.slots

    @property
    def slot(self) -> int | None:
        return self._hold.slot

    @property
    def note(self) -> str | None:
        return self._hold.note

    @property
    def valid(self) -> bool:
        return self._hold.valid

    def check(self) -> None:
        self._hold.check()

    def release(self) -> None:
        """Give it back; from any thread, and only the first time counts."""
        if self.lost.is_set() or self._hold.released:
            return
        try:
            self._node.call(self._hold.release())
        except NodeClosed:
            self._node._check_process()
            self.lost.wait()  # the node is being closed, and takes the lock away

    def end(self, error: BaseException | None) -> None:
        """The body has ended: release, and raise `LockLost` if the lock was lost before."""
        self.release()
        if self.lost.is_set():
            raise LockLost(f"{self.name!r} was lost before the body ended", name=self.name) from error

    def __repr__(self) -> str:
        return repr(self._hold)

    def __reduce__(self) -> Any:
        return self._hold.__reduce__()


class _Ticket:
    """A wait that its thread may give up at any moment, without leaking what is granted too late."""

    def __init__(self) -> None:
        self.hold: Hold | None = None
        self.abandoned = False

    async def acquire(self, lock: Lock, timeout: float | None) -> Hold:
        self.hold = await lock.acquire_or_raise(timeout)
        if self.abandoned:
            self.hold.release_now()
        return self.hold

    def abandon(self) -> None:
        self.abandoned = True
        if self.hold:
            self.hold.release_now()


class SyncLock:
    """A lock, reentrant lock or semaphore by name, for threads. It may be shared by many of them."""

    def __init__(self, node: SyncNode, lock: Lock, on_lost: OnLost | None) -> None:
        self._node, self._lock, self._on_lost = node, lock, on_lost
        self._bodies = threading.local()

    @property
    def name(self) -> str:
        return self._lock.name

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> SyncHold | None:
        """Wait for the lock. None if it was not granted in time; `timeout=0` or `blocking=False` tries once."""
        wait = 0.0 if not blocking else self._lock.timeout if timeout is None else timeout
        try:
            return self._acquire(wait)
        except AcquireTimeout:
            return None

    def release(self) -> None:
        """Give back the newest hold of this thread."""
        hold = self._node.node.held_by(self._lock.instance_name, _me())
        if hold is None:
            raise NotOwned(f"this thread does not hold {self.name!r}", name=self.name)
        self._node.call(hold.release())

    def locked(self) -> bool:
        return self._lock.locked()

    def _acquire(self, timeout: float | None) -> SyncHold:
        ticket = _Ticket()
        token = OWNER.set(_me())
        try:
            future = self._node.begin(ticket.acquire(self._lock, timeout))
        finally:
            OWNER.reset(token)
        try:
            hold = future.result()
        except Exception:
            raise
        except BaseException:  # Ctrl-C, at any moment
            future.cancel()
            self._node.soon(ticket.abandon)
            raise
        facade: SyncHold = hold.facade or SyncHold(self._node, hold, self._on_lost)
        return facade

    def __enter__(self) -> SyncHold:
        hold = self._acquire(self._lock.timeout)
        self._stack().append(hold)
        return hold

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        self._stack().pop().end(error)

    def _stack(self) -> list[SyncHold]:
        if not hasattr(self._bodies, "holds"):
            self._bodies.holds = []
        holds: list[SyncHold] = self._bodies.holds
        return holds

    def __reduce__(self) -> Any:
        if self._on_lost:
            raise TypeError("a lock with a callback cannot be pickled: make it anew by its name")
        _, details = self._lock.__reduce__()
        return _by_name, details

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As a decorator: the function runs while the lock is held."""

        @functools.wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return locked


class SyncLocks:
    """Several locks, all or none, for threads."""

    def __init__(self, node: SyncNode, locks: Locks) -> None:
        self._node = node
        self._locks = [SyncLock(node, lock, None) for lock in locks.locks]
        self._timeout = locks.timeout
        self._bodies = threading.local()

    def __enter__(self) -> dict[str, SyncHold]:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        holds: dict[str, SyncHold] = {}
        try:
            for lock in self._locks:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                holds[lock.name] = lock._acquire(left)
        except BaseException:
            for hold in reversed(holds.values()):
                hold.release()
            raise
        self._bodies.holds = [*getattr(self._bodies, "holds", []), holds]
        return holds

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        holds = list(reversed(self._bodies.holds.pop().values()))
        for hold in holds:
            hold.release()
        for hold in holds:
            hold.end(error)


_NODES: dict[str, SyncNode] = {}
"""The nodes of this process, by name: what a pickled lock comes back to."""


def _by_name(kind: type[Lock], node: str, name: str, settings: dict[str, Any]) -> SyncLock:
    """A lock unpickled: it belongs to the node of that name in this process."""
    if node not in _NODES:
        raise NodeClosed(f"no node {node!r} runs in this process; start it before unpickling its locks")
    here = _NODES[node]
    return SyncLock(here, kind(here.node, name, **settings), None)


async def _close(node: Node) -> None:
    """Close it, and let all that was begun in its loop come to its end, so that no thread waits for ever."""
    await node.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


def _me() -> object:
    return threading.current_thread()


def new_loop() -> asyncio.AbstractEventLoop:
    """The fastest event loop that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
