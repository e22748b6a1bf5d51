"""How many files this process may have open: each connection is one, and a client that takes the last of them harms everybody."""

from __future__ import annotations

import contextlib
import resource

ENOUGH = 65_536
FOR_OTHERS = 512
"""Left for peers, for clients on this host, and for all else."""


def raise_limit() -> None:
    """As far as we may, for a daemon: many shells set it to 1024, which is less than the clients that are let in."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def room(wanted: int) -> int:
    """So many connections, or as many as there may be while files are left for others."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, max(soft - FOR_OTHERS, soft // 2)))
    )
