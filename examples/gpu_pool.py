"""A pool of two GPUs for six jobs, shared with a semaphore. Here all nodes live in one process, as in a notebook.

The algorithm has a token for each GPU, so a job learns from `hold.slot` which one is its own.
"""

from __future__ import annotations

import asyncio

from soloist import MemoryHub, Node

GPUS = 2


async def main() -> None:
    hub = MemoryHub()
    names = ["ada", "bob", "cy"]
    peers = dict.fromkeys(names, "")
    nodes = [
        await Node(
            name, peers, semaphore_algorithm="bulgannawar-vaidya", transport=hub.transport(name)
        ).start()
        for name in names
    ]
    busy: set[int | None] = set()

    async def job(node: Node, number: int) -> None:
        async with node.semaphore("gpu", GPUS, note=f"job {number}") as hold:
            assert hold.slot not in busy
            busy.add(hold.slot)
            print(f"job {number} of {node.name} runs on GPU {hold.slot}")
            await asyncio.sleep(0.01)
            busy.remove(hold.slot)

    await asyncio.gather(*(job(node, number) for number, node in enumerate(nodes * 2)))
    for node in nodes:
        await node.close()


if __name__ == "__main__":
    asyncio.run(main())
