"""Locks that are held for nodes which are lost: in words, and for those who ask."""

from __future__ import annotations

from collections.abc import Iterable

from soloist.net.link.wire import LockState
from soloist.views import FOR_GOOD, Registration


def by_lock(withheld: Iterable[Registration]) -> dict[str, list[Registration]]:
    found: dict[str, list[Registration]] = {}
    for each in withheld:
        found.setdefault(each.hold.lock, []).append(each)
    return found


def fate(each: Registration) -> str:
    """When somebody else gets in."""
    name = each.hold.lock.partition(":")[2]
    if each.delay == FOR_GOOD:
        return f"`soloist break {name}` frees it"
    return f"its lock_delay of {each.delay:g} s has not passed since the loss was decided"


def words(withheld: Iterable[Registration]) -> str:
    """Why nobody is let in, and what to do about it."""
    return "; ".join(
        f"{each.node} held it with fence {each.hold.fence} and was lost: {fate(each)}" for each in withheld
    )


def states(withheld: Iterable[Registration]) -> list[LockState]:
    return [
        LockState(each.hold.lock, each.node, 1, 0, each.hold.fence, None, None, f"lost: {fate(each)}")
        for each in withheld
    ]


def once(found: Iterable[LockState]) -> list[LockState]:
    """Every node tells of those that are lost: once is enough."""
    return list(dict.fromkeys(found))
