"""A caller who waits for ever because a peer was never there should learn why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soloist.net.node import Node

log = logging.getLogger("soloist.net")

PATIENCE = 3.0
"""Seconds between two looks."""


def watch_for_absent_peers(node: Node) -> None:
    """Until everybody has been met: if somebody waits for a lock while peers are missing, say so, once."""

    def look() -> None:
        missing = node.missing() if node.usable else []
        if missing and any(instance.waiting for instance in node.instances.values()):
            log.warning(
                "%s: callers wait for locks, and these peers have not been reached: %s",
                node.name,
                ", ".join(missing),
                extra={"missing": missing},
            )
        elif missing:
            node.loop.call_later(PATIENCE, look)

    node.loop.call_later(PATIENCE, look)
