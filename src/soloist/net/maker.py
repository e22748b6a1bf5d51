"""What a node or a client makes: locks, semaphores, and several locks at once, all by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from soloist.core import UsageError
from soloist.net.arguments import OnHolderLoss, check_name
from soloist.net.leader import Leader, Told
from soloist.net.lock import Lock, OnLost, RLock, Semaphore
from soloist.net.several import Locks
from soloist.net.shown import Shown

if TYPE_CHECKING:
    from soloist.net.home import Home


class LockMaker(Shown):
    """The part of a node or a client that its users see most."""

    _shown = "leader lock locks rlock semaphore"
    voter_only = False
    """Whether it is a node without locks."""

    @property
    def _home(self) -> Home:
        home = cast("Home", self)
        if self.voter_only:
            raise UsageError(f"node {home.name!r} only votes (voter_only): it has no locks; use another node")
        return home

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
            self._home,
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
            self._home,
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
            self._home,
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
