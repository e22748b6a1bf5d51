"""What a lock needs of what it belongs to: a node of this process, or a client of one elsewhere.

`Lock`, `RLock`, `Semaphore`, `Locks` and `Hold` are the same for both, and so are the rules that they keep. They differ
in who deals with a request: the switchboard of a node is called at once; a client asks its node, and waits for the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from soloist.net.engine.holdings import Holdings
    from soloist.net.engine.outgoing import Stats
    from soloist.net.engine.switchboard import Switchboard
    from soloist.net.engine.ticket import Ticket
    from soloist.net.hold import Hold
    from soloist.net.lock import Lock
    from soloist.net.telemetry.observer import Observer


class Latest(Protocol):
    """Where it is noted when somebody was let in, and on which clock."""

    entered: float
    due: float
    """From when on the next caller lets the loop have a turn. A client looks at it nowhere: each of its requests takes one."""
    clock: Callable[[], float]


class Home(Protocol):
    """A node, or a client: nothing more of it is used by locks and holds."""

    what: str
    """What it is, in words to users."""
    name: str
    loop: asyncio.AbstractEventLoop
    thread: int
    usable: bool
    forked: bool

    @property
    def voting(self) -> str: ...

    @property
    def board(self) -> Switchboard | None:
        """Where requests are dealt with in this process; None if that is elsewhere."""

    @property
    def table(self) -> Holdings: ...

    @property
    def holds(self) -> dict[str, list[Hold]]: ...

    @property
    def observers(self) -> Sequence[Observer]: ...

    @property
    def stats(self) -> Stats: ...

    @property
    def turns(self) -> Latest: ...

    def descriptors(self) -> list[int]:
        """The files that belong to it alone."""

    def check_usable(self) -> None: ...

    def check_process(self) -> None: ...

    def check_loop(self) -> None: ...

    def trouble(self) -> str: ...

    async def obtain(self, lock: Lock, timeout: float | None) -> list[Ticket]:
        """Have the lock granted elsewhere, or raise. Cancelled, the request is withdrawn."""

    def release(self, lock: str, ticket: Ticket) -> None: ...

    def let_go(self, hold: Hold) -> None:
        """The body of a hold that was lost has ended; the node that granted it may have it back."""

    def lose(self, lock: str, fence: int, why: str) -> None:
        """A hold is good no longer: its body is told, and the lock goes on to the next one."""


__all__ = ["Home", "Latest"]
