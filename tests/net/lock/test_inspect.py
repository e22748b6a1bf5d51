"""Looking who has a lock and who waits."""

from __future__ import annotations

import asyncio

from soloist.net import Hold, Node
from soloist.testing import memory_cluster
from tests.net.helpers import asked, begun, run
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_inspect_tells_who_has_it_and_who_waits(nodes: list[Node]) -> None:
    a, b, c = nodes
    assert not (await c.inspect("x")).holders
    async with a.lock("x", note="nightly job") as hold:
        waiter = asyncio.create_task(b.lock("x").acquire())
        await asked(b, among=nodes)
        seen = await c.inspect("x")
        (holder,) = seen.holders
        assert (holder.node, holder.note, holder.holding) == ("a", "nightly job", 1)
        assert holder.held_for is not None
        assert holder.held_for >= 0
        assert seen.waiting == {"b": 1}
        assert seen.fence == hold.fence
        assert seen.unreachable == []
        assert [(view.lock, view.node) for view in await c.holders()] == [("lock:x", "a"), ("lock:x", "b")]
    taken = await waiter
    assert taken
    await taken.release()


def test_inspect_names_those_who_do_not_answer() -> None:
    """Without a lease: else who closes leaves the view, too, and may be no member any more when it is asked."""

    async def main() -> None:
        async with memory_cluster(lease=None) as nodes:
            a, _, c = nodes
            await begun(*nodes)
            await c.close()
            assert (await a.inspect("x")).unreachable == ["c"]

    run(main())


@on_three_nodes
async def test_many_locks_are_listed_in_parts(nodes: list[Node]) -> None:
    a, b, _ = nodes
    holds: list[Hold | None] = await asyncio.gather(*(a.lock(f"x{i}").acquire() for i in range(1000)))
    seen = [view for view in await b.holders() if view.holding]
    assert len({view.lock for view in seen}) == 1000
    for hold in holds:
        assert hold
        await hold.release()
