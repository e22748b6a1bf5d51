"""A pool of two GPUs for six jobs, shared with a semaphore. Here all nodes live in one process, as in a notebook."""

from __future__ import annotations

import asyncio

from soloist import MemoryHub, Node

GPUS = 2


async def main() -> None:
    hub = MemoryHub()
    names = ["ada", "bob", "cy"]
    nodes = [
        await Node(name, dict.fromkeys(names, ""), transport=hub.transport(name)).start() for name in names
    ]
    busy = 0

    async def job(node: Node, number: int) -> None:
        nonlocal busy
        async with node.semaphore("gpu", GPUS, note=f"job {number}"):
            busy += 1
            print(f"job {number} of {node.name} runs, {busy} of {GPUS} busy")
            assert busy <= GPUS
            await asyncio.sleep(0.01)
            busy -= 1

    await asyncio.gather(*(job(node, number) for number, node in enumerate(nodes * 2)))
    for node in nodes:
        await node.close()


if __name__ == "__main__":
    asyncio.run(main())
