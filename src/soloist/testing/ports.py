"""Ports for clusters on one machine."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

LOWEST, HIGHEST = 15_000, 32_000
"""Ports: below those that Linux gives to callers, or a node that calls might get the port of one that starts later."""


@contextmanager
def reserved(count: int) -> Iterator[list[int]]:
    """Ports, all different, that nobody else is given until the end."""
    with ExitStack() as held:
        found: list[int] = []
        for port in random.sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
            if len(found) == count:
                break
            one = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))  # refused where another has bound it: so it is ours alone
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # from now on a server may share it
                found.append(port)
        yield found


@contextmanager
def ports(*names: str) -> Iterator[dict[str, str]]:
    """An address on this machine for each name: bound until the end, but nobody listens there yet.

    A server that sets SO_REUSEADDR may listen there meanwhile, stop, and listen again; those of asyncio do.
    """
    with reserved(len(names)) as found:
        yield {name: f"127.0.0.1:{port}" for name, port in zip(names, found, strict=True)}


def free_ports(count: int) -> list[int]:
    """Ports that nobody has at this moment: for a program that cannot share a port with its keeper."""
    with reserved(count) as found:
        return found
