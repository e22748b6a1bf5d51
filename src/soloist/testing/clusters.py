"""Clusters in one process: over a hub in memory, or over TCP on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from soloist.core import UsageError
from soloist.net import MemoryHub, Node, registry
from soloist.net.member.fellowship import Fellowship
from soloist.net.member.membership import Membership
from soloist.testing.ports import ports
from soloist.testing.waiting import eventually


def memory_nodes(names: Iterable[str] = "abc", **options: Any) -> list[Node]:
    """Nodes that talk through memory, not started. Options are those of `Node`."""
    names = list(names)
    hub = MemoryHub()
    peers = dict.fromkeys(names, "")
    return [Node(name, peers, transport=hub.transport(name), **options) for name in names]


@asynccontextmanager
async def started(nodes: list[Node]) -> AsyncIterator[list[Node]]:
    """Start all, and close all at the end."""
    async with AsyncExitStack() as stack:
        for node in nodes:
            await stack.enter_async_context(node)
        yield nodes


@asynccontextmanager
async def memory_cluster(names: Iterable[str] = "abc", **options: Any) -> AsyncIterator[list[Node]]:
    """A cluster without sockets: quick, and nothing outside can disturb it."""
    async with started(memory_nodes(names, **options)) as nodes:
        yield nodes


@asynccontextmanager
async def tcp_cluster(
    names: Iterable[str] = "abc", shortcut: bool = False, **options: Any
) -> AsyncIterator[list[Node]]:
    """A cluster whose nodes talk over TCP, although on one machine they could take the shortcut; all connected.

    What they must not forget they keep for as long as this lasts, unless `data_dir` says where.
    """
    names = list(names)
    with ports(*names) as peers, TemporaryDirectory(prefix="cluster-") as folder:

        def node(name: str) -> Node:
            given = {"data_dir": Path(folder, name), **options} if options.get("lease", "auto") else options
            return Node(name, peers, shortcut=shortcut, **given)

        async with started([node(name) for name in names]) as nodes:
            await connected(*nodes)
            yield nodes


async def connected(*nodes: Node) -> None:
    """Wait until none of them misses a peer."""
    await eventually(lambda: not any(node.missing() for node in nodes), "all are connected")


async def crash(node: Node, *others: Node) -> None:
    """Let a node vanish as if its process had been killed: it says nothing more, not even goodbye.

    Those others get the proof of it; without, its lease is waited for, or, where there is none, it is.
    """
    gone = node.beginning
    if not isinstance(gone, Membership | Fellowship):
        raise UsageError(f"{node.name!r} is not started")
    gone.close()
    node.closed, node.usable = True, False
    registry.leave(node)
    await node.transport.close()
    node.forsake()
    for other in others:
        there = other.beginning
        decides = there.council or (there.assembly if isinstance(there, Fellowship) else None)
        if decides is None:
            raise UsageError(f"{other.name!r} is not started")
        decides.dead(gone.who.incarnation, "it crashed")
