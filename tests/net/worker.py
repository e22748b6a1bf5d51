"""A worker: one node in a process of its own that enters so many times, before the eyes of the witness.

python -m tests.net.worker '{"name": "a", "peers": {…}, "entries": 100, "witness": ["127.0.0.1", 9], …}'
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from soloist.net import Lock, Node
from tests.net.witness import Link


def lock_of(node: Node, task: dict[str, Any]) -> Lock:
    if task["capacity"] == 1:
        return node.lock("shared", timeout=task["timeout"])
    return node.semaphore("shared", task["capacity"], timeout=task["timeout"])


async def visit(lock: Lock, link: Link, me: str, entries: int) -> None:
    for _ in range(entries):
        async with lock as hold:
            await link.say(f"+ {me} {hold.fence}")
            await link.say(f"- {me} {hold.fence}")


async def main(task: dict[str, Any]) -> None:
    me = task["name"]
    link = await Link.to(task["witness"])
    async with Node(me, task["peers"], **task["options"]) as node:
        await link.say("ready")
        await visit(lock_of(node, task), link, me, task["entries"])
        await link.say("done")
        stats = node.stats
        await link.close()
    print(json.dumps({"entries": stats.entries, "messages": stats.messages_sent}))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
