"""A worker under a nemesis: a node whose tasks take locks again and again, and keep a journal of it."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from soloist.net import LockError, Node
from soloist.testing.journal import Journal

MOST_INSIDE = 0.01
"""Seconds."""


class Tally(msgspec.Struct):
    """What came of it."""

    entries: int = 0
    losses: int = 0
    errors: dict[str, int] = {}
    epoch: int = 0


def haunt(
    name: str,
    peers: Mapping[str, str],
    options: Mapping[str, Any],
    locks: int,
    tasks: int,
    journal: str,
    pipe: Connection,
) -> None:
    """The process: says its name once its node is started, and its `Tally` when it is asked; `None` ends it."""
    asyncio.run(_haunt(name, peers, options, locks, tasks, Journal(journal), pipe))


async def _haunt(
    name: str,
    peers: Mapping[str, str],
    options: Mapping[str, Any],
    locks: int,
    tasks: int,
    journal: Journal,
    pipe: Connection,
) -> None:
    tally, over = Tally(), asyncio.Event()
    loop = asyncio.get_running_loop()
    async with Node(name, dict(peers), **options) as node:

        def asked() -> None:
            try:
                question = pipe.recv()
            except (EOFError, OSError):
                question = None
            if question is None:
                loop.remove_reader(pipe.fileno())
                over.set()
            else:
                tally.epoch = node.epoch
                pipe.send(tally)

        loop.add_reader(pipe.fileno(), asked)
        pipe.send(name)
        draw = random.Random(os.getpid())
        busy = [loop.create_task(_contend(node, locks, journal, tally, over, draw)) for _ in range(tasks)]
        await over.wait()
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def _contend(
    node: Node, locks: int, journal: Journal, tally: Tally, over: asyncio.Event, draw: random.Random
) -> None:
    while not over.is_set():
        number = draw.randrange(locks)
        try:
            hold = await node.lock(f"n{number}", on_lost="flag").acquire()
        except LockError as error:
            kind = type(error).__name__
            tally.errors[kind] = tally.errors.get(kind, 0) + 1
            await asyncio.sleep(0.01)
            continue
        assert hold
        place = journal.begin(number, hold.fence)
        tally.entries += 1
        leave = time.monotonic() + draw.uniform(0, MOST_INSIDE)
        while True:
            now = time.monotonic()
            if not hold.valid:
                tally.losses += 1
                break
            journal.good(place, now)
            if now >= leave:
                break
            await asyncio.sleep(0.001)
        await hold.release()
        await asyncio.sleep(draw.uniform(0, 0.002))
