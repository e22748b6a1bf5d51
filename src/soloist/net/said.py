"""What nodes, clients and locks say of themselves, at a prompt and in a log: who they are, and in which state. Nobody is asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from soloist.net.client.client import Client
    from soloist.net.lock import Lock
    from soloist.net.node import Node
    from soloist.net.several import Locks
    from soloist.net.sync_lock import SyncLock, SyncLocks
    from soloist.net.threaded import Threaded


def of_node(node: Node) -> str:
    return f"<Node {node.name!r} of cluster {node.beginning.who.cluster!r}: {_state(node)}>"


def of_client(client: Client) -> str:
    return f"<Client {client.name!r}: {_state(client)}>"


def of_threaded(threaded: Threaded[Any]) -> str:
    inner = threaded._node
    return (
        f"<{type(threaded).__name__} {threaded.name!r}: {'not running' if inner is None else _state(inner)}>"
    )


def _state(inner: Node | Client) -> str:
    if inner.forked:
        return "of the parent of this process"
    if inner.closed:
        return "closed"
    if not inner.started:
        return "not started"
    return _with(inner) if inner.what == "client" else _among(inner)


def _among(node: Any) -> str:
    return f"members {', '.join(node.members)}" if node.epoch else "the cluster has not begun"


def _with(client: Any) -> str:
    welcome = client.contact.welcome if client.contact.line else None
    return f"at node {welcome.node!r}" if welcome else "looks for a node"


def of_lock(lock: Lock | SyncLock) -> str:
    """`<Semaphore 'gpu' of 3 at node 'a'>`"""
    inner = cast("Lock", getattr(lock, "_lock", lock))
    size = f" of {inner.capacity}" if inner.kind == "semaphore" else ""
    return f"<{type(lock).__name__} {inner.name!r}{size} at {inner.node.what} {inner.node.name!r}>"


def of_locks(locks: Locks | SyncLocks) -> str:
    inner = cast("Locks", getattr(locks, "_locks", locks))
    names = ", ".join(repr(each.name) for each in inner.locks)
    node = inner.locks[0].node
    return f"<{type(locks).__name__} {names} at {node.what} {node.name!r}>"
