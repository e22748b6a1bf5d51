"""Real locks and semaphores between processes and machines, without a lock server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soloist.net.errors import (
    AcquireTimeout,
    ConfigMismatch,
    LockError,
    LockLost,
    NodeClosed,
    NoQuorum,
    NotOwned,
    WouldDeadlock,
)
from soloist.net.guard import FenceGuard, StaleFence
from soloist.net.leader import Leader
from soloist.net.link.security import TLS
from soloist.net.link.transport import MemoryHub
from soloist.net.lock import Hold, Lock, Locks, RLock, Semaphore
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.node import Inspection, Node
from soloist.net.protocols import AsyncLockLike, HoldLike, LockLike

if TYPE_CHECKING:
    from soloist.net.sync import SyncHold, SyncLeader, SyncLock, SyncLocks, SyncNode

__all__ = [
    "TLS",
    "AcquireTimeout",
    "AsyncLockLike",
    "ConfigMismatch",
    "Etcd",
    "FenceGuard",
    "Hold",
    "HoldLike",
    "Inspection",
    "Leader",
    "Lock",
    "LockError",
    "LockLike",
    "LockLost",
    "Locks",
    "MemoryHub",
    "NoQuorum",
    "Node",
    "NodeClosed",
    "NotOwned",
    "RLock",
    "Semaphore",
    "StaleFence",
    "SyncHold",
    "SyncLeader",
    "SyncLock",
    "SyncLocks",
    "SyncNode",
    "WouldDeadlock",
]


def __getattr__(name: str) -> Any:
    """What threads use is loaded when somebody wants it: a program of asyncio starts sooner."""
    if not (name in __all__ and name.startswith("Sync")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from soloist.net import sync

    value = globals()[name] = getattr(sync, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
