"""Distributed mutual exclusion: written once, simulated, checked, watched and held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soloist.net import (
        TLS,
        AcquireTimeout,
        Client,
        ConfigMismatch,
        FenceGuard,
        Hold,
        Leader,
        LockError,
        LockLost,
        MemoryHub,
        Node,
        NodeClosed,
        NoQuorum,
        NotOwned,
        StaleFence,
        SyncClient,
        SyncHold,
        SyncLeader,
        SyncNode,
        WouldDeadlock,
        connect,
        connect_sync,
    )

__version__ = "0.1.0"

__all__ = [
    "TLS",
    "AcquireTimeout",
    "Client",
    "ConfigMismatch",
    "FenceGuard",
    "Hold",
    "Leader",
    "LockError",
    "LockLost",
    "MemoryHub",
    "NoQuorum",
    "Node",
    "NodeClosed",
    "NotOwned",
    "StaleFence",
    "SyncClient",
    "SyncHold",
    "SyncLeader",
    "SyncNode",
    "WouldDeadlock",
    "__version__",
    "connect",
    "connect_sync",
]


def __getattr__(name: str) -> Any:
    """Locks are loaded when somebody wants one: a simulation, or a command that holds none, starts sooner."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from soloist import net

    value = globals()[name] = getattr(net, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
