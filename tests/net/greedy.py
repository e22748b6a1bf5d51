"""A process that takes locks again and again and awaits nothing else; of several, one after the other.

Without a lease: a node that has lost its lease lets its callers wait, and so has turns whatever these do.
"""

from __future__ import annotations

import asyncio
import itertools
from multiprocessing.connection import Connection

from soloist.net import Node


def be_greedy(name: str, peers: dict[str, str], names: list[str], pipe: Connection) -> None:
    asyncio.run(_be_greedy(name, peers, names))


async def _be_greedy(name: str, peers: dict[str, str], names: list[str]) -> None:
    async with Node(name, peers, shortcut=False, lease=None) as node:
        for lock in itertools.cycle([node.lock(name) for name in names]):
            async with lock:
                pass
