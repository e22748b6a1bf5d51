"""A process that means harm at a node's port for clients. It says in the end how much it has done, as JSON.

python -m tests.net.client.hostile '{"where": "127.0.0.1:7500", "frames": 1000, …}'
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import ssl
import sys
from contextlib import suppress
from typing import Any

from soloist.net import TLS
from soloist.net.client.greeting import Credentials, Greeting
from soloist.net.errors import NodeClosed
from soloist.net.link.wire import Frames, encode, frame
from soloist.net.service.dialogue import (
    VERSION,
    Acquire,
    AskBreak,
    AskHolders,
    AskInspect,
    AskStatus,
    Hello,
    Leave,
    Proof,
    Release,
    Renew,
)

AT_A_TIME = 20
BATCH = 200
"""Frames over one connection, unless the node has enough of them before."""
SECONDS = 5.0
BEGINNINGS = (b"", b"\0", b"\0\0\0", b"\0\0\xff\xff", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n")


class Hostile:
    def __init__(self, asked: dict[str, Any]) -> None:
        host, _, port = asked["where"].rpartition(":")
        self.host, self.port = host, int(port)
        self.frames, self.crowd = asked["frames"], asked["connections"]
        self.who = Credentials("hostile", "evil", asked["secret"].encode())
        self.chance = random.Random(asked["seed"])
        self.tls: ssl.SSLContext | None = None
        if asked["tls"]:
            self.tls = TLS(*asked["tls"]).client()
            self.tls.check_hostname = False
        self.done = {"frames": 0, "connections": 0, "admitted": 0}
        self.wrong: dict[str, int] = {}

    async def run(self) -> None:
        crowd = [await self.idle() for _ in range(self.crowd)]
        await asyncio.gather(*(self.work() for _ in range(AT_A_TIME)))
        for _, writer in filter(None, crowd):
            writer.close()

    async def idle(self) -> Any:
        """Somebody who comes, begins a word perhaps, and stays."""
        try:
            found = await asyncio.open_connection(self.host, self.port)
        except OSError as error:
            self.wrong[str(error)] = self.wrong.get(str(error), 0) + 1
            return None
        found[1].write(self.chance.choice(BEGINNINGS))
        self.done["connections"] += 1
        return found

    async def work(self) -> None:
        while self.done["frames"] < self.frames:
            with suppress(OSError, NodeClosed, TimeoutError, EOFError):
                async with asyncio.timeout(SECONDS):
                    await (self.as_client() if self.chance.random() < 0.5 else self.as_stranger())

    async def connect(self, cipher: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = self.tls if cipher else None
        return await asyncio.open_connection(
            self.host, self.port, ssl=tls, server_hostname=self.host if tls else None
        )

    async def as_stranger(self) -> None:
        """Junk, frames of junk, and what has its place elsewhere."""
        reader, writer = await self.connect(self.chance.random() < 0.5)
        try:
            for _ in range(self.chance.randrange(1, 20)):
                writer.write(self.chance.choice([self.junk, self.framed_junk, self.out_of_place])())
                self.done["frames"] += 1
            await writer.drain()
            await reader.read(4096)
        finally:
            writer.close()

    async def as_client(self) -> None:
        """With a name and its secret, and much to ask; it reads no answer."""
        reader, writer = await self.connect(True)
        try:
            greeting, frames = Greeting(self.who, "there", self.chance.randbytes(16)), Frames()
            writer.write(greeting.hello())
            while greeting.welcome is None:
                for body in frames.feed(await reader.read(65536) or _end()):
                    writer.write(greeting.heard(body))
            self.done["admitted"] += 1
            for number in range(1, BATCH):
                writer.write(self.question(number))
                self.done["frames"] += 1
                await writer.drain()
            writer.write(self.chance.choice([b"", self.junk()]))
            await writer.drain()
        finally:
            writer.transport.abort()

    def junk(self) -> bytes:
        return self.chance.randbytes(self.chance.randrange(1, 200))

    def framed_junk(self) -> bytes:
        return frame(self.junk())

    def out_of_place(self) -> bytes:
        nonce = self.chance.randbytes(16)
        hello = Hello(VERSION, "x" * 1000, nonce, tuple(range(1000)), -1.0, nonce=nonce, client="shop")
        said = [hello, Hello(99), Hello(VERSION, pulse=True), Proof(nonce), Acquire(1, "held-0"), Renew(7)]
        return frame(encode(self.chance.choice(said)))

    def question(self, number: int) -> bytes:
        name = self.chance.choice(["x", "held-0", f"evil-{self.chance.randrange(10**6)}", "\0" * 900])
        said = [
            Acquire(number, name),
            Acquire(number, name, timeout=0.0),
            Acquire(number, name, timeout=0.01),
            Acquire(number, name, self.chance.choice([-1, 0, 3, 10**9]), permits=2),
            Acquire(number, name, on_holder_loss="hold", lock_delay=1e300),
            Release(self.chance.randrange(1, number + 1)),
            AskHolders(number),
            AskInspect(number, name),
            AskStatus(number),
            AskBreak(number, "held-0"),
            Leave(number),
        ]
        return frame(encode(self.chance.choice(said)))


def _end() -> bytes:
    raise EOFError


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    hostile = Hostile(json.loads(sys.argv[1]))
    asyncio.run(hostile.run())
    print(json.dumps({**hostile.done, "wrong": hostile.wrong}))
