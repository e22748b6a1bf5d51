"""What a node makes: locks, semaphores, and several locks at once, all by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from soloist.net.arguments import check_name
from soloist.net.lock import Lock, Locks, OnLost, RLock, Semaphore

if TYPE_CHECKING:
    from soloist.net.node import Node


class LockMaker:
    """The part of a node that its users see most."""

    @property
    def _node(self) -> Node:
        return cast("Node", self)

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
    ) -> Lock:
        """A lock by name. The same name is the same lock, on every node."""
        return Lock(self._node, name, timeout=timeout, note=note, on_lost=on_lost, max_hold=max_hold)

    def rlock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
    ) -> RLock:
        """A lock that the task which holds it may take again; the fence stays the same."""
        return RLock(self._node, name, timeout=timeout, note=note, on_lost=on_lost, max_hold=max_hold)

    def semaphore(
        self,
        name: str,
        value: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
    ) -> Semaphore:
        """A semaphore: at most `value` permits are out at a time. All nodes must say the same value."""
        return Semaphore(
            self._node,
            name,
            value,
            permits=permits,
            timeout=timeout,
            note=note,
            on_lost=on_lost,
            max_hold=max_hold,
        )

    def locks(
        self,
        *names: str,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
    ) -> Locks:
        """Several locks, all or none, always taken in the same order, so that nobody waits in a circle."""
        wanted = sorted({check_name(name) for name in names})
        return Locks(
            [self.lock(name, note=note, on_lost=on_lost, max_hold=max_hold) for name in wanted], timeout
        )
