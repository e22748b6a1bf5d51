"""What a thread has done for it in the loop of its node.

Ctrl-C may hit the main thread between any two steps. So the two threads share plain attributes and a bell, and no more:
the bell is a lock that the loop releases once, and that only the thread waits for. (`concurrent.futures` has a
condition instead. Interrupted at the wrong moment a thread leaves it locked, and then the loop waits for it, for ever.)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from soloist.net.hold import OWNER

T = TypeVar("T")


class Errand(Generic[T]):
    """Work for the loop: a thread hands `begin` to it and waits, or gives up and hands over `withdraw`.

    That may be done more than once, and for what never began.
    """

    result: T

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._owner: object = threading.current_thread()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._task: asyncio.Task[None] | None = None
        self.error: BaseException | None = None

    # In the loop.

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        OWNER.set(self._owner)  # it is the thread that waits and holds, not this task
        try:
            self.result = await self._work()
        except BaseException as error:  # it is the thread's
            self.error = error
        finally:
            self._task = None  # a task that dies in the thread runs code there, and Ctrl-C then would be lost
            self._bell.release()

    def withdraw(self) -> None:
        task, self._task = self._task, None  # one that never began would be garbage, and die anywhere
        if task:
            task.cancel()

    # In the thread.

    def wait(self) -> None:
        """Until it has ended: then there is a `result`, or an `error`."""
        self._bell.acquire()
