"""A client process of the lock benchmark: takes jobs from its pipe, one after another, and reports.

For each job it connects, says that it is ready, waits for the word, works until the time that all were given,
reports what it did, and stays connected until it is told to stop: a node of ours serves its peers meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from mmap import mmap
from multiprocessing.connection import Connection
from time import monotonic_ns as clock
from typing import Any, Literal, cast

import msgspec

from soloist.bench.ablation import without
from soloist.bench.lock_peers import PEERS, Caller
from soloist.net import Hold, Lock, Node

NANOSECONDS = 1_000_000_000
MESSAGE_BYTES = 64

Role = Literal["pair", "contend", "hold", "rare", "idle", "ping", "pong"]
TURN_NANOSECONDS = 2_000_000
"""Nanoseconds between two who ask rarely: long after the one has left, the next one asks."""


class Job(msgspec.Struct, frozen=True):
    """What one process is to do.

    pair     take the lock and give it back, alone, and time each pair
    contend  take the lock and give it back at once, again and again
    hold     hold the lock for a while, so that the other is waiting when it is given back; ask again when it
             has it
    rare     take the lock, give it back and let all others do so, each at a time of its own; time each entry
    idle     be there, and no more
    ping     send a message now and then
    pong     receive these
    """

    role: Role
    system: str
    where: str
    """The server's port; for a node of ours its name; for ping and pong the port."""
    lock: str = "bench"
    nodes: dict[str, str] = {}
    value: int = 1
    """Of a semaphore; 1 is a lock."""
    tasks: int = 1
    locality: int = 1
    shortcut: bool = True
    lease: float | None = None
    data: str | None = None
    """Where a node with a lease keeps what it must not forget."""
    without: tuple[str, ...] = ()
    """Parts of our nodes that are switched off: see `soloist.bench.ablation`."""
    hold_seconds: float = 0.0
    turn: str = ""
    """A file that says who had the lock last."""
    number: int = 0


class Go(msgspec.Struct, frozen=True):
    """From when until when, on the clock that all processes of a machine share (nanoseconds)."""

    begin: int
    end: int


class Done(msgspec.Struct):
    """What a process did: visits (from, to) of each of its tasks, or how long things took (nanoseconds)."""

    end: int = 0
    """When it was to end."""
    visits: list[list[tuple[int, int]]] = []
    durations: list[int] = []
    messages: int = 0
    """Sent by a node of ours."""


class Ours:
    """One caller of a lock of ours: nothing in between."""

    release = staticmethod(Hold.release)

    def __init__(self, lock: Lock) -> None:
        self.acquire = lock.acquire


class Wire(asyncio.BufferedProtocol):
    """The least that a message can cost with an event loop: its time of departure, padded."""

    def __init__(self) -> None:
        self.buffer = bytearray(MESSAGE_BYTES)
        self.durations: list[int] = []
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are of another class

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.durations.append(clock() - int.from_bytes(self.buffer[:8], "big"))

    def send(self) -> None:
        assert self.transport
        self.transport.write(clock().to_bytes(8, "big").ljust(MESSAGE_BYTES, b"\0"))


