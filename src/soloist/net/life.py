"""Whether a node can be used: by this process, in this loop, at this time."""

from __future__ import annotations

import asyncio
from threading import get_ident

from soloist.core import UsageError
from soloist.net.errors import NodeClosed
from soloist.net.shown import Shown


class Life(Shown):
    """Started in one loop, closed once, and never of use in the child of a fork."""

    _shown = "closed name started"
    what = "node"
    """In words to users."""
    loop: asyncio.AbstractEventLoop
    """Once it is started."""
    thread: int
    """The thread of that loop."""
    for_threads = "SyncNode"
    started = False
    closed = False
    forked = False
    """Whether this is a copy in the child of a fork; the sockets are the parent's."""
    usable = False
    """Started, and neither closed nor forked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def begin_life(self) -> None:
        """In the loop that runs."""
        self.loop, self.thread = asyncio.get_running_loop(), get_ident()
        self.started = True

    @property
    def at_home(self) -> bool:
        """Whether there is somebody left to tell, and something to tell it with: not in a child, nor without a loop."""
        return not self.forked and not (self.started and self.loop.is_closed())

    def check_usable(self) -> None:
        """Raise if this node is no longer, or is in the child of a fork, where its connections are not."""
        if self.closed:
            raise NodeClosed(f"{self.what} {self.name!r} is closed")
        self.check_process()
        if not self.started:
            raise NodeClosed(f"{self.what} {self.name!r} has not been started; use it with `async with`")

    def check_process(self) -> None:
        """Raise in the child of a fork, where the sockets are the parent's."""
        if self.forked:
            raise NodeClosed(
                f"{self.what} {self.name!r} belongs to the parent of this process; make a new one here"
            )

    def check_loop(self) -> None:
        """Raise unless the loop that runs is that of this node. There is one thread for it, and no other."""
        self.check_process()
        if self.loop.is_closed():
            raise NodeClosed(
                f"the event loop of {self.what} {self.name!r} is closed; start a new {self.what} in this one"
            )
        if asyncio.get_running_loop() is not self.loop:
            raise UsageError(
                f"{self.what} {self.name!r} belongs to another event loop; use it there (for threads there is {self.for_threads})"
            )
