"""A crash in the middle of it, with every algorithm of the catalogue: holds of the living go on, waiters get in.

In one process: a node vanishes, and the others are given the proof. The lease is too long to matter.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE
from soloist.net import Hold, Lock, Node
from soloist.testing import Witness, crash, eventually, memory_cluster
from tests.net.helpers import run

FOR_EVER = 600.0


KINDS = [
    (name, places)
    for name in sorted(set(CATALOGUE) - {"raynal"})  # which serves nobody who asks alone
    for places in ((1, 2) if CATALOGUE[name].capacity == "K" else (1,))
]
"""As locks, and as semaphores of two."""


def options_for(name: str, places: int) -> dict[str, Any]:
    return {"semaphore_algorithm" if places > 1 else "algorithm": name}


@pytest.mark.parametrize(("name", "places"), KINDS)
def test_a_holder_vanishes(name: str, places: int) -> None:
    must_wait = places == 1 or CATALOGUE[name].prompt  # elsewhere one may wait though there is room, or not
    shared = ["both"] if must_wait else []

    def lock(node: Node, what: str) -> Lock:
        return node.lock(what) if places == 1 else node.semaphore(what, places)

    async def taken(node: Node, *names: str) -> list[Hold]:
        return [await lock(node, what).acquire_or_raise(None) for what in names]

    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER, **options_for(name, places)) as (a, b, c):
            kept = await taken(a, "kept", *shared[: places - 1])
            fences, slots = [hold.fence for hold in kept], [hold.slots for hold in kept]
            killed = await taken(b, "wanted", *shared)
            waiting = [asyncio.create_task(taken(c, what)) for what in ("wanted", *shared)]
            if must_wait:
                await eventually(lambda: any(each.waiting for each in c.instances.values()), "c waits")
            await crash(b, a, c)
            got = [hold for task in waiting for hold in await task]
            assert not must_wait or got[-1].fence > max(hold.fence for hold in (*killed, *kept))
            assert [hold.fence for hold in kept] == fences
            assert [hold.slots for hold in kept] == slots
            assert all(hold.valid for hold in kept)
            for node, what in [(a, what) for what in shared] + [(c, "kept")] * (places == 1):
                assert await lock(node, what).acquire(blocking=False) is None, f"{what} is full"
            await asyncio.gather(*(hold.release() for hold in (*kept, *got)))
            await contend(a, c)

    async def contend(*nodes: Node) -> None:
        """In the new epoch, from where it was begun with somebody inside."""
        witness = Witness()

        async def visit(node: Node) -> None:
            for _ in range(10):
                hold = await lock(node, "kept").acquire_or_raise(None)
                with witness.inside_with("kept", node.name, hold.fence, places, hold.slot):
                    await asyncio.sleep(0)
                await hold.release()

        await asyncio.gather(*(visit(node) for node in nodes for _ in range(3)))
        assert not witness.problems()
        assert witness.finding("kept").entries == 60

    run(go())


def test_a_holder_vanishes_where_everybody_has_to_ask() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER, algorithm="raynal") as (a, b, c):
            witness, inside = Witness(remember=True), asyncio.Event()

            async def visit(node: Node) -> None:
                while True:
                    hold = await node.lock("wanted").acquire_or_raise(None)
                    with witness.inside_with("wanted", node.name, hold.fence):
                        if node is b:
                            inside.set()
                            await asyncio.sleep(3600)
                    await hold.release()

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(visit(node)) for node in (a, b, c)]
                await inside.wait()
                await crash(b, a, c)
                (killed,) = witness.inside
                witness.gone(killed)
                before = witness.entries
                await eventually(lambda: witness.entries > before + 10, "the others go on")
                for task in tasks:
                    task.cancel()
            assert not [each for each in witness.problems() if "but was not inside" not in each]
            entered = {holder for holder, fence in witness.finding("wanted").order if fence > killed.fence}
            assert entered == {"a", "c"}

    run(go())
