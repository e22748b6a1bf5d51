"""Locks and holds as threads see them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from soloist.core import UsageError
from soloist.net.arguments import check_timeout
from soloist.net.bodies import Bodies, Body, Place, here
from soloist.net.errand import Errand
from soloist.net.errors import AcquireTimeout, LockLost, NodeClosed, NotOwned
from soloist.net.hold import Hold
from soloist.net.lock import Lock
from soloist.net.losses import tell
from soloist.net.said import of_lock, of_locks
from soloist.net.several import Locks
from soloist.net.shown import Shown

if TYPE_CHECKING:
    from soloist.net.threaded import Threaded

P = ParamSpec("P")
R = TypeVar("R")

OnLost = Callable[["SyncHold"], None]


class SyncHold(Shown):
    """One grant, for threads."""

    _shown = "check epoch fence lost name note release slot slots valid why"

    def __init__(self, node: Threaded[Any], hold: Hold, on_lost: OnLost | None) -> None:
        """In the loop."""
        self._node, self._hold, self._on_lost = node, hold, on_lost
        self.lost = threading.Event()
        hold.on_lost = self._lose
        hold._task = None  # as in `Errand`: it dies in the loop, and not in the thread
        for ticket in hold._tickets:
            ticket.future = None
        if hold.lost.is_set():  # already
            self._lose(hold)

    def _lose(self, hold: Hold) -> None:
        self.lost.set()
        if self._on_lost:
            tell(self._on_lost, self)

    @property
    def name(self) -> str:
        """The name of its lock."""
        return self._hold.name

    @property
    def fence(self) -> int:
        """Grows from holder to holder, as `Hold.fence`."""
        return self._hold.fence

    @property
    def epoch(self) -> int:
        """As `Hold.epoch`."""
        return self._hold.epoch

    @property
    def slots(self) -> tuple[int, ...]:
        """Which of a semaphore's places are held, as `Hold.slots`."""
        return self._hold.slots

    @property
    def slot(self) -> int | None:
        """The first of them, as `Hold.slot`."""
        return self._hold.slot

    @property
    def note(self) -> str | None:
        """What was said of it, for those who look who holds it."""
        return self._hold.note

    @property
    def valid(self) -> bool:
        """Whether the lock is held at this moment, by this process."""
        return self._hold.valid

    @property
    def why(self) -> str:
        """Why the lock is lost, in words; nothing as long as it is not."""
        return self._hold.why

    def check(self) -> None:
        """Raise `LockLost` if it is not valid any more."""
        self._hold.check()

    def release(self) -> None:
        """Give it back; from any thread, and only the first time counts.

        Interrupted, it is given back all the same.
        """
        try:
            self._release()
        finally:
            self._give_back()

    def _release(self) -> None:
        if self.lost.is_set() or self._hold.released:
            return
        try:
            self._node.call(self._hold.release)
        except NodeClosed:
            self._node._check_process()
            self.lost.wait()  # the node is being closed, and takes the lock away

    def _give_back(self) -> None:
        """Have it released if it is not, without waiting for that. If it is lost, a client's node hears that its body has ended."""
        if self._hold.released:
            return
        with contextlib.suppress(NodeClosed):
            self._node.soon(self._hold.release_now)

    def end(self, error: BaseException | None) -> None:
        """The body has ended: release, and raise `LockLost` if the lock was lost before."""
        self.release()
        if self.lost.is_set():
            raise LockLost(self._hold.why, name=self.name) from error

    def __repr__(self) -> str:
        return repr(self._hold)

    def __reduce__(self) -> Any:
        return self._hold.__reduce__()


class Taking(Errand[None]):
    """The errand of taking locks: what is granted to a thread that has given up is given back."""

    def __init__(
        self,
        node: Threaded[Any],
        take: Callable[[], Coroutine[Any, Any, dict[str, Hold]]],
        on_lost: OnLost | None,
    ) -> None:
        super().__init__(self._take_all)
        self._node, self._take, self._on_lost = node, take, on_lost
        self.holds: dict[str, SyncHold] = {}

    async def _take_all(self) -> None:
        holds = await self._take()
        self.holds = {name: SyncHold(self._node, hold, self._on_lost) for name, hold in holds.items()}

    def withdraw(self) -> None:
        super().withdraw()
        for hold in self.holds.values():
            hold._hold.release_now()


