"""A worker under a nemesis: a node, or a client of one, whose tasks take locks again and again, keep a journal of it, and write to a store."""

from __future__ import annotations

import asyncio
import os
import random
import time
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from soloist.net import Client, Hold, LockError, Node
from soloist.net.member.membership import Membership
from soloist.testing.clocks import set_lease_clock
from soloist.testing.failpoints import die_at
from soloist.testing.journal import Journal
from soloist.testing.namespaces import enter
from soloist.testing.store import StoreLine, Write

MOST_INSIDE = 0.01
"""Seconds."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What such a worker is."""

    name: str
    peers: dict[str, str]
    """None of them: a node that joins is told of some in its options."""
    options: dict[str, Any]
    """Of its `Node`."""
    locks: int
    tasks: int
    journal: str
    store: tuple[str, int]
    rate: float = 1.0
    """Of the clock that it measures its lease by."""
    protocols: str = ""
    """The versions that it offers, as `SOLOIST_PROTOCOLS` has them; nothing: those of this program."""
    through: str = ""
    """The URL of a daemon whose locks it takes, in place of a node of its own."""
    namespace: str | None = None
    """The network that it is in, if that is one of its own."""
    semaphore: int = 0
    """How many may be inside at once: of a semaphore whose slots are told apart. 0: a lock."""


class Tally(msgspec.Struct):
    """What came of it."""

    entries: int = 0
    losses: int = 0
    errors: dict[str, int] = {}
    epoch: int = 0
    protocol: int = 0
    """The version that its view is in."""
    unvoting: str = ""
    """Why it does not vote, if it does not."""
    problems: list[str] = []


class Doom(msgspec.Struct, frozen=True):
    """Be killed at that point (`soloist.testing.failpoints`), so many times from now. There is no answer."""

    point: str
    times: int = 1


def haunt(part: Part, pipe: Connection) -> None:
    """The process: says its name once its node is started, and its `Tally` when it is asked; `None` ends it."""
    if part.namespace:
        enter(part.namespace)
    set_lease_clock(part.rate)
    if part.protocols:
        os.environ["SOLOIST_PROTOCOLS"] = part.protocols
    asyncio.run(_Haunted(part, pipe).live())


class _Haunted:
    """One worker."""

    def __init__(self, part: Part, pipe: Connection) -> None:
        self.part, self.pipe = part, pipe
        self.tally, self.journal = Tally(), Journal(part.journal)
        self.over = asyncio.Event()
        self.draw = random.Random(os.getpid())
        self.node: Node | Client = (
            Client(part.through) if part.through else Node(part.name, part.peers or None, **part.options)
        )

    async def live(self) -> None:
        loop = asyncio.get_running_loop()
        self.store = await StoreLine.to(self.part.store)
        async with self.node:
            loop.add_reader(self.pipe.fileno(), self._asked)
            self.pipe.send(self.part.name)
            busy = [loop.create_task(self._contend()) for _ in range(self.part.tasks)]
            await self.over.wait()
            for task in busy:
                task.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
        self.store.close()

    def _asked(self) -> None:
        try:
            question = self.pipe.recv()
        except (EOFError, OSError):
            question = None
        if question is None:
            asyncio.get_running_loop().remove_reader(self.pipe.fileno())
            self.over.set()
        elif isinstance(question, Doom):
            die_at(question.point, question.times)
        else:
            if isinstance(self.node, Node):
                self.tally.epoch, self.tally.unvoting = self.node.epoch, _unvoting(self.node)
                self.tally.protocol = self.node.table.view.protocol if self.node.epoch else 0
            self.pipe.send(self.tally)

    async def _contend(self) -> None:
        while not self.over.is_set():
            number = self.draw.randrange(self.part.locks)
            try:
                hold = await self._take(number)
            except LockError as error:
                kind = type(error).__name__
                self.tally.errors[kind] = self.tally.errors.get(kind, 0) + 1
                await asyncio.sleep(0.01)
                continue
            await self._stay(number, hold)
            await hold.release()
            await asyncio.sleep(self.draw.uniform(0, 0.002))

    async def _take(self, number: int) -> Hold:
        name = f"n{number}"
        if size := self.part.semaphore:
            return await self.node.semaphore(name, size, on_lost="flag").acquire_or_raise(None)
        return await self.node.lock(name, on_lost="flag").acquire_or_raise(None)

    async def _stay(self, number: int, hold: Hold) -> None:
        slots = max(1, self.part.semaphore)
        place = number * slots + (hold.slot or 0)
        line = self.journal.begin(place, hold.fence)
        self.tally.entries += 1
        write = Write(f"n{place}", hold.fence, self.part.name)
        leave = time.monotonic() + self.draw.uniform(0, MOST_INSIDE)
        while True:
            # Nobody asks before it writes: who was stopped here writes too late, and the store must see that.
            taken = await self.store.write(write)
            now = time.monotonic()
            if not hold.valid:
                self.tally.losses += 1
                await self.store.write(write)  # as one does that never looks
                return
            self.journal.good(line, now)
            if not taken:
                self.tally.problems.append(
                    f"lock {place}: {self.part.name} had it with fence {hold.fence}, but somebody else has written"
                )
            if now >= leave:
                return
            await asyncio.sleep(0.001)


def _unvoting(node: Node) -> str:
    found = node.beginning
    if not isinstance(found, Membership):
        return "it has no lease"
    council = found.council
    return council.votes.bad or (council.voter.stopped if council.voter else "")
