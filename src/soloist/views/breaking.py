"""Breaking a lock: an operator's wish to have it taken from its holders, and when that is done.

It is a change of view like any other. The wedge brings the wish to the members, and each loses such a hold before it
reports what it has; a silent one is out-waited. Nobody keeps the wish for long: a view may be made by somebody who has not
heard of it. So its member asks again, until a view shows that nobody holds the lock with such a fence any more.
"""

from __future__ import annotations

import msgspec

from soloist.views.messages import Break
from soloist.views.view import Eviction, Holder, View, evicted, fence


class Breaking(msgspec.Struct, kw_only=True):
    """One wish, by somebody who sees every view that it is in."""

    evictions: tuple[Eviction, ...]
    since: View
    """When it was asked for: what is granted in a later epoch has nothing to fear."""
    held: set[Holder] = set()
    """Whom it has hit, as far as views tell."""

    @classmethod
    def of(cls, locks: tuple[str, ...], view: View) -> Breaking:
        below = fence(view.epoch + 1, 0)
        evictions = tuple(Eviction(lock, below) for lock in locks)
        lost = {each.hold for each in view.withheld if evicted(each.hold, evictions)}
        return cls(evictions=evictions, since=view, held=lost)

    def ask(self, view: View) -> Break:
        return Break(view.epoch, self.evictions)

    def see(self, view: View) -> None:
        """A view after `since`, which itself tells only of what was before."""
        known = (*view.broken, *_held(view))
        self.held |= {hold for hold in known if evicted(hold, self.evictions)}

    def done(self, view: View) -> bool:
        """Whether nobody has such a hold in this view: who is in it has lost it, and who is not was out-waited."""
        return view.epoch > self.since.epoch and not any(
            evicted(hold, self.evictions) for hold in _held(view)
        )


def _held(view: View) -> tuple[Holder, ...]:
    """By members, and for those who are lost."""
    return (*view.holders, *(each.hold for each in view.withheld))
