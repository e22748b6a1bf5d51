"""A node in a process of its own that takes and keeps what it is told to, line by line.

    python -m tests.net.keeper '{"name": "a", "peers": {…}}'

`grab NAME… SECONDS` answers with the fence, or with what the caller was told, for each name; `free NAME… 0` gives them
back; `close` closes the node and ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from soloist.net import Hold, LockError, Node

HOLDS: dict[str, Hold] = {}


async def grab(node: Node, name: str, timeout: float) -> int | str:
    try:
        HOLDS[name] = await node.lock(name).acquire_or_raise(timeout)
    except LockError as error:
        return f"{type(error).__name__}: {error}"
    return HOLDS[name].fence


async def free(node: Node, name: str, timeout: float) -> int | str:
    hold = HOLDS.pop(name)
    await hold.release()
    return hold.fence


async def main(task: dict[str, Any]) -> None:
    async with Node(task["name"], task["peers"], **task.get("options", {})) as node:
        print(json.dumps("started"), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, *words = line.split()
            if command == "close":
                return
            names, timeout = words[:-1], float(words[-1])
            do = {"grab": grab, "free": free}[command]
            found = await asyncio.gather(*(do(node, name, timeout) for name in names))
            print(json.dumps(dict(zip(names, found, strict=True))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
