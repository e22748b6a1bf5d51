"""A hold that lasts longer than `max_hold` is lost, and the lock goes on to the next one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import LockLost, Node, SyncLock, SyncNode
from soloist.net.telemetry.observer import Observer
from soloist.testing import ports, until
from tests.net.helpers import FOR_THREADS, home_of, run
from tests.net.lock.three import everywhere, homes

SHORT = 0.05
LONG = 600.0
TOO_LONG = r"'x' is lost: it was held for longer than max_hold \(0.05 s\)"
Make = Callable[[Node], AbstractAsyncContextManager[Any]]

KINDS: dict[str, Make] = {
    "lock": lambda node: node.lock("x", max_hold=SHORT),
    "rlock": lambda node: node.rlock("x", max_hold=SHORT),
    "semaphore": lambda node: node.semaphore("x", 2, permits=2, max_hold=SHORT),
    "locks": lambda node: node.locks("x", "y", max_hold=SHORT),
}


@pytest.mark.parametrize("lease", [None, LONG], ids=["no lease", "lease"])
@pytest.mark.parametrize("kind", KINDS)
@everywhere
def test_the_body_is_cancelled_and_the_next_one_is_let_in(home: str, kind: str, lease: float | None) -> None:
    async def main() -> None:
        async with homes(home, "ab", lease=lease) as (a, b):

            async def stay() -> None:
                async with KINDS[kind](a):
                    await asyncio.sleep(LONG)

            with pytest.raises(LockLost, match=TOO_LONG) as caught:
                await stay()
            assert caught.value.name == "x"
            task = asyncio.current_task()
            assert task
            assert not task.cancelling()
            async with b.locks("x", "y"), b.semaphore("x", 2, permits=2):
                pass

    run(main())


@everywhere
def test_a_body_that_takes_no_notice_has_lost_it_all_the_same(home: str) -> None:
    async def main() -> None:
        async with homes(home, "ab") as (a, b):

            async def stay() -> None:
                async with a.lock("x", on_lost="flag", max_hold=SHORT) as hold:
                    async with b.lock("x") as other:  # though the body above has not ended
                        assert other.fence > hold.fence
                    assert hold.lost.is_set()
                    assert not hold.valid

            with pytest.raises(LockLost, match=TOO_LONG):
                await stay()

    run(main())


@everywhere
def test_whoever_is_quick_enough_hears_nothing_of_it(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (a,):
            async with a.lock("x", max_hold=LONG) as hold:
                assert hold.valid
            assert not hold.why
            assert hold._limit
            assert hold._limit._timer.cancelled()

    run(main())


@pytest.mark.parametrize("inner", [None, SHORT])
@everywhere
def test_taken_again_it_counts_from_when_it_was_granted(home: str, inner: float | None) -> None:
    async def main() -> None:
        async with homes(home, "a") as (a,):
            outer = await a.rlock("x", max_hold=None if inner else SHORT).acquire_or_raise(None)
            again = await a.rlock("x", max_hold=inner).acquire_or_raise(None)
            async with asyncio.timeout(LONG):
                await outer.lost.wait()
                await again.lost.wait()

    run(main())


@everywhere
def test_a_busy_loop_that_cannot_be_told_finds_out_by_the_clock(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (a,):

            async def compute() -> None:
                async with a.lock("x", max_hold=SHORT) as hold:
                    time.sleep(2 * SHORT)
                    assert not hold.valid
                    with pytest.raises(LockLost, match=TOO_LONG):
                        hold.check()

            with pytest.raises(LockLost, match=TOO_LONG):
                await compute()

    run(main())


@everywhere
def test_observers_see_one_exit_of_a_hold_that_was_lost(home: str) -> None:
    seen: list[tuple[str, str]] = []

    class Watch(Observer):
        def on_exit(self, hold: Any) -> None:
            seen.append((hold.name, hold.why))

    async def main() -> None:
        async with homes(home, "a") as (a,):
            a.observers.append(Watch())
            hold = await a.lock("x", max_hold=SHORT).acquire_or_raise(None)
            async with asyncio.timeout(LONG):
                await hold.lost.wait()
            await hold.release()

    run(main())
    assert seen == [("x", "'x' is lost: it was held for longer than max_hold (0.05 s)")]


@pytest.mark.parametrize("max_hold", [0, -1, True, "5", float("inf"), float("nan")])
@everywhere
def test_what_is_no_limit_is_refused(home: str, max_hold: Any) -> None:
    async def main() -> None:
        async with homes(home, "a") as (a,):
            with pytest.raises(UsageError, match=r"^max_hold must be a number of seconds above 0, or None"):
                a.lock("x", max_hold=max_hold)

    run(main())


@pytest.mark.parametrize("home", FOR_THREADS)
def test_threads_are_told_and_get_it_at_the_end(home: str) -> None:
    with ports("a") as peers, SyncNode("a", peers) as served, home_of(served, home) as node:
        for lock in (
            node.lock("x", max_hold=SHORT),
            node.rlock("x", max_hold=SHORT),
            node.semaphore("x", 2, max_hold=SHORT),
        ):

            def stay(lock: SyncLock = lock) -> None:
                with lock as hold:
                    assert hold.lost.wait(LONG)
                    assert not hold.valid
                    raise ZeroDivisionError

            with pytest.raises(LockLost, match=TOO_LONG) as caught:
                stay()
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
        told: list[str] = []
        with (
            pytest.raises(LockLost, match="max_hold"),
            node.locks("x", "y", max_hold=SHORT, on_lost=lambda hold: told.append(hold.why)),
        ):
            until(lambda: len(told) == 2, "both are lost")
        assert all("max_hold" in why for why in told)
        with node.locks("x", "y", timeout=LONG):
            pass
