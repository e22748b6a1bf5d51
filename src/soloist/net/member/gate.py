"""Whether callers may go in: between a loop, which may hang, and the thread that renews the lease.

Test and entry are one step (M3), and so are wedging and the report (M4). A mutex is around all that the member does; it is
never held while something is written or waited for.

An entry must cost next to nothing. So what M3 asks of the member is worked out whenever the member changes, in `step`, and
put into an `Opening`: when the lease ends. An entry does without the mutex, as a rule, and without this class: first the caller is put
among those inside, then the instance looks at the clock, once (what it shows also says since when the hold is), and last whether the
opening in which the gate has noted the room ends later than that. A step closes the opening first, so that it has ended long ago, and then gathers who is
inside in the rooms that it has noted. Whichever comes first, the step knows of the entry, or the entry finds the opening closed, and waits for
the mutex to see why. An exit is the same: of whom no step has heard (`Ticket.known`), and who still finds the opening, nobody need be told. As
each opening is closed for good, and the room has its own, an entry cannot miss that the gate was closed and opened again in its middle. That takes
the interpreter's own lock, which lets no two threads see these in another order; without that, it is always the mutex.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from soloist.net.engine.ticket import NEVER, Opening, Room, Ticket
from soloist.net.member.clock import Clock, readings
from soloist.views import Holder, Member, Registration

CLOSED = -2
"""No epoch is this one, and neither is that of a member without a view."""


class Gate:
    """The `Door` of a node with leases."""

    def __init__(self, member: Member, clock: Clock, drain: Callable[[], object]) -> None:
        self.clock, self._readings = clock, readings(clock)
        self.mutex = threading.Lock()
        self._drain = drain
        """Called, without the mutex, if the member has something to say."""
        self._opening = NEVER
        """As rooms have it."""
        self._rooms: set[Room] = set()
        """Those that have noted this opening: who goes in or out there does not say so."""
        self.refused = False
        """Whether somebody was, and waits until the gate is said to be open again."""
        self._unasked = _one_at_a_time()
        """Whether anybody may do so."""
        self.admit(member)

    def admit(self, member: Member) -> None:
        """From now on it is about this one. With the mutex, if somebody else may look."""
        self._close()
        self.member, self._me, self._holds = member, member.me, member.holds
        self._refresh()

    @contextmanager
    def step(self) -> Iterator[Member]:
        """Let the member do something: nobody goes in or out meanwhile."""
        with self.mutex:
            self._close()
            try:
                yield self.member
            finally:
                self._refresh()

    def _close(self) -> None:
        """From now on callers that go in or out say so; and the member hears of those who did not."""
        self._open, self._ends = CLOSED, -math.inf
        self._opening.close()  # and only then
        while self._rooms:
            room = self._rooms.pop()
            for ticket in list(room.inside.values()):
                if not ticket.known:
                    self._keep(room, ticket)

    def _keep(self, room: Room, ticket: Ticket) -> None:
        ticket.known = True
        slot = 0 if room.capacity == 1 else place(ticket)
        self._holds[room.lock, slot] = Holder(room.lock, self._me, ticket.fence, slot, room.capacity)

    def _refresh(self) -> None:
        member = self.member
        if member.view and not (member.wedged or member.leaving or member.ended):
            self._open, self._ends = member.view.epoch, member.lease_ends(member.view)
            self._opening = Opening(self._ends, self._readings)

    def left(self) -> float:
        """Seconds until nobody is let in any more, unless the lease is renewed."""
        return max(0.0, self._ends - self.clock())

    # What instances ask, in the loop.

    def enter(self, room: Room, ticket: Ticket) -> bool:
        """M3, as `Member.enter`: the first entry since a step, or one in whose middle there was one, which may have reported
        it; or nobody may go in. An instance of an earlier epoch, which has not been thrown away yet, lets nobody in."""
        with self.mutex:
            now = ticket.entered = self.clock()
            if room.epoch == self._open and now < self._ends:
                if ticket.known or not self._unasked:
                    self._keep(room, ticket)
                else:
                    self._rooms.add(room)
                    room.opening = self._opening
                return True
            self.refused = True
            del room.inside[ticket.site]  # before the next step looks there
            if ticket.known:
                ticket.known = False
                self.member.release(room.lock, 0 if room.capacity == 1 else place(ticket), now)
            talks = bool(self.member.out)
        if talks:
            self._drain()
        return False

    def leave(self, room: Room, ticket: Ticket) -> bool:
        """The hold has ended; if it was no longer good then, the ticket says so."""
        lock, slot = room.lock, 0 if room.capacity == 1 else place(ticket)
        with self.mutex:
            now = self.clock()
            if not ticket.known:  # no step has seen it, so there was none from its entry to its end
                ticket.lost |= now >= room.opening.until
                return room.epoch == self._open
            if room.epoch == self._open and not ticket.registration:
                if self._holds.pop((lock, slot), None) is None or now >= self._ends:
                    ticket.lost = True
                return True
            if not self.member.valid(now) or (lock, slot) not in self.member.holds:
                ticket.lost = True
            self.member.release(lock, slot, now)
            goes_on = room.epoch == self._open
        self._drain()  # the report is no longer true, or voters are to be told
        return goes_on

    # Registered holds.

    def register(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> Holder | None:
        """M8: voters are asked to store it."""
        hold = Holder(lock, self._me, ticket.fence, 0 if capacity == 1 else place(ticket), capacity)
        assert ticket.delay is not None
        with self.mutex:
            asked = epoch == self._open and self.member.register(
                Registration(hold, self.member.node.name, ticket.delay), self.clock()
            )
            self.refused |= not asked
        self._drain()
        return hold if asked else None

    def begin(self, epoch: int, ticket: Ticket) -> bool:
        """M3 and M8, as `Member.enter`."""
        hold = ticket.registration
        assert hold
        with self.mutex:
            ticket.known = epoch == self._open and self.member.enter(
                hold.lock, hold.slot, hold.fence, self.clock(), hold.size
            )
            self.refused |= not ticket.known
            return ticket.known

    def forgo(self, ticket: Ticket) -> None:
        assert ticket.registration
        with self.mutex:
            self.member.strike(ticket.registration)
        self._drain()

    def abandon(self, ticket: Ticket) -> None:
        """Lost, if that is not known yet."""
        hold = ticket.registration
        assert hold
        with self.mutex:
            if self.member.holds.get((hold.lock, hold.slot)) == hold:
                self.member.lose(hold)
        self._drain()

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        """M2: whether this hold is good at this moment. Asked without a lease, it is lost for good."""
        with self.mutex:
            now = self.clock()
            if not ticket.known:
                if now < self._ends:  # no step has seen it, so none was since its entry
                    return True
                self._close()
                self._refresh()
            good = self.member.holding(lock, 0 if capacity == 1 else place(ticket), now)
            talks = bool(self.member.out)
        if talks:
            self._drain()
        return good


def _one_at_a_time() -> bool:
    """Whether of all threads of this process one runs at a time."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def place(ticket: Ticket) -> int:
    """Which of a semaphore's places a hold has; below 0 if the algorithm does not tell, and then a number of its own.

    Of the whole fence: its counter begins anew in each epoch, while holds of earlier ones go on.
    """
    return ticket.slot if ticket.slot is not None else -ticket.fence
