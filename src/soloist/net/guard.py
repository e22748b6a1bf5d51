"""The other half of a fence: whatever a lock protects refuses what comes from an earlier holder."""

from __future__ import annotations

import threading

from soloist.core import whole
from soloist.net.arguments import check_name
from soloist.net.errors import LockError


class StaleFence(LockError):
    """A write by a holder that has been overtaken."""


class FenceGuard:
    """Remembers the highest fence seen for each name, in memory, and refuses lower ones.

    For a database do the same where the data is: `UPDATE … SET …, fence = :fence WHERE id = :id AND fence <= :fence`,
    and treat "no row was changed" as `StaleFence` (see docs/locks.md).
    """

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}
        self._mutex = threading.Lock()

    def __repr__(self) -> str:
        with self._mutex:
            seen = ", ".join(f"{name!r} {fence}" for name, fence in self._highest.items())
        return f"<FenceGuard: {seen or 'nothing seen yet'}>"

    def check(self, name: str, fence: int) -> None:
        """Accept this fence, or raise `StaleFence` if a higher one has been accepted."""
        name, fence = check_name(name), whole("a fence", fence)  # after NaN, say, it would accept anything
        with self._mutex:
            highest = self._highest.get(name, 0)
            if fence < highest:
                raise StaleFence(f"{name!r}: fence {fence} is stale, {highest} has been here", name=name)
            self._highest[name] = fence
