"""Clients are cut off, and what they ask for is cancelled, at any moment: nobody is ever inside with another, and nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from soloist.net import Client, LockError, Node, connect
from soloist.net.client import contact
from soloist.net.client.line import dial
from soloist.testing import eventually
from tests.net.client.test_session import cut, served
from tests.net.helpers import assert_at_rest, log_lines, run, settled

CUTS = 60
PERMITS = 3


class Contenders:
    """Of two locks, and of a semaphore of three."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.inside = Counter[str]()
        self.over = False

    async def turns(self, *how_many: int) -> None:
        for _ in range(self.draw.choice(how_many)):
            await asyncio.sleep(0)

    async def contend(self, home: Node | Client) -> None:
        draw = self.draw
        while not self.over:
            permits, name = draw.choice(((0, "x"), (0, "y"), (1, "s"), (2, "s")))
            lock = home.lock(name, on_lost="flag")
            if permits:
                lock = home.semaphore(name, PERMITS, permits=permits, on_lost="flag")
            asked = asyncio.create_task(lock.acquire_or_raise(draw.choice((None, None, 0, 0.001, 5))))
            if draw.random() < 0.5:
                await self.turns(0, 1, 3, 6, 12)
                await asyncio.sleep(draw.choice((0, 0, 0.002)))
                asked.cancel()
            with suppress(LockError, asyncio.CancelledError):
                hold = await asked
                self.inside[name] += permits or 1
                assert self.inside[name] <= (PERMITS if permits else 1)
                await self.turns(0, 1, 3, 6)
                assert hold.valid
                self.inside[name] -= permits or 1
                await hold.release()


@pytest.mark.parametrize("seed", range(3))
def test_cut_off_and_cancelled_at_any_moment(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    contenders = Contenders(draw)

    async def slowly(*call: Any) -> Any:
        await contenders.turns(0, 0, 1, 3, 8)
        found = await dial(*call)
        await contenders.turns(0, 0, 1, 3, 8)
        return found

    monkeypatch.setattr(contact, "dial", slowly)

    async def scenario() -> None:
        async with served("a", lease=60) as (nodes, (server,), (where,)):
            async with AsyncExitStack() as stack:
                clients = [await stack.enter_async_context(connect(f"soloist://{where}")) for _ in range(3)]
                homes: list[Node | Client] = [*clients, *clients, *nodes]
                async with asyncio.TaskGroup() as group:
                    for home in homes:
                        group.create_task(contenders.contend(home))
                    for _ in range(CUTS):
                        await asyncio.sleep(draw.choice((0, 0.001, 0.01)))
                        client = draw.choice(clients)
                        if client.contact.line:
                            cut(client)
                    contenders.over = True
                await settled([nodes[1]])  # nobody waits for what somebody has left behind
                # What was given back while there was no connection is said over the next one.
                await eventually(lambda: not any(each.requests.live() for each in server.sessions.values()))
            await settled(nodes)
            assert_at_rest(nodes)

    with log_lines():
        run(scenario())
