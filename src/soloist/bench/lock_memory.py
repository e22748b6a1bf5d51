"""What an idle lock costs: many names, each used once at every node, in one process.

Run as a module it does that and prints what it found: in a process of its own nothing else is counted.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from pathlib import Path

import msgspec

from soloist.core import UsageError
from soloist.net import MemoryHub, Node


class Idle(msgspec.Struct, frozen=True):
    """`bytes_per_name` is what one name costs at one node."""

    names: int
    nodes: int
    bytes_per_name: float


def measure(names: int = 10_000, nodes: int = 5) -> Idle:
    command = [sys.executable, "-m", __name__, str(names), str(nodes)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise UsageError(f"memory cannot be measured here: {done.stderr.decode().splitlines()[-1]}")
    return msgspec.json.decode(done.stdout, type=Idle)


def _resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


async def use_once(names: int, nodes: int) -> Idle:
    hub = MemoryHub()
    peers = {f"n{index}": f"127.0.0.1:{index + 1}" for index in range(nodes)}
    members = [await Node(name, peers, transport=hub.transport(name)).start() for name in peers]
    for node in members:
        async with node.lock("warm up"):
            pass
    gc.collect()
    before = _resident()
    for index in range(names):
        for node in members:
            async with node.lock(f"orders/{index}"):
                pass
    gc.collect()
    after = _resident()
    for node in members:
        await node.close()
    return Idle(names, nodes, (after - before) / (names * nodes))


if __name__ == "__main__":
    print(msgspec.json.encode(asyncio.run(use_once(int(sys.argv[1]), int(sys.argv[2])))).decode())
