"""What takes the part of a gate where there is no lease: a door that is put in front of all locks, once, when a view ends."""

from __future__ import annotations

from collections.abc import Callable

from soloist.net.engine.table import Table
from soloist.net.engine.ticket import Room, Ticket
from soloist.net.member.gate import place
from soloist.views import Holder


def shut(table: Table, me: str, released: Callable[[str, int], None]) -> list[Holder]:
    """From now on nobody is let in here, and each holder that leaves is told of by lock and slot. Gives what is held.

    The next view throws all instances away, and the door with them.
    """
    door, holds = Shut(released), []
    table.terms = table.terms._replace(door=door)  # for locks that are met, or wake up, only now
    for lock, instance in table.instances.items():
        instance.door = door
        for ticket in instance.inside.values():
            slot = 0 if instance.capacity == 1 else place(ticket)
            holds.append(Holder(lock, me, ticket.fence, slot, instance.capacity))
    return holds


class Shut:
    """The door of all locks of a node that is wedged: nobody goes in, and no place goes on."""

    def __init__(self, released: Callable[[str, int], None]) -> None:
        self.released = released

    def enter(self, room: Room, ticket: Ticket) -> bool:
        del room.inside[ticket.site]
        return False

    def leave(self, room: Room, ticket: Ticket) -> bool:
        self.released(room.lock, 0 if room.capacity == 1 else place(ticket))
        return False

    def holding(self, lock: str, capacity: int, ticket: Ticket) -> bool:
        return not ticket.lost

    # Where there is no lease no hold is registered.

    def register(self, lock: str, capacity: int, epoch: int, ticket: Ticket) -> Holder | None:
        return None

    def begin(self, epoch: int, ticket: Ticket) -> bool:
        return False

    def forgo(self, ticket: Ticket) -> None:
        pass

    def abandon(self, ticket: Ticket) -> None:
        pass
