"""What a lock protects, as it should be: a store that refuses writers with an older fence than it has seen.

It is outside, and judges by what reaches it: two writers with one fence should not be, nor may anybody be refused whose
hold is good afterwards. That last only the writer knows, and `StoreLine.write` tells it what became of each write.
"""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection

import msgspec

from soloist.net.link.wire import Frames, encode, frame
from soloist.testing.namespaces import enter


class Write(msgspec.Struct, frozen=True, array_like=True):
    """Something is written under a lock."""

    lock: str
    fence: int
    writer: str


class Books(msgspec.Struct):
    """What a store has seen."""

    accepted: int = 0
    refused: int = 0
    """Writes that came too late: somebody with a higher fence had written."""
    problems: list[str] = []


class FencedStore:
    """Remembers the highest fence of each lock, and takes nothing below it. No I/O."""

    def __init__(self) -> None:
        self.books = Books()
        self._last: dict[str, Write] = {}

    def write(self, write: Write) -> bool:
        """Whether it is taken."""
        last = self._last.get(write.lock)
        if last and write.fence == last.fence and write.writer != last.writer:
            self.books.problems.append(
                f"{write.lock}: {last.writer} and {write.writer} both write with fence {write.fence}"
            )
        elif not last or write.fence >= last.fence:
            self._last[write.lock] = write
            self.books.accepted += 1
            return True
        self.books.refused += 1
        return False


_decode_write = msgspec.msgpack.Decoder(Write).decode
TAKEN, REFUSED = b"\x01", b"\x00"


class _Counter(asyncio.Protocol):
    """One writer's connection to the store."""

    def __init__(self, store: FencedStore) -> None:
        self.store, self.frames = store, Frames()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for body in self.frames.feed(data):
            self.transport.write(TAKEN if self.store.write(_decode_write(body)) else REFUSED)


class StoreLine:
    """A writer's way to the store, shared by the tasks of one loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.turn = asyncio.Lock()

    @classmethod
    async def to(cls, where: tuple[str, int]) -> StoreLine:
        return cls(*await asyncio.open_connection(*where))

    async def write(self, write: Write) -> bool:
        """Whether it was taken."""
        async with self.turn:
            self.writer.write(frame(encode(write)))
            return await self.reader.readexactly(1) == TAKEN

    def close(self) -> None:
        """Write no more."""
        self.writer.close()


def keep_store(host: str, namespace: str | None, pipe: Connection) -> None:
    """The store as a process of its own: says where it listens, and shows its `Books` when it is asked."""
    if namespace:
        enter(namespace)
    asyncio.run(_keep_store(host, pipe))


async def _keep_store(host: str, pipe: Connection) -> None:
    store, over = FencedStore(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked() -> None:
        try:
            question = pipe.recv()
        except (EOFError, OSError):  # nobody is there to ask any more
            question = None
        if question is None:
            loop.remove_reader(pipe.fileno())
            over.set()
        else:
            pipe.send(store.books)

    server = await loop.create_server(lambda: _Counter(store), host, 0)
    pipe.send(server.sockets[0].getsockname())
    loop.add_reader(pipe.fileno(), asked)
    await over.wait()
    server.close()
