"""What one client has, over all its connections: a client that has too much of it is stopped before others notice.

A client is who has shown a name, by a certificate or by a secret of its own. Those who share a secret, or need none, are told
apart by their hosts.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from soloist.core import UsageError
from soloist.net.service.rights import Limits

QUESTIONS = 64
"""Of one client that are asked of all nodes at a time. The next ones wait; after a timeout nobody is asked who has the lock."""


MOST_TOLD = 5
"""Lines per second in the log about what a client leaves behind, one each: one that means harm must not fill the disk."""


class Account:
    """Of one client at one door. `who` is what it is called in errors."""

    def __init__(self, who: str, limits: Limits) -> None:
        self.who, self.limits = who, limits
        self.connections = 0
        self.sessions = 0
        self.waiting = 0
        self.holds = 0
        self.asking = asyncio.Semaphore(QUESTIONS)
        self._names = 0
        self._epoch = -1
        self._told, self._told_since = 0, -math.inf

    @contextmanager
    def waits(self) -> Iterator[None]:
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    def tells(self) -> bool:
        """Whether one more line of it belongs in the log."""
        if (now := time.monotonic()) - self._told_since >= 1:
            self._told, self._told_since = 0, now
        self._told += 1
        return self._told <= MOST_TOLD

    def check_connection(self) -> None:
        """For one more."""
        if self.connections >= self.limits.share:
            raise UsageError(self._too_many(f"have {self.limits.share} connections"))

    def check_session(self) -> None:
        """For a new one. Those that are there may be without a connection, and come back."""
        if self.sessions >= self.limits.share:
            raise UsageError(self._too_many(f"have {self.limits.share} sessions"))

    def check_room(self) -> None:
        """For one more request."""
        if self.waiting >= self.limits.waiting:
            raise UsageError(self._too_many(f"have {self.limits.waiting} requests that wait"))
        if self.holds >= self.limits.holds:
            raise UsageError(self._too_many(f"hold {self.limits.holds} locks at a time"))

    def brings_in_name(self, epoch: int) -> None:
        """Counted until the epoch changes: names that nobody uses are forgotten then."""
        if epoch != self._epoch:
            self._names, self._epoch = 0, epoch
        if self._names >= self.limits.names:
            raise UsageError(
                self._too_many(
                    f"bring in {self.limits.names} names until a change of view forgets the unused"
                )
            )
        self._names += 1

    def nothing(self, epoch: int) -> bool:
        """Whether there is nothing to remember of it."""
        return not (self.connections or self.sessions or (self._names and self._epoch == epoch))

    def _too_many(self, what: str) -> str:
        return f"a client may {what}, and {self.who} has reached that"
