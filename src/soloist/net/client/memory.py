"""Nodes in this process, by name, for tests: `memory:NAME` is there while somebody is connected.

It is a real node that serves its clients as a daemon does, over pairs of sockets, in a loop of its own.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING

from soloist.net.client.greeting import Greeting
from soloist.net.client.line import GREETING_SECONDS, Line
from soloist.net.errors import NodeClosed
from soloist.net.service.dialogue import Welcome

if TYPE_CHECKING:
    from soloist.net.client.client import Client
    from soloist.net.service.control import ControlServer
    from soloist.net.service.door import Door
    from soloist.net.sync import SyncNode

_MUTEX = threading.Lock()
_HOSTS: dict[tuple[int, str], Host] = {}
"""By process, for the child of a fork has none of them, and name."""


class Host:
    """A node with its loop and its thread, and how many are connected."""

    guests = 0
    server: ControlServer
    door: Door

    def __init__(self, name: str) -> None:
        from soloist.net.link.transport import MemoryHub
        from soloist.net.sync import SyncNode

        node = f"memory:{name}"
        self.node: SyncNode = SyncNode(node, {node: ""}, transport=MemoryHub().transport(node))
        self.node.start()
        self.node.call(self._open)

    async def _open(self) -> None:
        from soloist.net.service.control import LOCAL_LIMITS, ControlServer
        from soloist.net.service.door import Door

        self.server = ControlServer(self.node.node, "memory", {})
        self.door = Door(self.server, LOCAL_LIMITS, self.node.name)
        self.server.enter_by(self.door)

    async def welcome(self, sock: socket.socket) -> None:
        from soloist.net.service.visit import Visit

        await asyncio.get_running_loop().connect_accepted_socket(lambda: Visit(self.door), sock)

    def close(self) -> None:
        self.node.call(self.server.close)
        self.node.close()


class Guest:
    """One client of it."""

    def __init__(self, host: Host, key: tuple[int, str]) -> None:
        self.host, self.key = host, key

    async def dial(self, client: Client, greeting: Greeting) -> tuple[Line, Welcome]:
        ours, theirs = socket.socketpair()
        loop, line = asyncio.get_running_loop(), Line(client, greeting)
        for sock in (ours, theirs):
            sock.setblocking(False)
        await loop.run_in_executor(None, self.host.node.call, partial(self.host.welcome, theirs))
        await loop.create_unix_connection(lambda: line, sock=ours)
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                return line, await line.welcomed
        except TimeoutError:
            raise NodeClosed(f"{greeting.where} does not answer") from None

    async def leave(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, _left, self.key)


async def enter(name: str) -> Guest:
    key = (os.getpid(), name)
    return Guest(await asyncio.get_running_loop().run_in_executor(None, _entered, key), key)


def _entered(key: tuple[int, str]) -> Host:
    with _MUTEX:
        host = _HOSTS.get(key)
        if host is None:
            host = _HOSTS[key] = Host(key[1])
        host.guests += 1
        return host


def _left(key: tuple[int, str]) -> None:
    with _MUTEX:
        host = _HOSTS[key]
        host.guests -= 1
        if not host.guests:
            del _HOSTS[key]
            host.close()