class Worker:
    """One process. Whatever it is given to do, it does in one event loop."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.loop = asyncio.get_running_loop()

    async def run(self) -> None:
        while job := await self.hear():
            if job.role == "ping":
                await self.ping(job)
            elif job.role == "pong":
                await self.pong(job)
            else:
                await self.use(job)

    async def hear(self) -> Any:
        return await self.loop.run_in_executor(None, self.pipe.recv)

    async def measured(self, work: Callable[[Go], Awaitable[Done]]) -> None:
        """Be ready, wait for the word, work, report, and wait for the end."""
        self.pipe.send("ready")
        go: Go = await self.hear()
        await asyncio.sleep((go.begin - clock()) / NANOSECONDS)
        done = await work(go)
        done.end = go.end
        await self.loop.run_in_executor(None, self.pipe.send, done)  # a node serves its peers meanwhile
        await self.hear()

    async def use(self, job: Job) -> None:
        if job.nodes:
            with without(job.without):
                await self._use_node(job)
            return
        client = next(peer for peer in PEERS if peer.name == job.system).client(job.where, job.lock)
        await client.open()
        await self.measured(partial(use, job, [client]))
        await client.close()

    async def _use_node(self, job: Job) -> None:
        node = Node(
            job.where,
            job.nodes,
            algorithm=job.system if job.value == 1 else None,
            semaphore_algorithm=job.system if job.value > 1 else None,
            locality=job.locality,
            shortcut=job.shortcut and "shortcut" not in job.without,
            lease=job.lease,
            data_dir=job.data,
        )
        async with node:
            while node.missing() or not node.epoch:
                await asyncio.sleep(0.01)
            callers = [Ours(_lock(node, job)) for _ in range(job.tasks)]

            async def work(go: Go) -> Done:
                done = await use(job, callers, go)
                done.messages = node.stats.messages_sent
                return done

            await self.measured(work)

    async def pong(self, job: Job) -> None:
        wire = Wire()
        server = await self.loop.create_server(lambda: wire, "127.0.0.1", int(job.where))

        async def work(go: Go) -> Done:
            await asyncio.sleep((go.end - clock()) / NANOSECONDS)
            return Done(durations=wire.durations)

        await self.measured(work)
        server.close()
        if wire.transport:
            wire.transport.abort()

    async def ping(self, job: Job) -> None:
        wire = Wire()
        while not wire.transport:
            with contextlib.suppress(OSError):
                await self.loop.create_connection(lambda: wire, "127.0.0.1", int(job.where))
            await asyncio.sleep(0.01)

        async def work(go: Go) -> Done:
            while clock() < go.end:
                wire.send()
                await asyncio.sleep(job.hold_seconds)
            return Done()

        await self.measured(work)
        wire.transport.abort()


def _lock(node: Node, job: Job) -> Lock:
    return node.lock(job.lock) if job.value == 1 else node.semaphore(job.lock, job.value)


async def use(job: Job, callers: Sequence[Caller], go: Go) -> Done:
    if job.role == "idle":
        return Done()
    if job.role == "pair":
        return Done(durations=await pairs(callers[0], go.end))
    if job.role == "hold":
        return Done(visits=[await hand_offs(callers[0], go.end, job)])
    if job.role == "rare":
        return await rarely(callers[0], go, job)
    return Done(visits=await asyncio.gather(*(visits(each, go.end) for each in callers)))


async def pairs(caller: Caller, end: int) -> list[int]:
    """How long it takes to take the lock and give it back. Two at a time: ours looks around every other time.

    Once at least: on a busy machine the time may be over before this process gets a turn.
    """
    durations: list[int] = []
    while (began := clock()) < end or not durations:
        await caller.release(await caller.acquire())
        await caller.release(await caller.acquire())
        durations.append((clock() - began) // 2)
    return durations


async def visits(caller: Caller, end: int) -> list[tuple[int, int]]:
    """From when until when the lock was held, again and again."""
    found = []
    while clock() < end:
        held = await caller.acquire()
        entered = clock()
        left = clock()
        await caller.release(held)
        found.append((entered, left))
    return found


async def rarely(caller: Caller, go: Go, job: Job) -> Done:
    """How long it takes to enter where all ask in turn: nobody is inside, and what was needed may be elsewhere."""
    done = Done(durations=[], visits=[[]])
    at = go.begin + job.number * TURN_NANOSECONDS
    while at < go.end:
        await asyncio.sleep((at - clock()) / NANOSECONDS)
        asked = clock()
        held = await caller.acquire()
        entered = clock()
        await caller.release(held)
        done.durations.append(entered - asked)
        done.visits[0].append((entered, clock()))
        at += len(job.nodes) * TURN_NANOSECONDS
    return done


async def hand_offs(caller: Caller, end: int, job: Job) -> list[tuple[int, int]]:
    """The same, held for a while, and by turns: the one that had it asks again when the other has it."""
    found = []
    with open(job.turn, "r+b") as file, mmap(file.fileno(), 1) as turn:
        while clock() < end:
            held = await caller.acquire()
            entered = clock()
            turn[0] = job.number
            await asyncio.sleep(job.hold_seconds)
            left = clock()
            await caller.release(held)
            found.append((entered, left))
            while turn[0] == job.number and clock() < end:
                await asyncio.sleep(0.001)
    return found


def run(loop: str, pipe: Connection) -> None:
    """The process."""
    if loop == "uvloop":
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

    async def work() -> None:
        await Worker(pipe).run()

    asyncio.run(work())
