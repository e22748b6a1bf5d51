"""Many names: what nobody uses sleeps, and wakes up as it was."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from soloist.net import ConfigMismatch
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import log_lines, run


@pytest.mark.parametrize(
    "algorithm", ["naimi-trehel", "ricart-agrawala", "suzuki-kasami", "maekawa", "raymond-tree", "lamport"]
)
def test_locks_that_nobody_uses_sleep_and_wake_up_as_they_were(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each name is used again and again by nodes in turn, with room for three only."""
    monkeypatch.setattr("soloist.net.engine.table.MOST_AWAKE", 3)

    async def body() -> None:
        async with memory_cluster(algorithm=algorithm) as nodes:
            fences: dict[str, int] = {}
            for turn, name in product(range(6), map(str, range(12))):
                async with nodes[(turn + int(name)) % 3].lock(name, timeout=10) as hold:
                    assert hold.fence > fences.get(name, 0)
                    fences[name] = hold.fence
                    await asyncio.sleep(0)
            assert all(node.asleep for node in nodes)
            assert all(len(node.instances) <= 8 for node in nodes)
            found = await nodes[0].inspect("0")
            assert found.fence == fences["0"]

    run(body())


def test_what_is_in_use_does_not_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.net.engine.table.MOST_AWAKE", 2)

    async def body() -> None:
        async with memory_cluster() as nodes:
            a, b, _ = nodes
            async with a.lock("held"):
                waiter = asyncio.create_task(b.lock("held").acquire())
                for name in map(str, range(20)):
                    async with a.lock(name), a.semaphore(name, 2):
                        pass
                assert "lock:held" in a.instances
                assert "lock:held" in b.instances
            hold = await waiter
            assert hold
            await hold.release()
            await hold.release()  # once more does no harm, though the lock may sleep by now
            with pytest.raises(ConfigMismatch):
                await b.semaphore("3", 3).acquire()

    run(body())


@pytest.mark.parametrize("algorithm", ["token-ring", "raynal-inform"])
def test_where_all_must_begin_together_all_are_told_that_a_lock_exists(algorithm: str) -> None:
    """They are: of a lock that one node uses, all others know; and that is no message of the algorithm."""

    async def main() -> None:
        with log_lines() as lines:
            async with memory_cluster("abc", algorithm=algorithm) as nodes:
                waiting = asyncio.create_task(nodes[1].lock("x").acquire())
                await eventually(lambda: all("lock:x" in node.instances for node in nodes))
                waiting.cancel()
        assert lines == []

    run(main())
