"""Several locks at once: all or none, and never a deadlock."""

from __future__ import annotations

import asyncio

import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, LockLost, Node
from soloist.testing import eventually, memory_nodes
from tests.net.helpers import Exclusion
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_several_locks_are_all_or_none(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with b.lock("y"):
        with pytest.raises(AcquireTimeout, match="x, y"):
            async with a.locks("y", "x", timeout=0.05):
                pytest.fail("not all were granted")
        assert not a.holds
        async with a.lock("x", timeout=5):
            pass
    async with a.locks("y", "x", "y") as holds:
        assert sorted(holds) == ["x", "y"]
        assert all(hold.valid for hold in holds.values())


@on_three_nodes
async def test_several_locks_in_any_order_never_deadlock(nodes: list[Node]) -> None:
    exclusions = {name: Exclusion() for name in "xyz"}

    async def work(node: Node, names: str) -> None:
        for _ in range(20):
            async with node.locks(*names) as holds:
                for name in names:
                    exclusions[name].enter(holds[name].fence)
                await asyncio.sleep(0)
                for name in names:
                    exclusions[name].leave()

    await asyncio.gather(*(work(node, names) for node in nodes for names in ("xy", "yx", "zx", "zyx")))


def test_no_locks_at_all_is_a_mistake() -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError, match="at least one"):
        node.locks()


@on_three_nodes
async def test_no_body_begins_with_one_that_was_lost_while_the_others_were_waited_for(
    nodes: list[Node],
) -> None:
    a, b, c = nodes
    entered = False

    async def work() -> None:
        nonlocal entered
        async with a.locks("x", "y"):
            entered = True

    taken = await b.lock("y").acquire_or_raise(None)
    task = asyncio.create_task(work())
    await eventually(lambda: "lock:x" in a.holds, "it has the first")
    (hold,) = a.holds["lock:x"]
    a.lose("lock:x", hold.fence, "it was broken")
    async with c.lock("x", timeout=5):
        await taken.release()
        with pytest.raises(LockLost, match="'x' is lost"):
            await task
    assert not entered
    async with c.locks("x", "y", timeout=5):
        pass
