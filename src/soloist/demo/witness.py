"""A witness: a process of its own that is told of every entry and exit, and notes what should not be.

Whoever is inside says so and waits for the answer before it goes on, and again before it leaves. So if the witness ever
counts more than K inside, that many really were; and the order of entries that it sees is real.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Literal

import msgspec

from soloist.children import obedient
from soloist.net.link.wire import Frames, encode, frame


class Report(msgspec.Struct, frozen=True, array_like=True):
    """What a holder tells the witness."""

    event: Literal["enter", "exit"]
    lock: str
    capacity: int
    node: str
    fence: int


class Findings(msgspec.Struct):
    """What the witness has seen of one lock."""

    capacity: int
    entries: int = 0
    most_inside: int = 0
    highest_fence: int = 0
    by_node: dict[str, int] = {}
    problems: list[str] = []


class Witness:
    """The judgement, without I/O."""

    def __init__(self) -> None:
        self.findings: dict[str, Findings] = {}
        self.inside: dict[str, list[str]] = {}

    def hear(self, report: Report) -> None:
        found = self.findings.setdefault(report.lock, Findings(report.capacity, by_node={}, problems=[]))
        inside = self.inside.setdefault(report.lock, [])
        if report.event == "exit":
            inside.remove(report.node)
            return
        inside.append(report.node)
        found.entries += 1
        found.by_node[report.node] = found.by_node.get(report.node, 0) + 1
        found.most_inside = max(found.most_inside, len(inside))
        if len(inside) > found.capacity:
            found.problems.append(f"{', '.join(inside)} are inside together")
        if found.capacity == 1 and report.fence <= found.highest_fence:
            found.problems.append(
                f"{report.node} entered with fence {report.fence} after {found.highest_fence}"
            )
        found.highest_fence = max(found.highest_fence, report.fence)


decode_report = msgspec.msgpack.Decoder(Report).decode


class _Line(asyncio.Protocol):
    """A line from a holder: every report is answered when it has been noted."""

    def __init__(self, hear: Callable[[Report], None]) -> None:
        self.hear = hear
        self.frames = Frames()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for body in self.frames.feed(data):
            self.hear(decode_report(body))
            self.transport.write(b"\x01")


def run(pipe: Connection) -> None:
    """The process: says its port, then the number of entries now and then, and the findings at the end."""

    async def main() -> None:
        witness, finished = Witness(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def asked() -> None:
            try:
                if pipe.recv() == "count":
                    pipe.send(sum(found.entries for found in witness.findings.values()))
                else:
                    finished.set()
            except (EOFError, OSError):  # nobody is there to ask any more
                loop.remove_reader(pipe.fileno())

        server = await loop.create_server(lambda: _Line(witness.hear), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        loop.add_reader(pipe.fileno(), asked)
        await finished.wait()
        loop.remove_reader(pipe.fileno())
        server.close()
        pipe.send(witness.findings)

    with obedient():
        asyncio.run(main())


class Testimony:
    """A holder's line to the witness."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.turn = asyncio.Lock()

    @classmethod
    async def to(cls, port: int) -> Testimony:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def give(self, report: Report) -> None:
        async with self.turn:
            self.writer.write(frame(encode(report)))
            await self.reader.readexactly(1)

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
