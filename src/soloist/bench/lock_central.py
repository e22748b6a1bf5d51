"""The least that a lock server in Python can cost: one queue per name, first come first served, over TCP.

It is no product, but a yardstick: no authentication, no fence, no reconnection. To acquire takes one round
trip, to release one message, so a hand-off takes two hops: from the holder to the server, and on to the next.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import cast

GRANTED = b"\n"


class Server(asyncio.Protocol):
    """One client's connection. A line is `+name` or `-name`; a grant is an empty line."""

    def __init__(self, queues: dict[bytes, deque[Server]]) -> None:
        self.queues = queues
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.wire = cast(asyncio.Transport, transport)  # uvloop's are of another class

    def data_received(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"+"):
                self.acquire(line[1:])
            else:
                self.release(line[1:])

    def acquire(self, name: bytes) -> None:
        queue = self.queues.setdefault(name, deque())
        queue.append(self)
        if len(queue) == 1:
            self.wire.write(GRANTED)

    def release(self, name: bytes) -> None:
        queue = self.queues[name]
        queue.popleft()
        if queue:
            queue[0].wire.write(GRANTED)


class Reader(asyncio.Protocol):
    """How a client reads: as most programs do."""

    granted: asyncio.Future[None]

    def data_received(self, data: bytes) -> None:
        self.granted.set_result(None)


class BufferedReader(asyncio.BufferedProtocol):
    """The same, always into the same few bytes: asyncio then takes no new memory for each read."""

    granted: asyncio.Future[None]

    def __init__(self) -> None:
        self.buffer = bytearray(4096)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.granted.set_result(None)


class Client:
    """The other end, for one task."""

    reads: type[Reader | BufferedReader] = Reader

    def __init__(self, where: str, name: str) -> None:
        self.port = int(where)
        self.ask, self.give_back = f"+{name}\n".encode(), f"-{name}\n".encode()
        self.reader = self.reads()

    async def open(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.wire, _ = await self.loop.create_connection(lambda: self.reader, "127.0.0.1", self.port)

    async def acquire(self) -> None:
        granted = self.reader.granted = self.loop.create_future()
        self.wire.write(self.ask)
        await granted

    async def release(self, held: None) -> None:
        self.wire.write(self.give_back)

    async def close(self) -> None:
        self.wire.close()


class BufferedClient(Client):
    """The other end again, tuned."""

    reads = BufferedReader


async def serve(port: int) -> None:
    queues: dict[bytes, deque[Server]] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Server(queues), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[2] == "uvloop":
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serve(int(sys.argv[1])))
