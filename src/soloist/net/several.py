"""Several locks at once, for asyncio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from soloist.core import UsageError
from soloist.net.arguments import check_timeout
from soloist.net.bodies import Bodies, Place
from soloist.net.errors import AcquireTimeout, LockLost
from soloist.net.hold import Hold, owner
from soloist.net.lock import Lock
from soloist.net.said import of_locks
from soloist.net.shown import Shown


class Locks(Shown):
    """Several locks, all or none, in one fixed order."""

    _shown = "name timeout"
    __repr__ = of_locks

    def __init__(self, locks: list[Lock], timeout: float | None) -> None:
        if not locks:
            raise UsageError("locks() needs at least one name")
        self.locks, self.timeout = locks, check_timeout(timeout)
        self.name = ", ".join(lock.name for lock in locks)
        self._bodies: Bodies[dict[str, Hold]] = Bodies(self.name)

    async def take(self) -> dict[str, Hold]:
        """All of them, or `AcquireTimeout`, which names the one that did not come."""
        holds: dict[str, Hold] = {}
        try:
            async with asyncio.timeout(self.timeout or None):
                for lock in self.locks:
                    holds[lock.name] = await lock.acquire_or_raise(0 if self.timeout == 0 else None)
            for hold in holds.values():
                hold.check()  # lost while the others were waited for: then no body begins
        except BaseException as error:
            for hold in reversed(holds.values()):
                hold.release_now()
            if isinstance(error, TimeoutError):
                raise self._timed_out(lock) from None
            raise
        return holds

    def _timed_out(self, missing: Lock) -> AcquireTimeout:
        if len(self.locks) == 1:
            return missing._timed_out(self.timeout)
        return AcquireTimeout(
            f"{self.name} were wanted: {missing._timed_out(self.timeout)}", name=missing.name
        )

    def __aenter__(self) -> Coroutine[Any, Any, dict[str, Hold]]:
        frame = sys._getframe(1)
        return self._enter((id(frame), frame.f_code))

    async def _enter(self, place: Place) -> dict[str, Hold]:
        holds = await self.take()
        self._bodies.enter((place, owner(), holds))
        for hold in holds.values():
            hold.enter_body()
        return holds

    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: Any
    ) -> Coroutine[Any, Any, None]:
        frame = sys._getframe(1)
        return self._leave((id(frame), frame.f_code), error)

    async def _leave(self, place: Place, error: BaseException | None) -> None:
        body = self._bodies.find(place, owner)
        self._bodies.left(body)
        ending = error
        for hold in reversed(body[2].values()):
            try:
                hold.leave_body(ending)
            except LockLost as lost:
                ending = lost
        if ending is not error and ending:
            raise ending
