"""What nodes and locks say of themselves, at a prompt and in a log: who they are, and in which state. Nobody is asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from soloist.net.lock import Lock, Locks
    from soloist.net.node import Node
    from soloist.net.sync import SyncNode
    from soloist.net.sync_lock import SyncLock, SyncLocks


def of_node(node: Node) -> str:
    return f"<Node {node.name!r} of cluster {node.beginning.who.cluster!r}: {_state(node)}>"


def _state(node: Node) -> str:
    if node.forked:
        return "of the parent of this process"
    if node.closed:
        return "closed"
    if not node.started:
        return "not started"
    if not node.epoch:
        return "the cluster has not begun"
    return f"members {', '.join(node.members)}"


def of_sync_node(node: SyncNode) -> str:
    inner = node._node
    return f"<SyncNode {node.name!r}: {'not running' if inner is None else _state(inner)}>"


def of_lock(lock: Lock | SyncLock) -> str:
    """`<Semaphore 'gpu' of 3 at node 'a'>`"""
    inner = cast("Lock", getattr(lock, "_lock", lock))
    size = f" of {inner.capacity}" if inner.kind == "semaphore" else ""
    return f"<{type(lock).__name__} {inner.name!r}{size} at node {inner.node.name!r}>"


def of_locks(locks: Locks | SyncLocks) -> str:
    inner = cast("Locks", getattr(locks, "_locks", locks))
    names = ", ".join(repr(each.name) for each in inner.locks)
    return f"<{type(locks).__name__} {names} at node {inner.locks[0].node.name!r}>"
