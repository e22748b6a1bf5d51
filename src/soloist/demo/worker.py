"""A worker: one node of the cluster in a process of its own, contending for what it is told to."""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection

import msgspec

from soloist.children import obedient
from soloist.demo.witness import Report, Testimony
from soloist.net import Lock, Node


class Job(msgspec.Struct, frozen=True):
    """Enter so many times, and stay inside that long."""

    lock: str
    capacity: int
    entries: int
    inside: float = 0.0


class Done(msgspec.Struct, frozen=True):
    waits: list[float]
    messages: int


def run(name: str, peers: dict[str, str], options: dict[str, str], witness: int, pipe: Connection) -> None:
    """The process: does one job after another until it is told to stop."""
    with obedient():
        asyncio.run(_work(name, peers, options, witness, pipe))


async def _work(
    name: str, peers: dict[str, str], options: dict[str, str], witness: int, pipe: Connection
) -> None:
    loop = asyncio.get_running_loop()
    testimony = await Testimony.to(witness)
    async with Node(name, peers, cluster="demo", shortcut=False, **options) as node:  # type: ignore[arg-type]
        while node.missing():
            await asyncio.sleep(0.01)
        pipe.send("ready")
        # The node must go on serving its peers while this one waits to be told what to do next.
        while job := await loop.run_in_executor(None, pipe.recv):
            before = node.stats.messages_sent
            waits = await _contend(node, job, testimony)
            pipe.send(Done(waits, node.stats.messages_sent - before))
            if await loop.run_in_executor(None, pipe.recv) == "late":  # all are done: what was sent since?
                pipe.send(node.stats.messages_sent - before)
    await testimony.close()


async def _contend(node: Node, job: Job, testimony: Testimony) -> list[float]:
    waits = []
    lock: Lock = node.lock(job.lock) if job.capacity == 1 else node.semaphore(job.lock, job.capacity)
    for _ in range(job.entries):
        asked = time.perf_counter()
        async with lock as hold:
            waits.append(time.perf_counter() - asked)
            await testimony.give(Report("enter", job.lock, job.capacity, node.name, hold.fence))
            await asyncio.sleep(job.inside)
            await testimony.give(Report("exit", job.lock, job.capacity, node.name, hold.fence))
    return waits
