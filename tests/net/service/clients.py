"""What tests do with clients of one daemon."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from soloist.net import Client, Hold


def take(
    client: Client,
    name: str,
    *,
    value: int | None = None,
    permits: int = 1,
    timeout: float | None = None,
    **options: Any,
) -> Coroutine[Any, Any, Hold]:
    """Wait for a lock, or for a semaphore of that value."""
    options["on_lost"] = "flag"
    if value is None:
        return client.lock(name, **options).acquire_or_raise(timeout)
    return client.semaphore(name, value, permits=permits, **options).acquire_or_raise(timeout)
