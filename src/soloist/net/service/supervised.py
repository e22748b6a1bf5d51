"""What a service manager hears, if it started us and wants to know (systemd, `Type=notify`): ready, how we are, alive, stopping."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soloist.net.node import Node

LOOK_SECONDS = 1.0
"""Seconds between two looks for anything new to say."""


def say(*words: str) -> None:
    """Tell it, in words of sd_notify(3). Where nobody listens, nobody is told."""
    if where := os.environ.get("NOTIFY_SOCKET"):
        address = "\0" + where[1:] if where.startswith("@") else where
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto("\n".join(words).encode(), socket.MSG_DONTWAIT, address)


def watchdog() -> float | None:
    """How many seconds we may be silent before it takes us for hung; None: as long as we like."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        return int(os.environ["WATCHDOG_USEC"]) / 1e6
    except (KeyError, ValueError):
        return None


async def report(node: Node) -> None:
    """Say how the node is whenever that changes; and that the loop turns, as often as somebody wants to hear it."""
    told, limit = "", watchdog()
    while True:
        if (found := unready(node) or f"ready, epoch {node.epoch}") != told:
            told = found
            say(f"STATUS={' '.join(told.split())}")
        if limit is not None:
            say("WATCHDOG=1")
        await asyncio.sleep(LOOK_SECONDS if limit is None else min(LOOK_SECONDS, limit / 3))


def unready(node: Node) -> str:
    """Why nobody would be let in here at this moment, apart from holders; nothing if somebody would.

    A node that only votes is ready when it has a vote.
    """
    beginning = node.beginning
    council = beginning.council
    if node.voter_only:
        votes = node.name in beginning.voters() and not (council and council.votes.bad)
        return "" if votes else node.trouble() or "it has no vote"
    if beginning.open and (council is None or council.leased):
        return ""
    return beginning.starved or node.trouble() or "this node has no lease at the moment"
