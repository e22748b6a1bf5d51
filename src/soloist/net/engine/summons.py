"""A future that can wake its task at once.

A future wakes the task that awaits it in the next turn of the loop. So it must be where somebody else is in the middle of
something. But a node that has just read what a peer said has nothing else to do, and a turn of the loop for each
entry is a good part of what an entry costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any


class Summons(asyncio.Future[None]):
    """What one task awaits, and nobody else. It ends by `set_result`; then wake the task, now or soon.

    Now is `summons.context.run(summons.wake, summons)`: the task goes on within that call. So it may be only where
    no task runs: in a callback of the loop.
    """

    wake: Callable[[asyncio.Future[None]], object] | None = None
    """None if no task awaits it after all: one of another loop, for example, which asyncio refuses."""
    context: Context

    def add_done_callback(self, wake: Callable[[Any], object], *, context: Context | None = None) -> None:
        assert context is not None  # tasks tell theirs
        self.wake, self.context = wake, context

    def wake_soon(self) -> None:
        """Let the task go on in the next turn of the loop."""
        if self.wake:
            self.get_loop().call_soon(self.wake, self, context=self.context)

    def cancel(self, msg: Any | None = None) -> bool:
        if not super().cancel(msg):
            return False
        self.wake_soon()
        return True
