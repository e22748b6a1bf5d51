"""The processes of the recovery benchmark: each takes a lock when it is told to, and may be killed while it has it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any, Protocol

from soloist.bench.lock_peers import Postgres, ZooKeeper
from soloist.bench.lock_redis import RedisPy
from soloist.net import Hold, Node
from soloist.testing.namespaces import enter

TTL_SECONDS = 2.0
"""Seconds that a lock in Redis lives, and the lease of ours."""
SESSION_SECONDS = 4.0
"""Seconds of a session of ZooKeeper: twice its tick, which is the least that it grants."""

READY, TAKE, ASKING, GIVE = "ready", "take", "asking", "give"


class Client(Protocol):
    """The caller of the lock. Where a library blocks, so does the coroutine: nobody else is in its process."""

    def open(self) -> Coroutine[Any, Any, None]: ...
    def acquire(self) -> Coroutine[Any, Any, Any]: ...
    def release(self, held: Any) -> Coroutine[Any, Any, None]: ...
    def close(self) -> Coroutine[Any, Any, None]: ...

    def keep(self) -> Coroutine[Any, Any, None]:
        """Called every third of the TTL while the lock is held."""


class Leased:
    """A node of ours."""

    def __init__(self, name: str, peers: dict[str, str], options: dict[str, Any]) -> None:
        self.node = Node(name, peers, **options)

    async def open(self) -> None:
        await self.node.start()
        while not self.node.epoch or self.node.missing():
            await asyncio.sleep(0.005)

    async def acquire(self) -> Hold | None:
        return await self.node.lock("recovery").acquire()

    async def keep(self) -> None:
        """It does so by itself."""

    async def release(self, held: Hold) -> None:
        await held.release()

    async def close(self) -> None:
        await self.node.close()


class PostgresHeld(Postgres):
    async def keep(self) -> None:
        """The connection does."""


class RedisWithTtl(RedisPy):
    """The lock of a client that has died goes when its time is over; one that lives says again that it does."""

    def _lock(self, name: str) -> Any:
        return self.client.lock(name, timeout=TTL_SECONDS)

    async def keep(self) -> None:
        self.lock.reacquire()


class ZooKeeperSession(ZooKeeper):
    def __init__(self, where: str, name: str) -> None:
        from kazoo.client import KazooClient

        self.client = KazooClient(hosts=f"127.0.0.1:{where}", timeout=SESSION_SECONDS)
        self.name = name

    async def keep(self) -> None:
        """A thread of its library does."""


CLIENTS: dict[str, Callable[[str, str], Client]] = {
    "postgresql": PostgresHeld,
    "redis-py": RedisWithTtl,
    "zookeeper": ZooKeeperSession,
}


def be_node(
    name: str, peers: dict[str, str], options: dict[str, Any], namespace: str | None, pipe: Connection
) -> None:
    """The process of a node of ours."""
    if namespace:
        enter(namespace)
    asyncio.run(_serve(lambda: Leased(name, peers, options), pipe))


def be_client(system: str, where: str, pipe: Connection) -> None:
    """The process of a client of somebody else's server."""
    asyncio.run(_serve(lambda: CLIENTS[system](where, "recovery"), pipe))


async def _serve(make: Callable[[], Client], pipe: Connection) -> None:
    """READY once; ASKING before the lock is asked for, and when it was had after that; GIVE is answered, too."""
    client = make()
    await client.open()
    pipe.send(READY)
    held: Any = None
    inside = False
    while True:
        while not await _told(pipe, TTL_SECONDS / 3):
            if inside:
                await client.keep()
        said = pipe.recv()
        if said == TAKE:
            pipe.send(ASKING)
            held = await client.acquire()
            pipe.send(time.monotonic())
            inside = True
        elif said == GIVE:
            await client.release(held)
            inside = False
            pipe.send(GIVE)
        else:
            break
    await client.close()


async def _told(pipe: Connection, seconds: float) -> bool:
    """Whether there is something to hear, at most so much later; what else is in this loop goes on meanwhile."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe.fileno(), told.set)
    try:
        await asyncio.wait_for(told.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(pipe.fileno())
    return True
