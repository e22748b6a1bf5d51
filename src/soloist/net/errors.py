"""What can go wrong with a lock. Every error carries the lock's name, and its holder where known."""

from __future__ import annotations

from soloist.core import SoloistError


class LockError(SoloistError):
    """The root of all errors of locks and semaphores."""

    def __init__(self, message: str, *, name: str | None = None, holder: str | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.holder = holder


class AcquireTimeout(LockError, TimeoutError):
    """The lock was not granted in the time given. Nothing is held, and the request is withdrawn."""


class LockLost(LockError):
    """The lock is no longer held, though it was not released."""


class NotOwned(LockError, RuntimeError):
    """A release of what the caller does not hold."""


class WouldDeadlock(LockError, RuntimeError):
    """The caller holds this lock already, and would wait for itself. `rlock` allows that."""


class NoQuorum(LockError, ConnectionError):
    """Too few peers can be reached."""


class ConfigMismatch(LockError, ValueError):
    """Two nodes disagree about a lock: its algorithm or its capacity."""


class NodeClosed(LockError, RuntimeError):
    """The node is closed, or belongs to the parent of this process."""
