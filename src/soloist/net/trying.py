"""To try for a lock: to wait for messages, since a free lock may rest elsewhere, but for nobody who holds it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, cast

from soloist.net.engine.ticket import Ticket
from soloist.net.errors import NodeClosed, NoQuorum

if TYPE_CHECKING:
    from soloist.net.lock import Lock
    from soloist.net.node import Node


def worth_a_try(lock: Lock) -> bool:
    """Not while our node is no member, or has no lease: that may take long. `NoQuorum` if it has taken a whole lease."""
    if lock.instance_name in lock.node.table.withheld:
        return False
    beginning = cast("Node", lock.node).beginning
    council = beginning.council
    if council is None or (beginning.open and council.leased):
        return True
    if beginning.starved and not council.leased:
        raise NoQuorum(f"{lock.name!r} cannot be granted: {beginning.starved}", name=lock.name)
    return False


async def tried(lock: Lock, ticket: Ticket | None, limit: asyncio.Timeout) -> list[Ticket]:
    """As `Lock.tickets`, until it turns out that others have it."""
    look = asyncio.create_task(_look_around(lock, limit))
    try:
        return await lock.tickets(ticket)
    finally:
        look.cancel()


async def _look_around(lock: Lock, limit: asyncio.Timeout) -> None:
    pause = 0.0
    with contextlib.suppress(NodeClosed):  # which the caller hears anyway
        while not await _taken(lock):
            if lock.permits > 1:
                return  # from now on, some of the permits that are out may be ours
            await asyncio.sleep(pause)
            pause = 2 * pause + 0.001
        limit.reschedule(asyncio.get_running_loop().time())


async def _taken(lock: Lock) -> bool:
    """Whether so many are inside that we cannot be: as far as is known here, or else as far as the others know."""
    name, most = lock.instance_name, lock.capacity - lock.permits
    if lock.node.table.inside(name) > most:
        return True
    found = await cast("Node", lock.node).ask(lock.name)
    return sum(each.holding for known in found.values() for each in known if each.lock == name) > most
