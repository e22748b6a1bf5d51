"""Whether callers may go in: the mutex between a loop, which may hang, and the thread that renews the lease.

Test and entry are one step (M3), and so are wedging and the report (M4). The mutex is never held while something is
written or waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from soloist.net.engine.ticket import Ticket
from soloist.net.member.clock import Clock
from soloist.views import Member


class Gate:
    """The `Door` of a node with leases."""

    def __init__(self, member: Member, clock: Clock, drain: Callable[[], None]) -> None:
        self.member, self.clock = member, clock
        self.mutex = threading.Lock()
        self._drain = drain
        """Called, without the mutex, if the member has something to say."""

    def enter(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> bool:
        """M3. An instance of an earlier epoch, which has not been thrown away yet, lets nobody in."""
        with self.mutex:
            member = self.member
            return member.epoch == epoch and member.enter(
                lock, place(capacity, ticket), ticket.fence, self.clock(), capacity
            )

    def leave(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> bool:
        with self.mutex:
            member = self.member
            member.release(lock, place(capacity, ticket), self.clock())
            goes_on = member.epoch == epoch and member.may_send()
            talks = bool(member.out)
        if talks:
            self._drain()
        return goes_on

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        """M2: whether this hold is good at this moment. Asked without a lease, it is lost for good."""
        with self.mutex:
            good = self.member.holding(lock, place(capacity, ticket), self.clock())
            talks = bool(self.member.out)
        if talks:
            self._drain()
        return good


def place(capacity: int, ticket: Ticket) -> int:
    """Which of a lock's places a hold has; below 0 if the algorithm does not tell, and then a number of its own.

    Of the whole fence: its counter begins anew in each epoch, while holds of earlier ones go on.
    """
    if capacity == 1:
        return 0
    return ticket.slot if ticket.slot is not None else -ticket.fence
