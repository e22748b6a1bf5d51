"""Three nodes in memory, for tests of locks; and what has locks as they have: clients of each of them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.net import Client, Node
from soloist.net.service.control import ControlServer
from soloist.testing import memory_cluster
from tests.net.helpers import NODE_OF, assert_at_rest, begun, eventually, run, settled

HOMES = ["node", "connect"]
Test = Callable[[list[Any]], Awaitable[None]]


def on_three_nodes(test: Test) -> Callable[..., None]:
    """Run a test on three nodes in memory, and on a client of each; nothing may be left at the end."""

    async def body(home: str) -> None:
        async with memory_cluster() as nodes:
            await begun(*nodes)
            if home == "node":
                await test(nodes)
            else:
                async with clients_of(nodes) as clients:
                    await test(clients)
            alive = [node for node in nodes if not node.closed]
            await settled(alive)
            assert_at_rest(alive)

    @pytest.mark.parametrize("home", HOMES)
    def wrapper(home: str) -> None:
        run(body(home))

    wrapper.__name__, wrapper.__doc__ = test.__name__, test.__doc__
    return wrapper


@asynccontextmanager
async def clients_of(nodes: list[Node]) -> AsyncIterator[list[Client]]:
    """A client of each, through a socket, as of a daemon."""
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="soloist-"))
        clients = []
        for node in nodes:
            server = ControlServer(node, "t", {})
            path = Path(directory, node.name)
            await server.start(path)
            stack.push_async_callback(server.close)
            client = await stack.enter_async_context(Client(f"unix:{path}"))
            NODE_OF[client] = node
            clients.append(client)
        yield clients
        for client in clients:
            await eventually(lambda client=client: not client.desk.granted, "all is given back")  # type: ignore[misc]
