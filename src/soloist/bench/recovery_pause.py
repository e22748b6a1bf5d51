"""How long a change of view keeps a lock that it does not concern: one that a node enters again and again by itself."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Self

import msgspec

from soloist.net import NodeClosed
from soloist.testing import Worker, Workers, until

NAMES, HELD = 10_000, 100
"""Locks that were used before, and of these the ones that are held by nodes that stay."""
LEASE_SECONDS = 10.0
VICTIM, STAYING = "c", "ab"
AT_ONCE = 500


class Watch(msgspec.Struct):
    """What somebody sees who enters a lock all the time."""

    last: float
    longest: float = 0.0
    task: Any = None

    async def go_on(self, worker: Worker) -> None:
        lock = worker.node.lock("watched")
        with suppress(NodeClosed):
            while True:
                async with lock:
                    now = time.monotonic()
                    self.longest, self.last = max(self.longest, now - self.last), now
                await asyncio.sleep(0)


_watches: dict[Worker, Watch] = {}


async def use(worker: Worker, names: list[str]) -> None:
    """Take each, and give it back."""
    for start in range(0, len(names), AT_ONCE):
        await asyncio.gather(*(_use(worker, name) for name in names[start : start + AT_ONCE]))


async def _use(worker: Worker, name: str) -> None:
    async with worker.node.lock(name):
        pass


async def begin_watch(worker: Worker) -> None:
    """From now on; it keeps a processor busy, so only as long as need be."""
    watch = _watches[worker] = Watch(time.monotonic())
    watch.task = asyncio.create_task(watch.go_on(worker))


async def end_watch(worker: Worker) -> float:
    """Seconds between one entry and the next, at most, since it began."""
    watch = _watches.pop(worker)
    watch.task.cancel()
    await asyncio.wait({watch.task})
    return watch.longest


async def epoch(worker: Worker) -> int:
    return worker.node.epoch


class PauseStage:
    """A cluster of which one node is killed and started again, while another has nothing to do with it."""

    def __init__(self, names: int = NAMES, held: int = HELD) -> None:
        self.names, self.held = names, held
        self.workers = Workers((*STAYING, VICTIM), quiet=True, lease=LEASE_SECONDS, shortcut=True)

    def __enter__(self) -> Self:
        self.workers.__enter__()
        try:
            nodes = self.workers.nodes
            for number, name in enumerate(nodes):
                mine = [f"n{each}" for each in range(number, self.names, len(nodes))]
                self.workers.do(name, use, mine)
            for number, name in enumerate(STAYING):
                self.workers.grab(name, *(f"n{each}" for each in range(number, self.held, len(STAYING))))
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.workers.__exit__(kind, *error)

    def kill_holder(self) -> float:
        """Seconds for which the lock could not be entered, at most, while the view without the victim was made."""
        watcher, before = STAYING[0], self._epoch()
        self.workers.do(watcher, begin_watch)
        self.workers.kill(VICTIM)
        until(lambda: self._epoch() > before, "there is a view without it")
        found: float = self.workers.do(watcher, end_watch)
        before = self._epoch()
        self.workers.restart(VICTIM)
        until(lambda: self._epoch() > before, "it is a member again")
        return found

    def _epoch(self) -> int:
        found: int = self.workers.do(STAYING[0], epoch)
        return found
