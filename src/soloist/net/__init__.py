"""Real locks and semaphores between processes and machines, without a lock server."""

from __future__ import annotations

from importlib import import_module
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
from soloist.net.lock import Hold, Lock, RLock, Semaphore
from soloist.net.member.etcd.endpoints import Etcd
from soloist.net.node import Inspection, Node
from soloist.net.protocols import AsyncLockLike, AsyncNodeLike, HoldLike, LockLike, NodeLike
from soloist.net.several import Locks

if TYPE_CHECKING:
    from soloist.net.client.client import Client
    from soloist.net.client.connect import connect, connect_sync
    from soloist.net.client.sync import SyncClient
    from soloist.net.sync import SyncHold, SyncLeader, SyncLock, SyncLocks, SyncNode

__all__ = [
    "TLS",
    "AcquireTimeout",
    "AsyncLockLike",
    "AsyncNodeLike",
    "Client",
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
    "NodeLike",
    "NotOwned",
    "RLock",
    "Semaphore",
    "StaleFence",
    "SyncClient",
    "SyncHold",
    "SyncLeader",
    "SyncLock",
    "SyncLocks",
    "SyncNode",
    "WouldDeadlock",
    "connect",
    "connect_sync",
]


_LATER = {
    "Client": "client.client",
    "SyncClient": "client.sync",
    "SyncHold": "sync",
    "SyncLeader": "sync",
    "SyncLock": "sync",
    "SyncLocks": "sync",
    "SyncNode": "sync",
    "connect": "client.connect",
    "connect_sync": "client.connect",
}


def __getattr__(name: str) -> Any:
    """What clients and threads use is loaded when somebody wants it: a node of asyncio starts sooner."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
