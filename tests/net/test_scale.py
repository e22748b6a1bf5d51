"""Large clusters and many names."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import pytest

from soloist.testing import Contend, Workers, memory_cluster
from tests.net.helpers import Exclusion, assert_at_rest, run, settled

NAMES = 10_000
KIBIBYTES_PER_NAME = 20
"""Most memory that an idle name may take at one node."""


@pytest.mark.parametrize(
    "algorithm", ["naimi-trehel", "maekawa", pytest.param("suzuki-kasami", marks=pytest.mark.soak)]
)
def test_two_hundred_nodes_in_one_process(algorithm: str) -> None:
    """Without a lease: its renewals would need a thread for each, and tens of thousands of sockets."""
    names = [f"n{number:03}" for number in range(200)]

    async def main() -> None:
        async with memory_cluster(names, algorithm=algorithm, lease=None) as nodes:
            exclusion = Exclusion()
            await asyncio.gather(*(exclusion.visit(node, node.lock("x"), 2) for node in nodes))
            assert sorted(exclusion.owners) == sorted(names * 2)
            await settled(nodes)
            assert_at_rest(nodes)

    run(main(), 55)


@pytest.mark.parametrize("processes", [12, pytest.param(30, marks=pytest.mark.soak)])
def test_many_processes_over_tcp(processes: int) -> None:
    with Workers([f"n{number:02}" for number in range(processes)]) as workers:
        workers.contend(Contend("shared", entries=10))
        seen = workers.findings()["shared"]
    assert not seen.problems
    assert seen.most_inside == 1
    assert set(seen.by_holder.values()) == {10}
    assert len(seen.by_holder) == processes


def memory_of_idle_names(names: int) -> float:
    """Bytes that an idle name takes at one of five nodes, once each node has used it."""

    async def main() -> float:
        async with memory_cluster("abcde") as nodes:
            async with nodes[0].lock("first"):  # caches and the like
                pass
            gc.collect()
            tracemalloc.start()
            try:
                before, _ = tracemalloc.get_traced_memory()
                for number in range(names):
                    for node in nodes:
                        async with node.lock(f"name-{number}"):
                            pass
                gc.collect()
                after, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert all(len(node.instances) + len(node.asleep) >= names for node in nodes)
            assert_at_rest(nodes)
            return (after - before) / names / len(nodes)

    return run(main(), 300)


def test_idle_names_cost_little() -> None:
    size = memory_of_idle_names(NAMES // 10)
    print(f"{size / 1024:.2f} KiB for each idle name at each of 5 nodes")
    assert size < KIBIBYTES_PER_NAME * 1024


if __name__ == "__main__":  # python -m tests.net.test_scale: the whole figure
    print(f"{NAMES} names at 5 nodes: {memory_of_idle_names(NAMES) / 1024:.2f} KiB a name and node")
