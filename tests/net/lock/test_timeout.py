"""`timeout` is how long to wait; and a try waits for nobody."""

from __future__ import annotations

import asyncio

import pytest

from soloist.core import UsageError
from soloist.net import Node
from tests.net.lock.three import HOMES, on_three_nodes


@on_three_nodes
async def test_a_wait_that_is_too_long_gives_none(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.lock("x"):
        assert await b.lock("x").acquire(timeout=0.01) is None
        assert await b.lock("x", timeout=0.01).acquire() is None
    assert await b.lock("x").acquire(timeout=10)
    await b.lock("x").release()


@on_three_nodes
async def test_a_try_does_not_wait(nodes: list[Node]) -> None:
    a, *_ = nodes
    async with a.lock("x"):
        assert await asyncio.create_task(a.lock("x").acquire(blocking=False)) is None
        assert await asyncio.create_task(a.lock("x").acquire(timeout=0)) is None
    hold = await a.lock("x").acquire(blocking=False)  # nobody has it, and the token is here
    assert hold
    await hold.release()


@on_three_nodes
async def test_a_withdrawn_wait_does_not_stand_in_the_way(nodes: list[Node]) -> None:
    a, b, c = nodes
    async with a.lock("x"):
        assert await b.lock("x").acquire(timeout=0.01) is None
    async with c.lock("x", timeout=5), c.lock("y", timeout=5):
        pass
    async with b.lock("x", timeout=5):
        pass


@pytest.mark.parametrize("timeout", [-1, -0.5])
def test_a_negative_timeout_is_refused(timeout: float) -> None:
    """In the standard library -1 is "for ever" for some and an error for others: better to ask."""

    @on_three_nodes
    async def body(nodes: list[Node]) -> None:
        with pytest.raises(UsageError, match="negative"):
            nodes[0].lock("x", timeout=timeout)
        with pytest.raises(UsageError, match="negative"):
            await nodes[0].lock("x").acquire(timeout=timeout)

    for home in HOMES:
        body(home)


@on_three_nodes
async def test_a_try_gets_a_free_lock_wherever_it_rests(nodes: list[Node]) -> None:
    for node in nodes * 2:
        hold = await node.lock("x").acquire(blocking=False)
        assert hold
        await hold.release()
        hold = await node.semaphore("s", 3, permits=2).acquire(timeout=0)
        assert hold
        await hold.release()


@on_three_nodes
async def test_a_try_waits_for_nobody_who_holds_it_elsewhere(nodes: list[Node]) -> None:
    a, b, c = nodes
    async with a.lock("x"), a.semaphore("s", 2), b.semaphore("s", 2):
        for _ in range(3):
            assert await b.lock("x").acquire(blocking=False) is None
            assert await c.semaphore("s", 2).acquire(blocking=False) is None
            assert await c.semaphore("s", 2, permits=2).acquire(blocking=False) is None
    hold = await b.lock("x").acquire(blocking=False)
    assert hold
    await hold.release()


@on_three_nodes
async def test_of_several_tries_at_once_one_succeeds(nodes: list[Node]) -> None:
    for _ in range(20):
        tries = (node.lock("x").acquire(blocking=False) for node in nodes for _ in range(2))
        holds = [hold for hold in await asyncio.gather(*tries) if hold]
        assert len(holds) == 1
        await holds[0].release()
