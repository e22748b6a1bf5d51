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


def options_for(name: str) -> dict[str, Any]:
    return {"semaphore_algorithm" if CATALOGUE[name].capacity == "K" else "algorithm": name}


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_holder_vanishes(name: str) -> None:
    places = 2 if CATALOGUE[name].capacity == "K" else 1

    def lock(node: Node, what: str) -> Lock:
        return node.lock(what) if places == 1 else node.semaphore(what, places)

    async def taken(node: Node, what: str, times: int) -> list[Hold]:
        return [await lock(node, what).acquire_or_raise(None) for _ in range(times)]

    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER, **options_for(name)) as (a, b, c):
            kept = [*await asyncio.create_task(taken(a, "kept", 1)), *(await taken(a, "both", places - 1))]
            fences, slots = [hold.fence for hold in kept], [hold.slots for hold in kept]
            killed = await taken(b, "wanted", places) + await taken(b, "both", 1)
            waiting = [asyncio.create_task(taken(c, what, 1)) for what in ("wanted", "both")]
            await eventually(lambda: sum(each.waiting for each in c.instances.values()) == 2, "c waits")
            await crash(b, a, c)
            got = [hold for task in waiting for hold in await task]
            assert min(hold.fence for hold in got) > max(hold.fence for hold in (*killed, *kept))
            assert [hold.fence for hold in kept] == fences
            assert [hold.slots for hold in kept] == slots
            assert all(hold.valid for hold in kept)
            for node in (a, c):  # what is held is full, or nearly so
                assert await lock(node, "both").acquire(blocking=False) is None
            if places == 1:
                assert await lock(c, "kept").acquire(blocking=False) is None
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
