"""The same locks for threads: a node with a loop and a thread of its own.

    with SyncNode("a", PEERS) as node:
        with node.lock("orders", timeout=5) as hold:
            ...

A body that runs in a thread cannot be interrupted: if the lock is lost, `hold.lost` is set, `on_lost` is called, and
`LockLost` is raised when the body ends.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

from soloist.net.link.security import TLS
from soloist.net.link.transport import Transport
from soloist.net.member.company import Asked
from soloist.net.member.engines import Endpoints
from soloist.net.node import Node
from soloist.net.sync_leader import SyncLeader
from soloist.net.sync_lock import SyncHold, SyncLock, SyncLocks
from soloist.net.threaded import Threaded, new_loop


class NodeOptions(TypedDict, total=False):
    """What `Node` may be told, besides its name and peers."""

    join: Mapping[str, str] | None
    listen: str
    address: str
    voters: Iterable[str] | None
    voter_only: bool
    algorithm: str
    semaphore_algorithm: str
    cluster: str
    lease: Asked
    etcd: Endpoints | None
    tls: TLS | None
    secret: str | bytes | None
    data_dir: str | None
    transport: Transport | None
    insecure: bool
    locality: int
    shortcut: bool
    sentinel: bool


class SyncNode(Threaded[Node]):
    """A member of a cluster, for threads. Takes what `Node` takes."""

    _shown = "missing"

    def __init__(
        self, name: str, peers: Mapping[str, str] | None = None, **options: Unpack[NodeOptions]
    ) -> None:
        super().__init__(name, functools.partial(Node, name, peers, **options))

    def missing(self) -> list[str]:
        """Members that cannot be reached at this moment."""
        return self.node.missing()


__all__ = ["SyncHold", "SyncLeader", "SyncLock", "SyncLocks", "SyncNode", "new_loop"]
