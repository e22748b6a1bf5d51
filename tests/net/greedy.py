"""A process that takes locks again and again and awaits nothing else: `python -m tests.net.greedy NAME PEERS LOCKS`.

Of several names it takes one after the other, for ever.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
import sys

from soloist.net import Node


async def main(name: str, peers: dict[str, str], names: list[str]) -> None:
    async with Node(name, peers, shortcut=False) as node:
        for lock in itertools.cycle([node.lock(name) for name in names]):
            async with lock:
                pass


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], ast.literal_eval(sys.argv[2]), sys.argv[3].split(",")))
