"""What locks look like, for functions that take any of them: ours, or a stand-in in a test."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol


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
