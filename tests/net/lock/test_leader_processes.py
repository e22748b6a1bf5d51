"""Leaders in processes of their own, which are killed and stopped, before a witness."""

from __future__ import annotations

import asyncio

import msgspec

from soloist.net import HoldLike
from soloist.testing import Statement, Worker, Workers, until
from tests.net.helpers import with_a_lease

CANDIDATES: set[asyncio.Task[None]] = set()
"""In the process of a worker."""


async def stand(worker: Worker) -> None:
    """Be a candidate from now on, whose terms the witness hears of."""

    async def work(hold: HoldLike) -> None:
        entry = Statement("enter", "x", 1, worker.node.name, hold.fence)
        await worker.testimony.give(entry)  # type: ignore[union-attr]
        try:
            await asyncio.Future()
        finally:
            end = msgspec.structs.replace(entry, event="exit" if hold.valid else "lost")
            await worker.testimony.give(end)  # type: ignore[union-attr]

    CANDIDATES.add(asyncio.create_task(worker.node.leader("x", note=worker.node.name).run(work)))


async def leader_seen(worker: Worker) -> tuple[str, int]:
    """Who leads, as this one sees it; nobody: ("", 0)."""
    for state in (await worker.node.inspect("x")).holders:
        return state.node, state.fence
    return "", 0


async def waiting(worker: Worker) -> list[str]:
    return list((await worker.node.inspect("x")).waiting)


def next_leader(workers: Workers, asked: str, before: int = 0) -> tuple[str, int]:
    def later() -> tuple[str, int] | None:
        name, term = workers.do(asked, leader_seen)
        return (name, term) if term > before else None

    return until(later, f"a term after {before}")  # type: ignore[return-value]


def test_a_leader_that_is_killed_or_stopped_is_followed_by_another() -> None:
    with_a_lease(followed, 2, 12)


def followed(lease: float) -> None:
    with Workers("abcde", lease=lease, shortcut=True, remember=True) as workers:  # two of five may fail
        for name in "abcde":
            workers.do(name, stand)
        killed, term = next_leader(workers, "a")
        workers.kill(killed)
        stopped, later = next_leader(workers, "b" if killed == "a" else "a", term)
        assert stopped != killed
        other = next(name for name in "abcde" if name not in (killed, stopped))
        workers.pause(stopped)
        assert next_leader(workers, other, later)[0] not in (killed, stopped)
        workers.resume(stopped)
        until(lambda: workers.findings()["x"].losses, "it has found out")
        until(lambda: stopped in workers.do(other, waiting), "it waits for its next term")
        assert not workers.findings()["x"].problems
