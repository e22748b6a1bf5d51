"""Goodbyes without a lease that come at a bad moment: cut short, several at once, while a cluster begins, in a crowd."""

from __future__ import annotations

import asyncio

import pytest

from soloist.net import Node
from soloist.net.member import assembly
from soloist.net.member.fellowship import Fellowship
from soloist.testing import crash, eventually, memory_cluster
from tests.net.helpers import asked, run
from tests.net.member.test_without_lease import Hub, agree, close

MOMENTS = 24
"""Turns of the loop; by then a cluster of three in memory has begun."""


def fellowship(node: Node) -> Fellowship:
    found = node.beginning
    assert isinstance(found, Fellowship)
    return found


async def all_get_in(*nodes: Node, lock: str = "x") -> list[int]:
    fences = []
    for node in nodes:
        async with node.lock(lock, timeout=20) as hold:
            fences.append(hold.fence)
    assert fences == sorted(fences)
    return fences


@pytest.mark.parametrize("heard_by", ["a", "b", "d"])
def test_who_dies_in_the_middle_of_its_goodbye_is_missed_by_nobody(heard_by: str) -> None:
    """One has heard it, and tells the others with the next view."""

    async def main() -> None:
        a, b, c, d = await Hub("abcd").start("abcd")
        held = await c.lock("x").acquire_or_raise(10)
        kept = await b.lock("kept").acquire_or_raise(10)
        mail = fellowship(c).assembly.mail
        say = mail.say
        mail.say = lambda peer, *said: peer == heard_by and say(peer, *said)  # type: ignore[method-assign]
        fellowship(c).assembly.leave()
        await asyncio.sleep(0)
        await crash(c)
        await eventually(lambda: agree(a, b, d), "c has left")
        assert min(await all_get_in(a, b, d)) > held.fence
        assert kept.valid
        assert await a.lock("kept").acquire(timeout=0.05) is None
        await close(a, b, d)

    run(main(), 55)


def test_who_dies_before_anybody_has_heard_its_goodbye_is_waited_for() -> None:
    """That is the price of no lease, and it is said for whom."""

    async def main() -> None:
        a, b, c = await Hub().start()
        async with c.lock("x", timeout=10):
            pass
        fellowship(c).assembly.mail.say = lambda *said: None  # type: ignore[method-assign]
        fellowship(c).assembly.leave()
        await crash(c)
        assert await a.lock("x").acquire(timeout=0.05) is None
        assert a.trouble() == b.trouble() == "not connected: c"
        async with a.lock("never had by c", timeout=10):  # what it has nothing to do with goes on
            pass
        for node in (a, b):
            fellowship(node).assembly.dead(c.beginning.who.incarnation, "its process is gone")
        await all_get_in(a, b)
        await close(a, b)

    run(main())


@pytest.mark.parametrize("going", ["bc", "ab", "bcd", "abc"])
def test_several_go_at_once_and_the_others_go_on(going: str) -> None:
    """Each with a lock, and with a caller of another one waiting for it."""

    async def main() -> None:
        nodes = {node.name: node for node in await Hub("abcd").start("abcd")}
        leaving = [nodes[name] for name in going]
        staying = [node for node in nodes.values() if node not in leaving]
        fences = [(await node.lock(node.name).acquire_or_raise(10)).fence for node in leaving]
        waiting = [asyncio.create_task(staying[0].lock(name, timeout=30).acquire()) for name in going]
        for name in going:
            await asked(staying[0], f"lock:{name}", among=nodes.values())
        await asyncio.gather(*(node.close() for node in leaving))
        for before, hold in zip(fences, await asyncio.gather(*waiting), strict=True):
            assert hold
            assert hold.fence > before
            await hold.release()
        await eventually(lambda: agree(*staying), "they have left")
        await all_get_in(*staying)
        await close(*staying)

    run(main(), 55)


@pytest.mark.parametrize("again", [True, False], ids=["and comes back", "for good"])
def test_a_node_is_closed_at_any_moment_of_the_beginning(again: bool) -> None:
    """All have met, or not; some are bound to it, some have begun: whoever is left goes on, or waits for it and says so."""

    async def main() -> None:
        for moment in range(MOMENTS):
            hub = Hub()
            a, b, c = nodes = [hub.node(name) for name in "abc"]
            starts = [asyncio.create_task(node.start()) for node in nodes]
            for _ in range(moment):
                await asyncio.sleep(0)
            await starts[2]
            begun = fellowship(c).open
            await c.close()
            await asyncio.gather(*starts)
            if again:
                nodes[2] = await hub.node("c").start()
                await all_get_in(*nodes)
            elif begun:
                await all_get_in(a, b)
            else:
                for node in (a, b):
                    if not await node.lock("x").acquire(timeout=0.05):
                        assert "c" in node.trouble(), (moment, node.trouble())
                nodes[2] = await hub.node("c").start()
            await close(*(node for node in nodes if not node.closed))

    run(main(), 55)


def test_in_a_crowd_nobody_says_goodbye(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be quadratic each time. Whoever is missed is named, and all can be closed."""
    monkeypatch.setattr(assembly, "MOST_MEMBERS", 3)

    async def main() -> None:
        a, b, c, d = await Hub("abcd").start("abcd")
        async with d.lock("x", timeout=10):
            pass
        await d.close()
        assert await a.lock("x").acquire(timeout=0.05) is None
        assert a.members == ["a", "b", "c", "d"]
        assert a.trouble() == "not connected: d"
        await close(a, b, c)

    run(main())


def test_of_many_one_that_is_known_to_be_dead_is_left_out() -> None:
    """More than say goodbye: all that are left agree."""
    names = [f"n{number:02}" for number in range(assembly.MOST_MEMBERS + 2)]

    async def main() -> None:
        async with memory_cluster(names, lease=None) as nodes:
            await eventually(lambda: all(node.beginning.open for node in nodes), "they have begun")
            *others, last = nodes
            held = await last.lock("x").acquire_or_raise(30)
            await crash(last, *others)
            await eventually(lambda: agree(*others), "it is left out", seconds=40)
            async with others[0].lock("x", timeout=30) as hold:
                assert hold.fence > held.fence

    run(main(), 100)
