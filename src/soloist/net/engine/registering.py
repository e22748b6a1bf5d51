"""Registered holds at one lock: voters are told before a caller is let in, and before its place goes to somebody else.

Meanwhile the site is inside, and no caller is by it. If the answer does not come before the next view, the instance is
thrown away with all others, and callers that wait ask again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from soloist.core import Site
from soloist.net.engine.ticket import NEVER, Ticket
from soloist.views import Holder

if TYPE_CHECKING:
    from soloist.net.engine.instance import Instance


def register(instance: Instance, site: Site, ticket: Ticket) -> None:
    """The caller that has waited longest waits until voters know; or, where the door is closed, in the queue as before."""
    assert instance.door
    hold = instance.door.register(instance.lock, instance.capacity, instance.epoch, ticket)
    ticket.fence = 0
    if hold is None:
        instance.parked.append(site)
        return
    instance.queue.pop(0)
    ticket.registration = hold
    instance.registering[site] = ticket
    instance.counter += 1


def heard(instance: Instance, hold: Holder) -> Ticket | None:
    """A majority of voters has stored this hold, or struck it off. Gives who is let in by that."""
    for site, ticket in list(instance.registering.items()):
        if ticket.registration == hold:
            return admit(instance, site)
    for site, ticket in list(instance.striking.items()):
        if ticket.registration == hold:
            del instance.striking[site]
            instance.hand_on(site, ticket)
    return None


def admit(instance: Instance, site: Site) -> Ticket | None:
    """Let the caller in who waits at this site, if voters know of it and the door is open."""
    ticket, door = instance.registering[site], instance.door
    if ticket.future and ticket.future.cancelled():
        instance.withdraw(ticket)
        return None
    assert door
    assert ticket.registration
    if not door.begin(instance.epoch, ticket):
        return None
    del instance.registering[site]
    ticket.fence, ticket.gone = ticket.registration.fence, True
    instance.waiting -= 1
    instance.unheard += 1
    instance.inside[site] = ticket
    if instance.capacity == 1:
        instance.opening = NEVER  # its end is to be told; of a semaphore `release` looks at each ticket
    return ticket


def forgo(instance: Instance, ticket: Ticket) -> None:
    """The caller has gone before it was let in: its place goes on once voters have struck it off."""
    if instance.registering.get(ticket.site) is ticket and instance.door:
        instance.striking[ticket.site] = instance.registering.pop(ticket.site)
        instance.door.forgo(ticket)


def abandon(instance: Instance, ticket: Ticket) -> None:
    """The hold was lost, and not released. Nobody gets its place in this epoch; the next view says what becomes of it."""
    ticket.released = ticket.lost = True
    instance.inside.pop(ticket.site, None)
    if instance.door:
        instance.door.abandon(ticket)


def callers(instance: Instance) -> list[Ticket]:
    """Those who wait, in order."""
    waiting = [*instance.registering.values(), *instance.queue]
    return [ticket for ticket in waiting if not ticket.gone]
