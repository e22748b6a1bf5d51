"""In which order callers are served, and how long a node may keep a lock."""

from __future__ import annotations

import asyncio
from itertools import groupby

import pytest

from soloist.core import UsageError
from soloist.net import Node
from soloist.testing import memory_cluster, memory_nodes
from tests.net.helpers import Exclusion, run
from tests.net.lock.three import on_three_nodes


@on_three_nodes
async def test_callers_of_one_node_are_served_in_order(nodes: list[Node]) -> None:
    a, *_ = nodes
    order: list[int] = []

    async def work(number: int) -> None:
        async with a.lock("x"):
            order.append(number)

    async with a.lock("x"):
        tasks = []
        for number in range(50):
            tasks.append(asyncio.create_task(work(number)))
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == list(range(50))


async def runs_of(locality: int) -> dict[str, list[int]]:
    """The lengths of each node's unbroken runs of entries while both nodes always have callers that wait."""
    async with memory_cluster("ab", locality=locality) as nodes:
        exclusion = Exclusion()
        visits = [exclusion.visit(node, node.lock("x"), 40) for node in nodes for _ in range(4)]
        await asyncio.gather(*visits)
        steady = exclusion.owners[8:240]  # while all still come back
        runs: dict[str, list[int]] = {"a": [], "b": []}
        for owner, run_ in groupby(steady):
            runs[owner].append(len(list(run_)))
        return {owner: lengths[1:-1] for owner, lengths in runs.items()}


@pytest.mark.parametrize("locality", [0, 1, 4])
def test_a_busy_node_passes_the_lock_on(locality: int) -> None:
    """By default at most two entries in a row while another node waits; with locality 0, one."""
    runs = run(runs_of(locality))
    for lengths in runs.values():
        assert max(lengths) <= locality + 1
    assert sum(len(lengths) for lengths in runs.values()) > 10


def test_a_busy_node_that_never_rests_does_not_starve_another() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            stop = asyncio.Event()

            async def hog() -> None:
                while not stop.is_set():
                    async with a.lock("x"):
                        await asyncio.sleep(0)

            hogs = [asyncio.create_task(hog()) for _ in range(20)]
            for _ in range(50):
                async with b.lock("x", timeout=10):
                    await asyncio.sleep(0)
            stop.set()
            await asyncio.gather(*hogs)

    run(main())


def test_locality_must_not_be_negative() -> None:
    with pytest.raises(UsageError, match="locality"):
        memory_nodes("a", locality=-1)
