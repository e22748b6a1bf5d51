"""One `Hold` for each grant, released as in the standard library, and what it says of itself."""

from __future__ import annotations

import asyncio

import pytest

from soloist.net import LockLost, Node, NotOwned
from tests.net.helpers import Exclusion
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_a_lock_is_shared_by_tasks_and_each_grant_is_a_hold(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    exclusion = Exclusion()
    await asyncio.gather(*(exclusion.visit(nodes[0], lock, 5) for _ in range(8)))
    assert len(exclusion.fences) == 40


@on_three_nodes
async def test_a_hold_may_be_released_by_another_task(nodes: list[Node]) -> None:
    a, b, _ = nodes
    hold = await a.lock("x").acquire()
    assert hold
    await asyncio.create_task(hold.release())
    await hold.release()  # again: nothing happens
    async with b.lock("x", timeout=5):
        assert not hold.valid
        await hold.release()  # it is not mine any more: nothing happens
        assert await a.lock("x").acquire(timeout=0.01) is None


@on_three_nodes
async def test_acquire_is_true_or_none_and_release_gives_back(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    if await lock.acquire(timeout=5):
        assert lock.locked()
        await lock.release()
    assert not lock.locked()
    with pytest.raises(NotOwned) as caught:
        await lock.release()
    assert caught.value.name == "x"


@on_three_nodes
async def test_another_task_has_nothing_to_release(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    async with lock:
        with pytest.raises(NotOwned):
            await asyncio.create_task(lock.release())


@on_three_nodes
async def test_release_takes_the_newest_hold_and_then_the_one_before(nodes: list[Node]) -> None:
    semaphore = nodes[0].semaphore("s", 3)
    first, second = await semaphore.acquire(), await semaphore.acquire()
    assert first
    assert second
    await semaphore.release()
    assert (first.valid, second.valid) == (True, False)
    await semaphore.release()
    assert not first.valid
    with pytest.raises(NotOwned):
        await semaphore.release()


@on_three_nodes
async def test_valid_and_check(nodes: list[Node]) -> None:
    async with nodes[0].lock("x") as hold:
        assert hold.valid
        hold.check()
        assert hold.epoch > 0
        assert "held" in repr(hold)
    assert not hold.valid
    assert "released" in repr(hold)
    with pytest.raises(LockLost, match="has been released") as caught:
        hold.check()
    assert caught.value.name == "x"
