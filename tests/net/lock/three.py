"""What has locks: nodes in memory, and clients of each of them, on their host and elsewhere. The same tests are for all."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.net import Client, Node
from soloist.net.link.security import address
from soloist.net.service.client_port import ClientPort
from soloist.net.service.control import ControlServer
from soloist.net.service.door import opened
from soloist.testing import memory_cluster, ports
from tests.net.helpers import NODE_OF, assert_at_rest, begun, eventually, run, settled

HOMES = ["node", "connect", "elsewhere"]
"""Nodes themselves; clients through the socket of a daemon, or through its port, with a session of their own."""
SESSION = 600.0
Test = Callable[[list[Any]], Awaitable[None]]

everywhere = pytest.mark.parametrize("home", HOMES)


def on_three_nodes(test: Test) -> Callable[..., None]:
    """Run a test on three nodes in memory, and on a client of each; nothing may be left at the end."""

    async def body(home: str) -> None:
        async with homes(home) as found:
            await test(found)

    @everywhere
    def wrapper(home: str) -> None:
        run(body(home))

    wrapper.__name__, wrapper.__doc__ = test.__name__, test.__doc__
    return wrapper


@asynccontextmanager
async def homes(home: str, names: str = "abc", **options: Any) -> AsyncIterator[list[Any]]:
    """Nodes in memory, or a client of each; nothing may be left at the end."""
    async with memory_cluster(names, **options) as nodes:
        await begun(*nodes)
        if home == "node":
            yield nodes
        else:
            async with clients_of(nodes, home) as clients:
                yield clients
        alive = [node for node in nodes if not node.closed]
        await settled(alive)
        assert_at_rest(alive)


@asynccontextmanager
async def clients_of(nodes: list[Node], home: str = "connect") -> AsyncIterator[list[Client]]:
    """A client of each, through a socket, as of a daemon."""
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="soloist-"))
        clients = []
        where = stack.enter_context(ports(*(node.name for node in nodes)))
        for node in nodes:
            server = ControlServer(node, "t", {})
            stack.push_async_callback(server.close)
            if home == "connect":
                path = Path(directory, node.name)
                await server.start(path)
                url = f"unix:{path}"
            else:
                url = f"soloist://{where[node.name]}"
                server.enter_by(await opened(server, ClientPort(address(where[node.name]), SESSION)))
            client = await stack.enter_async_context(Client(url))
            NODE_OF[client] = node
            clients.append(client)
        yield clients
        for client in clients:
            await eventually(lambda client=client: not client.desk.granted, "all is given back")  # type: ignore[misc]
