"""A caller of a lock, and what all locks of a node share: what instances and their node hand each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import NamedTuple, Protocol

from soloist.core import Site
from soloist.net.engine.summons import Summons
from soloist.net.link.wire import Envelope
from soloist.views import Holder

FENCE_BITS = 40
"""Bits of the counter: fence = epoch << 40 | counter is below 2^63, and a new epoch is above all that was before."""


class Ticket:
    """A caller: first in the local queue, then inside.

    It is let in or failed, once, unless it is withdrawn before. Where it is let in at once, no future is made.
    """

    error: Exception | None = None
    """Why it failed."""
    fence = 0
    """Not 0 once it is let in."""
    site: Site = -1
    """By which of our sites."""
    slot: int | None = None
    """Which of the K places it has, where the algorithm tells them apart."""
    passed = 0
    """How often in a row the site's place has been passed on from caller to caller."""
    released = False
    known = False
    """Whether its member has been told of it: then it is to be told of its end, too."""
    registration: Holder | None = None
    """What they were told of it."""

    def __init__(self, delay: float | None = None) -> None:
        """What each entry looks at is here: an attribute of its own is found faster than one of its class."""
        self.gone = False
        """Let in, failed or withdrawn: no longer waiting."""
        self.future: Summons | None = None
        """What the caller awaits. If that is cancelled, though the caller has not run since, it is not let in."""
        self.delay = delay
        """Not None if voters must know of its hold: how long nobody else gets in after its loss (see `Registration`)."""
        self.entered = 0.0
        """When it was let in, on the clock of its node's turns, if the door has looked at that clock."""
        self.lost = False
        """Whether it was inside when its lease ran out, or when its node was left out of a view."""
        self.shares = 1
        """How many holds of it its holder has: a reentrant lock may be taken again."""

    def fail(self, error: Exception) -> None:
        """It will never be let in, and is told so in the next turn of the loop."""
        self.gone, self.error = True, error
        if self.future and not self.future.done():
            self.future.set_result(None)
            self.future.wake_soon()


class Caller(NamedTuple):
    """A ticket, and what it is for."""

    lock: str
    capacity: int
    ticket: Ticket


class Effects:
    """What instances want done by their node, which looks here after each step of one. Always the same lists."""

    def __init__(self) -> None:
        self.sends: list[tuple[int, Envelope]] = []
        """Messages, with the number of the node that each is for."""
        self.roused: list[Summons] = []
        """Callers that need wait no longer, and have not been told."""


class Cancellable(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[..., Cancellable]
"""As the event loop's `call_later`."""


class Validity(Protocol):
    """Whether what is held is good."""

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        """Whether a hold is good at this moment."""


class Opening:
    """A while in which a door stays open as it is. It ends once, and for good: then there is another one, or none."""

    __slots__ = ("clock", "ends", "until")

    def __init__(self, until: float, clock: Iterator[float]) -> None:
        self.ends = self.until = until
        """When nobody may go in any more, on the clock of the door; long ago, once the door was closed. What it was before."""
        self.clock = clock
        """The next that it gives is the time at that moment: `next` reaches the system's clock in fewer steps than a call of a call."""

    def close(self) -> None:
        self.ends = -math.inf


NEVER = Opening(-math.inf, repeat(0.0))
"""Of a room that has not been entered yet."""


class Room(Protocol):
    """What a door leads to: one lock, in one epoch."""

    opening: Opening
    """The one in which its door has heard of it last. As long as that lasts the door need not be told who goes in or out."""

    @property
    def lock(self) -> str: ...
    @property
    def capacity(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def inside(self) -> dict[Site, Ticket]: ...


class Door(Validity, Protocol):
    """Whether callers may go in at this moment: asked at each entry. Without one they always may.

    Who goes in is put among those inside, and who goes out is taken from there; then it looks at the clock, and last at when the
    room's opening ends. If that is later, that is all.
    """

    def enter(self, room: Room, ticket: Ticket) -> bool:
        """Where that look did not tell: whether it may stay inside. If so, the hold is known of once that matters; if not, it is there no more."""

    def leave(self, room: Room, ticket: Ticket) -> bool:
        """The hold has ended. Whether the algorithm may go on in that epoch."""

    def register(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> Holder | None:
        """Have voters told of the hold that is to begin; None if nobody may go in at this moment."""

    def begin(self, epoch: int, ticket: Ticket) -> bool:
        """As `enter`, for a hold that was registered: not before a majority of voters knows."""

    def forgo(self, ticket: Ticket) -> None:
        """A hold that was registered will not begin."""

    def abandon(self, ticket: Ticket) -> None:
        """A registered hold is lost."""


class Terms(NamedTuple):
    """What all instances of one epoch share."""

    effects: Effects
    epoch: int = 0
    locality: int = 1
    call_later: CallLater | None = None
    door: Door | None = None
    fences: int = 0
    """The first half of their fences, if that is not the epoch."""
