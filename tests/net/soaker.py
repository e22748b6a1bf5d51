"""A node in a process of its own that asks for everything in every way, before the eyes of a witness, until told to stop.

    python -m tests.net.soaker '{"name": "a", "peers": {…}, "witness": [host, port], "seed": 1, "names": 2000, "threads": false}'

When standard input ends, whoever works finishes; then
each name is taken once more, so that nothing can have been lost; then a line of figures.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import threading
import time
from typing import Any, Literal

from soloist.net import AcquireTimeout, Node, SyncNode
from soloist.testing import BlockingTestimony, Statement

SEMAPHORES, PLACES = 20, 3
Event = Literal["enter", "exit"]
LONG = 120.0
"""Seconds that nobody waits who waits for its turn."""


class Link:
    """To the witness, from one task or thread."""

    def __init__(self, where: tuple[str, int], who: str) -> None:
        self.who = who
        self.testimony = BlockingTestimony(where)

    def tell(self, event: Event, name: str, fence: int, most: int) -> None:
        self.testimony.give(Statement(event, name, most, self.who, fence))


class Figures:
    """What the process needs."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, int, int]] = []
        self.counts: dict[str, int] = {}

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def sample(self) -> None:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        self.samples.append(
            (time.monotonic(), pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")))
        )


async def tell(link: Link, event: Event, name: str, fence: int, most: int) -> None:
    await asyncio.to_thread(link.tell, event, name, fence, most)


async def one_task(
    node: Node, task: dict[str, Any], number: int, over: asyncio.Event, figures: Figures
) -> None:
    rng = random.Random(f"{task['seed']} {task['name']} {number}")
    link = Link(tuple(task["witness"]), f"{task['name']}{number}")
    while not over.is_set():
        name, way = f"n{rng.randrange(task['names'])}", rng.random()
        try:
            if way < 0.5:
                async with node.lock(name, timeout=rng.choice((LONG, LONG, 0.5, 0.01))) as hold:
                    await inside(link, rng, "lock:" + name, hold.fence, 1)
            elif way < 0.6:
                async with node.semaphore(f"s{rng.randrange(SEMAPHORES)}", PLACES, timeout=LONG) as hold:
                    await inside(link, rng, "semaphore:" + hold.name, hold.fence, PLACES)
            elif way < 0.7:
                names = [f"n{rng.randrange(task['names'])}" for _ in range(3)]
                async with node.locks(*names, timeout=LONG) as holds:
                    for each, hold in holds.items():
                        await tell(link, "enter", "lock:" + each, hold.fence, 1)
                    for each, hold in holds.items():
                        await tell(link, "exit", "lock:" + each, hold.fence, 1)
            elif way < 0.8:
                if hold := await node.lock(name).acquire(blocking=False):
                    await inside(link, rng, "lock:" + name, hold.fence, 1)
                    await hold.release()
            else:
                await cancelled(node, link, rng, name, figures)
            figures.count("entries")
        except AcquireTimeout:
            figures.count("timeouts")
    link.testimony.close()


async def cancelled(node: Node, link: Link, rng: random.Random, name: str, figures: Figures) -> None:
    """Whoever is cancelled is inside, or waits, or is neither yet."""

    async def work() -> None:
        async with node.rlock(name) as hold, node.rlock(name):
            await asyncio.shield(asyncio.ensure_future(inside(link, rng, "lock:" + name, hold.fence, 1)))

    task = asyncio.create_task(work())
    await asyncio.sleep(rng.choice((0, 0.0001, 0.001, 0.01)))
    inner = [each for each in asyncio.all_tasks() if each.get_coro().__name__ == "inside"]  # type: ignore[union-attr]
    if not inner:  # a body may not be cut short: the witness must hear its end
        task.cancel()
        figures.count("cancellations")
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def inside(link: Link, rng: random.Random, name: str, fence: int, most: int) -> None:
    await tell(link, "enter", name, fence, most)
    if rng.random() < 0.1:
        await asyncio.sleep(rng.uniform(0, 0.01))
    await tell(link, "exit", name, fence, most)


def one_thread(
    node: SyncNode, task: dict[str, Any], number: int, over: threading.Event, figures: Figures
) -> None:
    rng = random.Random(f"{task['seed']} {task['name']} {number}")
    link = Link(tuple(task["witness"]), f"{task['name']}{number}")
    while not over.is_set():
        name = f"n{rng.randrange(task['names'])}"
        try:
            if rng.random() < 0.8:
                with node.lock(name, timeout=rng.choice((LONG, LONG, 0.5, 0.01))) as hold:
                    link.tell("enter", "lock:" + name, hold.fence, 1)
                    link.tell("exit", "lock:" + name, hold.fence, 1)
            else:
                with node.semaphore(f"s{rng.randrange(SEMAPHORES)}", PLACES, timeout=LONG) as hold:
                    link.tell("enter", "semaphore:" + hold.name, hold.fence, PLACES)
                    link.tell("exit", "semaphore:" + hold.name, hold.fence, PLACES)
            figures.count("entries")
        except AcquireTimeout:
            figures.count("timeouts")
    link.testimony.close()


async def with_tasks(task: dict[str, Any], figures: Figures) -> None:
    over = asyncio.Event()
    async with (
        Node(task["name"], task["peers"], shortcut=False, lease=None) as node,
        asyncio.TaskGroup() as group,
    ):
        workers = [group.create_task(one_task(node, task, number, over, figures)) for number in range(8)]
        stdin = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
        while not stdin.done():
            await asyncio.wait({stdin}, timeout=10)
            figures.sample()
        over.set()
        await asyncio.wait(workers)
        print(json.dumps("finished"), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for number in range(task["names"]):
            async with node.lock(f"n{number}", timeout=LONG):
                pass
        await finish(figures)


def with_threads(task: dict[str, Any], figures: Figures) -> None:
    over = threading.Event()
    with SyncNode(task["name"], task["peers"], shortcut=False, lease=None) as node:
        threads = [
            threading.Thread(target=one_thread, args=(node, task, number, over, figures))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        heard = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.readline(), heard.set()), daemon=True).start()
        while not heard.wait(10):
            figures.sample()
        over.set()
        for thread in threads:
            thread.join()
        print(json.dumps("finished"), flush=True)
        sys.stdin.readline()
        for number in range(task["names"]):
            with node.lock(f"n{number}", timeout=LONG):
                pass
        asyncio.run(finish(figures))


async def finish(figures: Figures) -> None:
    """Nobody leaves before all have had everything once more: whoever leaves takes its tokens along."""
    print(json.dumps({"counts": figures.counts, "samples": figures.samples}), flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if given["threads"]:
        with_threads(given, Figures())
    else:
        asyncio.run(with_tasks(given, Figures()))
