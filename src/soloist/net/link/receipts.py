"""Telling peers that we have what they said, where no batch of ours does.

It takes a message by itself, and wakes a process for nothing else. So it waits: first for a batch that goes back
anyhow, and then, as long as much is said, for longer, since there will be one soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soloist.net.link.peer import Peer

LOOK_SECONDS = 0.05
"""Seconds from when something came until we look whether it was acknowledged."""
BUSY_LOOKS = 5
"""How many times as long that may take while more and more comes, from whomever."""


class Receipts:
    """One timer for all connections of a node: each wakes the process, and there may be many connections."""

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self.peers = peers
        self.timer: asyncio.TimerHandle | None = None
        self._heard = 0
        """Batches that had come when the timer was set."""
        self._busy = 0
        """Looks in a row that found more."""

    def look_later(self) -> None:
        self._heard = self._batches()
        self.timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def close(self) -> None:
        if self.timer:
            self.timer.cancel()

    def _batches(self) -> int:
        return sum(peer.received for peer in self.peers.values())

    def _look(self) -> None:
        """Tell those peers what we have that no batch of ours has told since we last looked; unless we are busy."""
        self.timer = None
        self._busy = self._busy + 1 if self._batches() > self._heard else 0
        behind = self._busy % BUSY_LOOKS > 0
        if not behind:
            for peer in self.peers.values():
                if peer.connection and peer.received > peer.acknowledged:
                    behind |= not peer.connection.acknowledge_unless_told()
        if behind:
            self.look_later()