class Entered:
    """What threads enter with `with`.

    The interpreter looks for Ctrl-C when a function begins, when a call into C ends and when a loop turns, not in
    between: a hold is on its way to the caller, or back, only where none of these is, or where somebody would mind.
    """

    def __init__(self, node: Threaded[Any], name: str, on_lost: OnLost | None) -> None:
        if on_lost is not None and not callable(on_lost):
            raise UsageError(f"on_lost must be a function of the hold, or None, not {on_lost!r}")
        self._node, self._on_lost = node, on_lost
        self._bodies: Bodies[dict[str, SyncHold]] = Bodies(name)

    def _take(self, take: Callable[[], Coroutine[Any, Any, dict[str, Hold]]]) -> dict[str, SyncHold]:
        taking = Taking(self._node, take, self._on_lost)
        self._node.run(taking)
        if taking.error is not None:
            raise taking.error
        return taking.holds

    def _enter(
        self, place: Place, take: Callable[[], Coroutine[Any, Any, dict[str, Hold]]]
    ) -> dict[str, SyncHold]:
        me = threading.current_thread()
        body = None
        try:
            body = (place, me, self._take(take))
            self._bodies.enter(body)
        except BaseException:
            if body is not None:
                self._abandon(body)
            raise
        return body[2]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        try:
            body = self._bodies.find(here(), threading.current_thread)
        except NotOwned:
            raise
        except BaseException:
            self._abandon(self._bodies.find(here(), threading.current_thread))
            raise
        try:
            holds = list(reversed(body[2].values()))
            for hold in holds:
                hold.release()
            for hold in holds:
                hold.end(error)
        finally:
            try:
                self._abandon(body)
            except BaseException:
                self._abandon(body)
                raise

    def _abandon(self, body: Body[dict[str, SyncHold]]) -> None:
        """Nothing of it is left, whatever has been done already."""
        for hold in body[2].values():
            hold._give_back()
        self._bodies.left(body)


class SyncLock(Entered, Shown):
    """A lock, reentrant lock or semaphore by name, for threads. It may be shared by many of them."""

    _shown = "acquire locked name release"
    __repr__ = of_lock

    def __init__(self, node: Threaded[Any], lock: Lock, on_lost: OnLost | None) -> None:
        super().__init__(node, lock.name, on_lost)
        self._lock = lock

    @property
    def name(self) -> str:
        """By which all nodes know it."""
        return self._lock.name

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> SyncHold | None:
        """Wait for the lock. None if it was not granted in time; `timeout=0` or `blocking=False` tries once."""
        lock = self._lock
        timeout = lock.timeout if timeout is None else check_timeout(timeout)
        wait = timeout if blocking else 0.0
        try:
            return self._take(functools.partial(_one, lock, wait))[lock.name]
        except AcquireTimeout:
            return None

    def release(self) -> None:
        """Give back the newest hold of this thread."""
        hold = self._node.node.table.held_by(self._lock.instance_name, threading.current_thread())
        if hold is None:
            raise NotOwned(f"this thread does not hold {self.name!r}", name=self.name)
        try:
            self._node.call(hold.release)
        except BaseException:  # interrupted: it is given back all the same
            with contextlib.suppress(NodeClosed):
                self._node.soon(hold.release_now)
            raise

    def locked(self) -> bool:
        """Whether somebody on this node holds it. `inspect` asks all nodes."""
        return self._lock.locked()

    def __enter__(self) -> SyncHold:
        lock = self._lock
        return self._enter(here(), functools.partial(_one, lock, lock.timeout))[lock.name]

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


class SyncLocks(Entered):
    """Several locks, all or none, for threads: `with` gives the holds, by the names of their locks."""

    __repr__ = of_locks

    def __init__(self, node: Threaded[Any], locks: Locks, on_lost: OnLost | None) -> None:
        super().__init__(node, locks.name, on_lost)
        self._locks = locks

    def __enter__(self) -> dict[str, SyncHold]:
        return self._enter(here(), self._locks.take)


async def _one(lock: Lock, timeout: float | None) -> dict[str, Hold]:
    return {lock.name: await lock.acquire_or_raise(timeout)}


def _by_name(kind: type[Lock], node: str, name: str, settings: dict[str, Any]) -> SyncLock:
    """A lock unpickled: it belongs to the node of that name in this process."""
    from soloist.net.threaded import local_node

    ours = local_node(node)
    return SyncLock(ours, kind(ours.node, name, **settings), None)
