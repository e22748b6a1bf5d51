"""What locks look like, and what has them, for functions that take any of them: ours, or a stand-in in a test."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from soloist.net.arguments import OnHolderLoss
    from soloist.net.engine.inquiry import Inspection
    from soloist.net.leader import Leader, Told
    from soloist.net.link.wire import LockState
    from soloist.net.lock import Lock, RLock, Semaphore
    from soloist.net.lock import OnLost as AsyncOnLost
    from soloist.net.member.breaks import Broken
    from soloist.net.several import Locks
    from soloist.net.sync_leader import SyncLeader
    from soloist.net.sync_lock import OnLost, SyncLock, SyncLocks


class HoldLike(Protocol):
    """A grant: what its holder may ask of it."""

    @property
    def name(self) -> str: ...

    @property
    def fence(self) -> int: ...

    @property
    def valid(self) -> bool: ...

    def check(self) -> None:
        """Raise `LockLost` if it is not valid any more."""


class AsyncLockLike(Protocol):
    """A lock, reentrant lock or semaphore for asyncio."""

    @property
    def name(self) -> str: ...

    async def acquire(self, blocking: bool = True, timeout: float | None = None) -> HoldLike | None:
        """A hold, or None if it was not had in time."""

    async def release(self) -> None:
        """Give back the caller's own."""

    def locked(self) -> bool:
        """Whether somebody on the caller's node holds it."""

    async def __aenter__(self) -> HoldLike: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class LockLike(Protocol):
    """The same for threads."""

    @property
    def name(self) -> str: ...

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> HoldLike | None:
        """A hold, or None if it was not had in time."""

    def release(self) -> None:
        """Give back the caller's own."""

    def locked(self) -> bool:
        """Whether somebody on the caller's node holds it."""

    def __enter__(self) -> HoldLike: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class AsyncNodeLike(Protocol):
    """A node, or a client of one, for asyncio: a program that takes this runs with either."""

    @property
    def name(self) -> str: ...

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: AsyncOnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> Lock:
        """A lock by name."""

    def rlock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: AsyncOnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> RLock:
        """A lock that its holder may take again."""

    def semaphore(
        self,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: AsyncOnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> Semaphore:
        """At most `value` permits are out at a time."""

    def locks(
        self,
        *names: str,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: AsyncOnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> Locks:
        """Several locks, all or none."""

    async def inspect(self, name: str) -> Inspection:
        """Who holds it, and who waits: asked of all nodes."""

    async def holders(self) -> list[LockState]:
        """All locks that are held or waited for, anywhere."""

    async def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """Take it from its holders, everywhere; it needs a lease."""

    def leader(
        self, name: str, *, note: str | None = None, on_gain: Told | None = None, on_loss: Told | None = None
    ) -> Leader:
        """Lead for as long as the lock of that name is held."""

    async def start(self) -> Self:
        """Begin; `with` does it."""

    async def close(self) -> None:
        """End; what is still held is lost."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class NodeLike(Protocol):
    """The same for threads."""

    @property
    def name(self) -> str: ...

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
        """A lock by name."""

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
        """A lock that its holder may take again."""

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
        """Several locks, all or none."""

    def inspect(self, name: str) -> Inspection:
        """Who holds it, and who waits: asked of all nodes."""

    def holders(self) -> list[LockState]:
        """All locks that are held or waited for, anywhere."""

    def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """Take it from its holders, everywhere; it needs a lease."""

    def leader(
        self, name: str, *, note: str | None = None, on_gain: Told | None = None, on_loss: Told | None = None
    ) -> SyncLeader:
        """Lead for as long as the lock of that name is held."""

    def start(self) -> Self:
        """Begin; `with` does it."""

    def close(self) -> None:
        """End; what is still held is lost."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
