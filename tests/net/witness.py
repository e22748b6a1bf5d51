"""The witness: a process of its own, with one clock, that writes down who enters and who leaves.

A worker says `+` once it holds the lock and `-` before it gives it back, and goes on when the witness has written
that down. So if two intervals overlap in the log, two were inside at once. The witness is also the starter: it
lets all go when all are ready, and lets all leave when all are done (a node that left early would take its token
with it).

    python -m tests.net.witness WORKERS LOG
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO


class Witness:
    def __init__(self, workers: int, log: TextIO) -> None:
        self.workers, self.log = workers, log
        self.ready = asyncio.Barrier(workers)
        self.finished = asyncio.Barrier(workers)
        self.left = 0
        self.over = asyncio.Event()

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                kind, *words = line.decode().split()
                if kind == "ready":
                    await self.ready.wait()
                elif kind == "done":
                    await self.finished.wait()
                else:
                    self.log.write(f"{time.monotonic_ns()} {kind} {' '.join(words)}\n")
                writer.write(b".")
        finally:
            writer.close()
            self.left += 1
            if self.left == self.workers:
                self.over.set()


async def main(workers: int, path: str) -> None:
    with Path(path).open("w", encoding="utf-8") as log:
        witness = Witness(workers, log)
        server = await asyncio.start_server(witness.attend, "127.0.0.1", 0)
        print(json.dumps(server.sockets[0].getsockname()), flush=True)
        await witness.over.wait()
        server.close()


class Testimony:
    """What the log of a witness says."""

    def __init__(self, path: Path) -> None:
        self.entries = 0
        self.exits = 0
        self.most_inside = 0
        self.fences: list[int] = []
        self.by_worker: dict[str, int] = {}
        self.order: list[str] = []
        inside: set[str] = set()
        for line in path.read_text().splitlines():
            _, kind, worker, fence = line.split()
            if kind == "+":
                assert worker not in inside
                inside.add(worker)
                self.entries += 1
                self.fences.append(int(fence))
                self.order.append(worker)
                self.by_worker[worker] = self.by_worker.get(worker, 0) + 1
            else:
                inside.remove(worker)
                self.exits += 1
            self.most_inside = max(self.most_inside, len(inside))

    @property
    def fences_grow(self) -> bool:
        return all(a < b for a, b in zip(self.fences, self.fences[1:], strict=False))


class Link:
    """A worker's line to the witness."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, address: Any) -> Link:
        host, port = address
        return cls(*await asyncio.open_connection(host, port))

    async def say(self, text: str) -> None:
        self.writer.write(f"{text}\n".encode())
        await self.reader.readexactly(1)

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
