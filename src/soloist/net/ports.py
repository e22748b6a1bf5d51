"""Ports for clusters on one machine: for the demo, the benchmark and the examples."""

from __future__ import annotations

import contextlib
import random
import socket
from contextlib import ExitStack

LOWEST, HIGHEST = 15_000, 32_000
"""Below those that Linux gives to whoever dials, or a node that dials might get the port of one that starts later."""


def free_ports(count: int) -> list[int]:
    """So many ports that nobody listens at, all different."""
    found: list[int] = []
    with ExitStack() as held:
        for port in random.sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
            if len(found) == count:
                break
            one = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
    return found
