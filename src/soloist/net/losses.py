"""How a hold comes to be lost though its lock was not released, and how its holder is told."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from soloist.net.hold import Hold

log = logging.getLogger("soloist.net")

H = TypeVar("H")

LEASE_OVER = "its lease has run out, or a view was made without it"


def tell(on_lost: Callable[[H], None], hold: H) -> None:
    """Call a user's function. Whatever it does, others may have lost their locks as well, and must hear of it."""
    try:
        on_lost(hold)
    except Exception:
        log.exception("on_lost failed for %r", hold)


def abandon(hold: Hold, why: str) -> None:
    """Its holder is gone and did not release it. That is a release, unless voters know of the hold."""
    if hold.lock.delay is None:
        hold.release_now()
    else:
        _lose(hold, why)


def _lose(hold: Hold, why: str) -> None:
    for fence in hold.fences:
        hold.node.lose(hold.key[0], fence, why)


class Limit:
    """The `max_hold` of one hold. It rings by itself; a caller that asks before, because the loop is busy, asks the clock."""

    def __init__(self, hold: Hold, seconds: float) -> None:
        self._hold = hold
        self._end = hold.since + seconds
        self.why = f"it was held for longer than max_hold ({seconds:g} s)"
        self._timer = hold.node.loop.call_later(self._end - time.monotonic(), self.ring)

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end

    def ring(self) -> None:
        """The lock goes to the next one, whatever the body does."""
        _lose(self._hold, self.why)

    def cancel(self) -> None:
        self._timer.cancel()
