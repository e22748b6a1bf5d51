"""What a node knows of its cluster, for those who ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from soloist.net.arguments import check_name
from soloist.net.engine.inquiry import Inspection
from soloist.net.engine.withheld import once, words
from soloist.net.link.wire import LockState
from soloist.net.said import of_node
from soloist.net.shown import Shown

if TYPE_CHECKING:
    from soloist.net.node import Node


class Seen(Shown):
    """The part of a node that is looked at from outside."""

    _shown = "epoch holders inspect members missing trouble withheld"

    def __repr__(self) -> str:
        return of_node(self._seen)

    @property
    def _seen(self) -> Node:
        return cast("Node", self)

    @property
    def members(self) -> list[str]:
        """The names of all members, sorted."""
        return self._seen.table.names

    @property
    def epoch(self) -> int:
        """The number of the view; 0 until the cluster has begun. With a lease, the first half of its fences."""
        return self._seen.table.epoch

    async def inspect(self, name: str) -> Inspection:
        """Who holds it, since when, with which note, and who waits: asked of all nodes."""
        return Inspection.of(name, await self.ask(check_name(name)), self.members)

    async def holders(self) -> list[LockState]:
        """All locks that are held or waited for, anywhere."""
        states = await self.ask("")
        busy = [state for found in states.values() for state in found if state.holding or state.waiting]
        return sorted(once(busy), key=lambda state: (state.lock, state.node))

    async def ask(self, lock: str) -> dict[str, list[LockState]]:
        """What each node that can be reached knows of a lock; of all, for an empty name."""
        self._seen.check_usable()
        self._seen.check_loop()
        return await self._seen.board.inquiry.ask(lock)

    def missing(self) -> list[str]:
        """Members that cannot be reached at this moment."""
        return sorted(set(self.members) - {self._seen.name} - self._seen.transport.connected())

    def withheld(self) -> list[str]:
        """Locks that are held for nodes which are lost, in words."""
        found = self._seen.table.withheld
        return [f"{lock.partition(':')[2]}: {words(each)}" for lock, each in sorted(found.items())]

    def trouble(self) -> str:
        """Why callers may have to wait, though nobody holds what they want: in words, or nothing."""
        beginning = self._seen.beginning
        missing = [peer for peer in self.missing() if peer not in beginning.troubles]
        away = [f"not connected: {', '.join(missing)}"] if missing and beginning.open else []
        return "; ".join([*away, *filter(None, [beginning.why()])])
