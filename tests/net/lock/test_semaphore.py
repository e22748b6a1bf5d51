"""Semaphores: places, permits, and a value that all must agree on."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, ConfigMismatch, Node
from soloist.net.lock import prompt
from soloist.testing import eventually, memory_cluster, memory_nodes
from tests.net.helpers import NODE_OF, Exclusion, asked, run
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_a_semaphore_lets_in_its_value_and_no_more(nodes: list[Node]) -> None:
    exclusion = Exclusion(most=2)
    visits = (
        exclusion.visit(node, node.semaphore("s", 2), 20, inside=0.001) for node in nodes for _ in range(3)
    )
    await asyncio.gather(*visits)
    assert exclusion.highest == 2


@on_three_nodes
async def test_one_node_may_have_all_permits(nodes: list[Node]) -> None:
    a, b, _ = nodes
    holds = [await a.semaphore("s", 3).acquire() for _ in range(3)]
    assert await b.semaphore("s", 3).acquire(timeout=0.02) is None
    assert holds[0]
    await holds[0].release()
    async with b.semaphore("s", 3, timeout=5):
        pass
    for hold in holds[1:]:
        assert hold
        await hold.release()


@on_three_nodes
async def test_two_who_collect_permits_never_block_each_other(nodes: list[Node]) -> None:
    out = 0

    async def collect(node: Node, permits: int) -> None:
        nonlocal out
        for _ in range(15):
            async with node.semaphore("s", 3, permits=permits):
                out += permits
                assert out <= 3
                await asyncio.sleep(0)
                out -= permits

    await asyncio.gather(*(collect(node, permits) for node in nodes for permits in (1, 2, 3)))


@on_three_nodes
async def test_a_collector_gives_back_what_it_had_when_its_time_is_over(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.semaphore("s", 3):
        with pytest.raises(AcquireTimeout):
            async with b.semaphore("s", 3, permits=3, timeout=0.05):
                pytest.fail("there are only two")
        async with b.semaphore("s", 3, permits=2, timeout=5):
            pass


@pytest.mark.parametrize("algorithm", ["bulgannawar-vaidya", "partitioned"])
def test_each_place_of_a_semaphore_is_one_callers_and_its_fences_grow(algorithm: str) -> None:
    """Several holders cannot be ordered by one number; those of one place can."""
    fences: dict[int | None, int] = {}
    taken: set[int | None] = set()

    async def use(node: Node) -> None:
        for _ in range(20):
            async with node.semaphore("gpu", 3) as hold:
                assert hold.slots == (hold.slot,)
                assert hold.slot not in taken
                assert fences.get(hold.slot, 0) < hold.fence
                fences[hold.slot] = hold.fence
                taken.add(hold.slot)
                await asyncio.sleep(0)
                taken.remove(hold.slot)

    async def body() -> None:
        async with memory_cluster(semaphore_algorithm=algorithm) as nodes:
            await asyncio.gather(*(use(node) for node in nodes * 3))
            with pytest.raises(UsageError, match="the second may wait for the first to be given back"):
                nodes[0].semaphore("gpu", 3, permits=2)

    run(body())
    assert set(fences) == {0, 1, 2}


@pytest.mark.parametrize("algorithm", prompt())
def test_a_free_place_is_given_away_while_the_others_stay_inside(algorithm: str) -> None:
    """Whichever nodes hold the rest, and wherever tokens rest."""

    async def body() -> None:
        async with memory_cluster(semaphore_algorithm=algorithm) as nodes:
            for first, second in product(nodes, repeat=2):
                async with first.semaphore("s", 3), second.semaphore("s", 3):
                    for node in nodes * 2:
                        async with node.semaphore("s", 3, timeout=5):
                            pass

    run(body())


@on_three_nodes
async def test_a_try_for_several_permits_does_not_wait_for_another_collector(nodes: list[Node]) -> None:
    a, *_ = nodes
    async with a.semaphore("s", 2):
        collector = asyncio.create_task(a.semaphore("s", 2, permits=2).acquire())
        await asked(a, "semaphore:s", among=nodes)
        async with asyncio.timeout(5):
            assert await a.semaphore("s", 2, permits=2).acquire(blocking=False) is None
    hold = await collector
    assert hold
    await hold.release()


@on_three_nodes
async def test_names_of_locks_and_semaphores_do_not_meet(nodes: list[Node]) -> None:
    a, b, _ = nodes
    semaphore = b.semaphore("s", 2, permits=2, timeout=5)
    async with a.lock("s"), a.lock("s/permits"), a.lock("permits:s"), semaphore:
        pass


@pytest.mark.parametrize(("value", "permits"), [(0, 1), (2, 3), (2, 0)])
def test_impossible_permits_are_refused(value: int, permits: int) -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError):
        node.semaphore("s", value, permits=permits)


@on_three_nodes
async def test_a_semaphore_of_one_is_a_lock_with_fences(nodes: list[Node]) -> None:
    exclusion = Exclusion()
    await asyncio.gather(*(exclusion.visit(node, node.semaphore("s", 1), 10) for node in nodes))


def test_two_nodes_that_disagree_about_a_value_are_both_told() -> None:
    """Neither may wait for ever for an answer that the other cannot give. Here everybody asks; the usual algorithm may find a permit."""

    async def main() -> None:
        async with memory_cluster(semaphore_algorithm="raymond-k") as nodes:
            a, b, _ = nodes
            results = await asyncio.gather(
                a.semaphore("s", 2).acquire(), b.semaphore("s", 3).acquire(), return_exceptions=True
            )
            assert [type(result) for result in results] == [ConfigMismatch, ConfigMismatch]
            assert getattr(results[0], "name", None) == "s"
            for node, value in ((a, 2), (b, 3)):  # and whoever comes later
                with pytest.raises(ConfigMismatch, match="capacity"):
                    await node.semaphore("s", value).acquire()

    run(main())


def test_a_node_that_holds_the_other_value_need_not_ask_for_it_to_be_noticed() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            await eventually(lambda: b.beginning.open)
            b.board._instance("semaphore:s", 3)  # b has used it before, and wants nothing now
            with pytest.raises(ConfigMismatch, match="2 here, not 3 at b"):
                await a.semaphore("s", 2).acquire()

    run(main())


@on_three_nodes
async def test_a_value_that_differs_on_one_node_is_refused_at_once(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.semaphore("s", 2):
        with pytest.raises(ConfigMismatch):
            await a.semaphore("s", 3).acquire()
        with pytest.raises(ConfigMismatch):
            await b.semaphore("s", 3).acquire()
    await NODE_OF.get(b, b).close()  # its site goes on asking for what nobody will give it
