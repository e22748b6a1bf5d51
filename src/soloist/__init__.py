"""Distributed mutual exclusion: written once, simulated, checked, watched and held."""

from soloist.net import (
    TLS,
    AcquireTimeout,
    ConfigMismatch,
    FenceGuard,
    Hold,
    LockError,
    LockLost,
    MemoryHub,
    Node,
    NodeClosed,
    NoQuorum,
    NotOwned,
    StaleFence,
    SyncHold,
    SyncNode,
    WouldDeadlock,
)

__version__ = "0.1.0"

__all__ = [
    "TLS",
    "AcquireTimeout",
    "ConfigMismatch",
    "FenceGuard",
    "Hold",
    "LockError",
    "LockLost",
    "MemoryHub",
    "NoQuorum",
    "Node",
    "NodeClosed",
    "NotOwned",
    "StaleFence",
    "SyncHold",
    "SyncNode",
    "WouldDeadlock",
    "__version__",
]
