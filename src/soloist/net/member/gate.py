"""Whether callers may go in: between a loop, which may hang, and the thread that renews the lease.

Test and entry are one step (M3), and so are wedging and the report (M4). A mutex is around all that the member does; it is
never held while something is written or waited for.

An entry must cost next to nothing. So what M3 asks of the member is worked out whenever the member changes, in `step`: the
epoch in which callers may be let in, if any, and when the lease ends; only the clock is looked at each time, once: what it
showed also says since when the hold is. And an entry does without the mutex, as a rule: first it is noted, then the gate is
looked at. A step closes the gate first, and then gathers what was noted. Whichever comes first, the step knows of the entry, or
the entry finds the gate closed, and waits for the mutex to see why. That takes the interpreter's own lock, which lets no two
threads see these in another order; without that, it is always the mutex.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from soloist.net.engine.ticket import Room, Ticket
from soloist.net.member.clock import Clock
from soloist.views import Holder, Member, Registration

CLOSED = -2
"""No epoch is this one, and neither is that of a member without a view."""


class Gate:
    """The `Door` of a node with leases."""

    def __init__(self, member: Member, clock: Clock, drain: Callable[[], object]) -> None:
        self.clock = clock
        self.mutex = threading.Lock()
        self._drain = drain
        """Called, without the mutex, if the member has something to say."""
        self._noted: dict[Ticket, Room] = {}
        """Who was let in since the last step, and where. Only the loop adds to it."""
        if not _one_at_a_time():
            self.enter, self.leave = self._enter, self._leave  # type: ignore[method-assign]
        self.admit(member)

    def admit(self, member: Member) -> None:
        """From now on it is about this one. With the mutex, if somebody else may look."""
        self._open = CLOSED
        self._noted.clear()
        self.member, self._me, self._holds = member, member.me, member.holds
        self._refresh()

    @contextmanager
    def step(self) -> Iterator[Member]:
        """Let the member do something: nobody goes in or out meanwhile."""
        with self.mutex:
            self._open = CLOSED  # and only then
            self._gather()
            try:
                yield self.member
            finally:
                self._refresh()

    def _gather(self) -> None:
        """The member hears of those who were let in."""
        while self._noted:
            ticket, room = self._noted.popitem()
            self._keep(room, ticket)

    def _keep(self, room: Room, ticket: Ticket) -> None:
        slot = 0 if room.capacity == 1 else place(ticket)
        self._holds[room.lock, slot] = Holder(room.lock, self._me, ticket.fence, slot, room.capacity)

    def _refresh(self) -> None:
        member = self.member
        self._open, self._ends = CLOSED, -math.inf
        if member.view and not (member.wedged or member.leaving or member.ended):
            self._ends = member.lease_ends(member.view)
            self._open = member.view.epoch

    def left(self) -> float:
        """Seconds until nobody is let in any more, unless the lease is renewed."""
        return max(0.0, self._ends - self.clock())

    # What instances ask, in the loop.

    def enter(self, room: Room, ticket: Ticket) -> bool:
        """M3, as `Member.enter`. An instance of an earlier epoch, which has not been thrown away yet, lets nobody in."""
        # The end as it was before: if the lease ran out and was renewed since, this hold may have been lost meanwhile.
        ends, clock = self._ends, self.clock
        self._noted[ticket] = room  # before the gate is looked at
        if room.epoch == self._open:
            now = ticket.entered = clock()
            if now < ends:
                return True
        return self._enter(room, ticket)

    def _enter(self, room: Room, ticket: Ticket) -> bool:
        """A step is under way, which may have reported this hold already; or nobody may go in."""
        with self.mutex:
            self._noted.pop(ticket, None)
            now = ticket.entered = self.clock()
            if room.epoch == self._open and now < self._ends:
                self._keep(room, ticket)
                return True
            self.member.release(room.lock, 0 if room.capacity == 1 else place(ticket), now)
            talks = bool(self.member.out)
        if talks:
            self._drain()
        return False

    def leave(self, room: Room, ticket: Ticket) -> bool:
        """The hold has ended; if it was no longer good then, the ticket says so."""
        ends, clock = self._ends, self.clock
        if room.epoch == self._open:
            try:
                del self._noted[ticket]
            except KeyError:
                return self._leave(room, ticket)
            if clock() >= ends:  # nobody else knows of it
                ticket.lost = True
            return True
        return self._leave(room, ticket)

    def _leave(self, room: Room, ticket: Ticket) -> bool:
        lock, slot = room.lock, 0 if room.capacity == 1 else place(ticket)
        with self.mutex:
            self._gather()
            if room.epoch == self._open and not ticket.registration:
                if self._holds.pop((lock, slot), None) is None or self.clock() >= self._ends:
                    ticket.lost = True
                return True
            now = self.clock()
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
            if epoch != self._open:
                return None
            asked = self.member.register(
                Registration(hold, self.member.node.name, ticket.delay), self.clock()
            )
        self._drain()
        return hold if asked else None

    def begin(self, epoch: int, ticket: Ticket) -> bool:
        """M3 and M8, as `Member.enter`."""
        hold = ticket.registration
        assert hold
        with self.mutex:
            return epoch == self._open and self.member.enter(
                hold.lock, hold.slot, hold.fence, self.clock(), hold.size
            )

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
            self._gather()
            good = self.member.holding(lock, 0 if capacity == 1 else place(ticket), self.clock())
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
