"""A worker: one node in a process of its own, that does what it is told, before the eyes of a witness."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from soloist.net import Hold, Lock, LockError, Node
from soloist.net.telemetry.recording import TraceRecorder
from soloist.testing.clusters import connected
from soloist.testing.testimony import Testimony
from soloist.testing.witness import Statement

# What it can be told. `None` closes its node and ends it; an answer follows to everything else but HALT.

MEET = "meet"
"""Wait until no peer is missing."""
MESSAGES = "messages"
"""How many its node has sent."""
HALT = "halt"
"""Enter no more, although the job says so."""
HELD = "held"
"""For each lock that it took by `Grab` and has not given back: its fence, or in words why it is lost."""


class Contend(msgspec.Struct, frozen=True):
    """Take a lock or semaphore again and again; each visit is told to the witness. The answer is `Done`."""

    lock: str
    capacity: int = 1
    entries: int | None = 1
    """None: until HALT."""
    inside: float = 0.0
    """Seconds to stay."""
    timeout: float | None = None


class Done(msgspec.Struct, frozen=True):
    """What came of it."""

    waits: list[float]
    """Seconds from asking until entering, of each entry."""
    losses: int


class Grab(msgspec.Struct, frozen=True):
    """Take these locks, all at once, and keep them. The answer says for each its fence, or the error in words."""

    locks: tuple[str, ...]
    timeout: float | None = None


class Free(msgspec.Struct, frozen=True):
    """Give these back. The answer says for each the fence that it was held with."""

    locks: tuple[str, ...]


class Do(msgspec.Struct, frozen=True):
    """Await `work(worker, *arguments)`, a function that can be imported; the answer is what that gives."""

    work: Callable[..., Awaitable[Any]]
    arguments: tuple[Any, ...] = ()


def work(
    name: str,
    peers: Mapping[str, str],
    options: Mapping[str, Any],
    witness: tuple[str, int] | None,
    before: Callable[[], None] | None,
    traces: str | None,
    pipe: Connection,
) -> None:
    """The process. It says its name when its node is started; `before` is called before there is one.

    Without a witness nobody is told of its visits. With `traces` it records itself there.
    """
    if before:
        before()

    async def main() -> None:
        testimony = await Testimony.to(witness) if witness else None
        told = None if "join" in options else dict(peers)
        node = Node(name, told, **options)
        recorder = TraceRecorder(name, Path(traces) / f"{name}.jsonl") if traces else None
        if recorder:
            node.observers.append(recorder)
        async with node:
            pipe.send(name)
            await Worker(node, testimony, pipe).serve()
        if recorder:
            recorder.close()
        if testimony:
            await testimony.close()

    asyncio.run(main())


class Worker:
    """What a function that is given to `Do` may use: the node, and the holds by the names of their locks."""

    def __init__(self, node: Node, testimony: Testimony | None, pipe: Connection) -> None:
        self.node, self.testimony, self.pipe = node, testimony, pipe
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.halted = asyncio.Event()
        self.holds: dict[str, Hold] = {}
        # The node goes on serving its peers while it waits to be told what to do next.
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._hear)

    def _hear(self) -> None:
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            said = None
        if said == HALT:
            self.halted.set()
        else:
            self.told.put_nowait(said)
        if said is None:
            self.halted.set()
            asyncio.get_running_loop().remove_reader(self.pipe.fileno())

    async def serve(self) -> None:
        """Do what is told, one thing after the other, until told to stop."""
        while (command := await self.told.get()) is not None:
            self.pipe.send(await self._do(command))

    async def _do(self, command: object) -> object:
        if isinstance(command, Contend):
            return await self._contend(command)
        if isinstance(command, Grab):
            found = await asyncio.gather(*(self._grab(lock, command.timeout) for lock in command.locks))
            return dict(zip(command.locks, found, strict=True))
        if isinstance(command, Free):
            return {lock: await self._free(lock) for lock in command.locks}
        if isinstance(command, Do):
            return await command.work(self, *command.arguments)
        if command == HELD:
            return {lock: _state(hold) for lock, hold in self.holds.items()}
        if command == MEET:
            await connected(self.node)
            return MEET
        if command == MESSAGES:
            return self.node.stats.messages_sent
        raise ValueError(f"a worker cannot be told {command!r}")

    async def _tell(self, statement: Statement) -> None:
        if self.testimony:
            await self.testimony.give(statement)

    async def _contend(self, job: Contend) -> Done:
        node = self.node
        lock: Lock = node.lock(job.lock) if job.capacity == 1 else node.semaphore(job.lock, job.capacity)
        self.halted.clear()
        waits: list[float] = []
        losses = 0
        while not self.halted.is_set() and (job.entries is None or len(waits) < job.entries):
            asked = time.perf_counter()
            hold = await lock.acquire_or_raise(job.timeout)
            waits.append(time.perf_counter() - asked)
            losses += not await self._visit(hold, job)
            await hold.release()
        return Done(waits, losses)

    async def _visit(self, hold: Hold, job: Contend) -> bool:
        """Whether it was ours to the end."""
        entry = Statement("enter", job.lock, job.capacity, self.node.name, hold.fence, hold.slot)
        await self._tell(entry)
        await asyncio.sleep(job.inside)
        kept = hold.valid
        await self._tell(msgspec.structs.replace(entry, event="exit" if kept else "lost"))
        return kept

    async def _grab(self, lock: str, timeout: float | None) -> int | str:
        try:
            hold = self.holds[lock] = await self.node.lock(lock).acquire_or_raise(timeout)
        except LockError as error:
            return f"{type(error).__name__}: {error}"
        await self._tell(Statement("enter", lock, 1, self.node.name, hold.fence))
        return hold.fence

    async def _free(self, lock: str) -> int:
        hold = self.holds.pop(lock)
        await self._tell(Statement("exit" if hold.valid else "lost", lock, 1, self.node.name, hold.fence))
        await hold.release()
        return hold.fence


def _state(hold: Hold) -> int | str:
    try:
        hold.check()
    except LockError as error:
        return f"{type(error).__name__}: {error}"
    return hold.fence
