"""A proxy between two nodes that breaks what passes through it. Loopback only.

It cuts connections at any byte, holds bytes back, or stops to answer; the nodes must not notice more than a pause.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any


class FaultProxy:
    """Listens at an address of its own, and passes on to another."""

    def __init__(self, target: tuple[str, int], seed: int) -> None:
        self.target = target
        self.random = random.Random(seed)
        self.server: asyncio.Server | None = None
        self.live: set[asyncio.Transport] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.cuts = 0
        self.accepted = 0
        self.budget: int | None = None
        """Bytes that may still pass before everything is cut; None: no limit."""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.server = await asyncio.start_server(self._serve, host, port)

    async def close(self) -> None:
        assert self.server
        self.server.close()
        while self.tasks:
            self.cut()
            await asyncio.sleep(0.001)

    def cut(self) -> None:
        """Reset every connection, whatever is in flight."""
        self.cuts += bool(self.live)
        self.budget = None
        for transport in list(self.live):
            transport.abort()

    def cut_after(self, size: int) -> None:
        """Let so many more bytes pass, then cut: in the middle of a frame, as likely as not."""
        self.budget = size

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        self.accepted += 1
        try:
            there_reader, there_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            self.tasks.discard(task)
            return
        ends = {writer.transport, there_writer.transport}
        self.live |= ends
        try:
            await asyncio.gather(self._pump(reader, there_writer), self._pump(there_reader, writer))
        finally:
            for end in ends:
                end.abort()
            self.live -= ends
            self.tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(self.random.choice((1, 7, 64, 4096))):
                if self.budget is not None:
                    data = data[: self.budget]
                    self.budget -= len(data)
                writer.write(data)
                if self.budget == 0:
                    await asyncio.sleep(0)  # what was let through leaves first
                    self.cut()
                    return
        except OSError:
            pass
        finally:
            writer.transport.abort()
