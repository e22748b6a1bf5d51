"""Waiting for something to be so, instead of for some time to pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which what was waited for counts as never coming. Generous: machines are busy."""


async def eventually(holds: Callable[[], T], what: str = "", seconds: float = PATIENCE) -> T:
    """Wait until something is so, and return it. `what` is said where it never comes to that."""
    try:
        async with asyncio.timeout(seconds):
            while not (found := holds()):
                await asyncio.sleep(0.005)
            return found
    except TimeoutError:
        raise AssertionError(f"it never came to this: {what or holds}") from None


def until(holds: Callable[[], T], what: str = "", seconds: float = PATIENCE) -> T:
    """The same for threads."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"it never came to this: {what or holds}")
        time.sleep(0.01)
    return found
