"""Who gets the processor: callers that are let in, and peers that want to be heard."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

from soloist.net.engine.instance import Instance
from soloist.net.engine.ticket import Effects
from soloist.net.link.transport import Transport

sched_yield = getattr(os, "sched_yield", lambda: None)

TURN_SECONDS = 0.005
"""Seconds that callers who find their lock here may go on before the loop has a turn, whatever there is to read:
new connections, calls to peers and timers need turns, too."""
LOOK_SECONDS = 0.00005
"""Seconds. Whether a peer wants a lock that none has wanted lately is looked at no more often: to ask the system costs
as much as a tenth of an entry."""
LISTEN_TURNS = 4
"""Turns of the loop that may pass until what has arrived is read; two are the rule."""


class Turns:
    """The turns of one node's loop, and of its process."""

    def __init__(self, transport: Transport, effects: Effects) -> None:
        self.transport = transport
        self.roused = effects.roused
        self.clock: Callable[[], float] = time.monotonic
        """Where there are leases, theirs: so one look at it serves the door and us."""
        self.entered = 0.0
        """When somebody here was last let in."""
        self.due = TURN_SECONDS
        """From when on the next caller lets the loop have a turn."""
        self.heeded = False
        """Whether the code that runs at this moment is no task, and rouses them itself."""

    def rouse_soon(self) -> None:
        """Let those go on who need wait no longer, in the next turn of the loop."""
        if self.heeded:
            return
        callers = self.roused[:]
        self.roused.clear()
        for caller in callers:
            caller.wake_soon()

    def rouse_now(self) -> None:
        """Let them go on here and now: only where no task is running."""
        while self.roused:
            caller = self.roused.pop(0)
            if wake := caller.wake:
                caller.context.run(wake, caller)

    def deaf(self, instance: Instance) -> bool:
        """Callers here have taken this lock so often in a row that it is time to look: does somebody else want it?

        A caller that finds the lock here takes it without a turn of the loop. If it did nothing else, no peer
        would be heard any more.
        """
        instance.unheard = 0
        if not instance.contended:
            if self.entered < instance.look_after:
                return False
            instance.look_after = self.entered + LOOK_SECONDS
            return self.transport.unread()
        if self.transport.unread():
            return True
        instance.contended -= 1
        sched_yield()  # a peer that wants it may be about to say so, and wait for this processor
        return self.transport.unread()

    async def listen(self) -> None:
        """Let what peers have said be read."""
        for _ in range(LISTEN_TURNS):
            await asyncio.sleep(0)
            if not self.transport.unread():
                break
        self.due = self.clock() + TURN_SECONDS
