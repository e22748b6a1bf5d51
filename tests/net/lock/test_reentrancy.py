"""A lock is not taken twice; an rlock is."""

from __future__ import annotations

import asyncio

import pytest

from soloist.net import LockLost, Node, WouldDeadlock
from soloist.testing import memory_cluster
from tests.net.helpers import run
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_taking_it_again_would_be_a_deadlock(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    async with lock:
        with pytest.raises(WouldDeadlock, match="rlock") as caught:
            await lock.acquire()
        assert caught.value.name == "x"
        with pytest.raises(WouldDeadlock):
            await nodes[0].lock("x").acquire(timeout=1)
    async with lock:
        pass


@on_three_nodes
async def test_an_rlock_is_entered_again_with_the_same_fence(nodes: list[Node]) -> None:
    a, b, _ = nodes
    lock = a.rlock("x")
    async with lock as outer:
        async with lock as inner, a.rlock("x") as other:
            assert outer.fence == inner.fence == other.fence
            assert await b.lock("x").acquire(timeout=0.01) is None
        assert outer.valid
        assert await b.lock("x").acquire(timeout=0.01) is None
        assert await asyncio.create_task(a.rlock("x").acquire(timeout=0.01)) is None  # another task
    assert not outer.valid
    async with b.lock("x", timeout=5) as later:
        assert later.fence > outer.fence


def test_what_is_lost_is_not_entered_again() -> None:
    """Its lease is over, and nobody has told the holder yet."""

    async def scenario() -> None:
        async with memory_cluster("ab", lease=600.0) as (a, _):
            lock = a.rlock("x", on_lost="flag")
            hold = await lock.acquire_or_raise(None)
            council = a.beginning.council
            assert council
            with council.gate.step() as member:
                member.worth = dict.fromkeys(member.worth, -1.0)
            with pytest.raises(LockLost):
                await lock.acquire()
            await hold.lost.wait()
            await hold.release()

    run(scenario())
