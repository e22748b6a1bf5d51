"""`soloist status --live` and `--ready`: what is asked of a daemon again and again, answered in time and in a word."""

from __future__ import annotations

import asyncio

from soloist.cli.output import print_json
from soloist.net.client import operator
from soloist.net.client.client import Client
from soloist.net.errors import NodeClosed
from soloist.net.service.dialogue import Status

PROBE_SECONDS = 5.0
"""Seconds for a daemon to say how it is."""


async def asked(client: Client) -> Status:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await operator.status(client)
    except TimeoutError:
        raise NodeClosed(f"the daemon at {client.name} does not answer") from None


def tell(found: Status, ready: bool, json: bool) -> str:
    """Print it; gives what is wrong, or nothing."""
    why = found.unready if ready else ""
    if json:
        print_json({"node": found.node, "live": True, "ready": not found.unready, "why": found.unready})
    elif not why:
        print("ready" if ready else "live")
    return why
