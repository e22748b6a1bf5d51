"""What public objects say of themselves at a prompt."""

from __future__ import annotations

import asyncio
import re

from soloist import FenceGuard, MemoryHub, Node, SyncNode, connect, connect_sync
from soloist.algorithms import find
from soloist.check import Space, explore, setting
from soloist.core import Port
from soloist.testing import memory_cluster, ports


def test_nodes_and_locks_say_who_they_are() -> None:
    async def main() -> None:
        hub = MemoryHub()
        assert repr(hub) == "<MemoryHub: nobody yet>"
        node = Node("a", {"a": ""}, transport=hub.transport("a"), cluster="orders")
        assert repr(node) == "<Node 'a' of cluster 'orders': not started>"
        async with node:
            assert repr(hub) == "<MemoryHub: a>"
            assert repr(node.lock("x")) == "<Lock 'x' at node 'a'>"
            assert repr(node.rlock("x")) == "<RLock 'x' at node 'a'>"
            assert repr(node.semaphore("gpu", 3)) == "<Semaphore 'gpu' of 3 at node 'a'>"
            assert repr(node.locks("y", "x")) == "<Locks 'x', 'y' at node 'a'>"
            async with node.lock("x") as hold:
                assert repr(hold) == f"<Hold 'x' fence={hold.fence} held>"
            assert repr(hold).endswith("released>")
        assert repr(node) == "<Node 'a' of cluster 'orders': closed>"

    asyncio.run(main())


def test_a_node_names_its_members() -> None:
    async def main() -> None:
        async with memory_cluster("abc") as (a, _, _), a.lock("x"):
            assert repr(a) == "<Node 'a' of cluster 'soloist': members a, b, c>"

    asyncio.run(main())


def test_those_for_threads() -> None:
    with ports("solo") as free:
        node = SyncNode("solo", free)
        assert repr(node) == "<SyncNode 'solo': not running>"
        with node:
            with node.lock("x") as hold:
                assert repr(hold) == f"<Hold 'x' fence={hold.fence} held>"
                assert repr(node) == "<SyncNode 'solo': members solo>"
            assert repr(node.lock("x")) == "<SyncLock 'x' at node 'solo'>"
            assert repr(node.semaphore("gpu", 3)) == "<SyncLock 'gpu' of 3 at node 'solo'>"
            assert repr(node.locks("x", "y")) == "<SyncLocks 'x', 'y' at node 'solo'>"
        assert repr(node) == "<SyncNode 'solo': not running>"


def test_clients() -> None:
    async def main() -> None:
        client = connect("memory:said")
        assert repr(client) == "<Client 'memory:said': not started>"
        async with client:
            assert repr(client) == "<Client 'memory:said': at node 'memory:said'>"
            assert repr(client.lock("x")) == "<Lock 'x' at client 'memory:said'>"
        assert repr(client) == "<Client 'memory:said': closed>"

    asyncio.run(main())
    with connect_sync("memory:said") as threaded:
        assert repr(threaded).startswith("<SyncClient 'memory:said': at node ")


def test_a_guard_says_what_it_has_seen() -> None:
    guard = FenceGuard()
    assert repr(guard) == "<FenceGuard: nothing seen yet>"
    guard.check("orders", 7)
    assert repr(guard) == "<FenceGuard: 'orders' 7>"


def test_a_port_and_a_search() -> None:
    card = find("suzuki-kasami")
    port = Port(card.process.start(1, 3))
    port.acquire()
    assert repr(port) == "<Port of site 1, waiting: SuzukiKasami>"
    graph = explore(Space(setting(card, 2, 1)))
    assert re.fullmatch(
        r"<Graph of <Space of suzuki-kasami, N=2, requests 1,1, channels any>: \d+ states, \d+ transitions, complete>",
        repr(graph),
    )
