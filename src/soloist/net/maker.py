"""What a node makes: locks, semaphores, and several locks at once, all by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from soloist.core import UsageError
from soloist.net.arguments import OnHolderLoss, check_name, check_timeout
from soloist.net.leader import Leader, Told
from soloist.net.lock import Lock, Locks, OnLost, RLock, Semaphore
from soloist.net.member.breaks import Broken

if TYPE_CHECKING:
    from soloist.net.node import Node


class LockMaker:
    """The part of a node that its users see most."""

    @property
    def _node(self) -> Node:
        node = cast("Node", self)
        if node.voter_only:
            raise UsageError(f"node {node.name!r} only votes (voter_only): it has no locks; use another node")
        return node

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> Lock:
        """A lock by name. The same name is the same lock, on every node."""
        return Lock(
            self._node,
            name,
            timeout=timeout,
            note=note,
            on_lost=on_lost,
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )

    def rlock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> RLock:
        """A lock that the task which holds it may take again; the fence stays the same."""
        return RLock(
            self._node,
            name,
            timeout=timeout,
            note=note,
            on_lost=on_lost,
            max_hold=max_hold,
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )

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
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
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
            on_holder_loss=on_holder_loss,
            lock_delay=lock_delay,
        )

    def leader(
        self, name: str, *, note: str | None = None, on_gain: Told | None = None, on_loss: Told | None = None
    ) -> Leader:
        """A candidate who leads while it holds the lock of that name, and holds it as long as it can."""
        return Leader(self.lock(name, note=note), on_gain=on_gain, on_loss=on_loss)

    async def break_lock(self, name: str, timeout: float | None = None) -> Broken:
        """Take the lock, or the semaphore, of that name from whoever holds it, everywhere; whoever waits goes on.

        It is agreed upon: when this returns, nobody has a good hold of it from before. Who did gets `LockLost`; a node that
        does not answer is waited for as long as its lease lasts. Needs a lease.
        """
        node = self._node
        node.check_usable()
        node.check_loop()
        name, timeout = check_name(name), check_timeout(timeout)
        if node.beginning.breaks is None:
            raise UsageError(
                f"{name!r} cannot be broken: without a lease nobody can make sure that its holder no longer has it; "
                "give the nodes a lease, or restart them all"
            )
        return await node.beginning.breaks.ask(name, timeout)

    def locks(
        self,
        *names: str,
        timeout: float | None = None,
        note: str | None = None,
        on_lost: OnLost = "cancel",
        max_hold: float | None = None,
        on_holder_loss: OnHolderLoss = "release",
        lock_delay: float | None = None,
    ) -> Locks:
        """Several locks, all or none, always taken in the same order, so that nobody waits in a circle."""
        wanted = sorted({check_name(name) for name in names})
        return Locks(
            [
                self.lock(
                    name,
                    note=note,
                    on_lost=on_lost,
                    max_hold=max_hold,
                    on_holder_loss=on_holder_loss,
                    lock_delay=lock_delay,
                )
                for name in wanted
            ],
            timeout,
        )
