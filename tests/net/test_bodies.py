"""A `with` gives back what it was entered with, whoever leaves it, and wherever."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest

from soloist.net import AcquireTimeout, Hold, LockLost, NotOwned, SyncHold, SyncNode
from soloist.testing import eventually, ports
from tests.net.helpers import FOR_THREADS, home_of, run
from tests.net.lock.three import everywhere, homes

USES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda node: node.lock("x"),
    "rlock": lambda node: node.rlock("x"),
    "semaphore": lambda node: node.semaphore("s", 3),
    "locks": lambda node: node.locks("x", "y"),
}


async def entered(lock: Any) -> AsyncIterator[Any]:
    async with lock as held:
        while True:
            yield held


def entered_by_thread(lock: Any) -> Iterator[Any]:
    with lock as held:
        while True:
            yield held


@pytest.mark.parametrize("use", USES)
@everywhere
def test_a_generator_may_be_closed_by_another_task(home: str, use: str) -> None:
    async def main() -> None:
        async with homes(home, "ab") as nodes:
            lock = USES[use](nodes[0])
            bodies = entered(lock)
            await asyncio.create_task(anext(bodies))  # type: ignore[arg-type]
            await asyncio.create_task(bodies.aclose())  # type: ignore[attr-defined]
            async with USES[use](nodes[1]):
                pass

    run(main())


@everywhere
def test_a_generator_left_early_gives_back_when_it_is_collected(home: str) -> None:
    async def main() -> None:
        async with homes(home, "ab") as (a, b):

            async def leave_early() -> None:
                async for _ in entered(a.lock("x")):
                    break

            await asyncio.create_task(leave_early())
            gc.collect()
            async with b.lock("x", timeout=5):
                pass

    run(main())


@pytest.mark.parametrize("use", USES)
@everywhere
def test_an_exit_stack_may_be_closed_by_another_task(home: str, use: str) -> None:
    async def main() -> None:
        async with homes(home, "ab") as nodes:
            stack = AsyncExitStack()
            await asyncio.create_task(stack.enter_async_context(USES[use](nodes[0])))  # type: ignore[arg-type]
            await asyncio.create_task(stack.aclose())  # type: ignore[arg-type]
            async with USES[use](nodes[1]):
                pass

    run(main())


@everywhere
def test_each_body_of_a_shared_semaphore_gives_back_its_own_permit(home: str) -> None:
    """Entered by some tasks, left by others, in any order: none gives back another's."""

    async def main() -> None:
        async with homes(home, "a") as (node,):
            shared = node.semaphore("s", 4)
            bodies = [entered(shared) for _ in range(3)]
            holds: list[Hold] = [await asyncio.create_task(anext(body)) for body in bodies]  # type: ignore[arg-type]
            async with shared as mine:
                for number in (1, 0, 2):
                    await bodies[number].aclose()  # type: ignore[attr-defined]
                    assert holds[number].released
                    assert [hold.released for hold in holds].count(False) == 2 - (1, 0, 2).index(number)
                    mine.check()
            assert mine.released

    run(main())


@everywhere
def test_a_body_that_cannot_be_told_from_others_takes_nothing_from_them(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            shared = node.semaphore("s", 3)
            stacks = [AsyncExitStack() for _ in range(2)]
            holds = [await asyncio.create_task(stack.enter_async_context(shared)) for stack in stacks]  # type: ignore[arg-type]
            with pytest.raises(NotOwned, match="cannot be told") as unclear:
                await stacks[0].aclose()
            assert unclear.value.name == "s"
            assert all(hold.valid for hold in holds)
            for hold in holds:
                await hold.release()
            with pytest.raises(NotOwned, match="no body"):
                await node.lock("x").__aexit__(None, None, None)

    run(main())


@everywhere
def test_a_body_left_elsewhere_learns_of_the_loss(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            bodies = entered(node.lock("x"))
            await asyncio.create_task(anext(bodies))  # type: ignore[arg-type]
            await node.close()
            with pytest.raises(LockLost):
                await bodies.athrow(ZeroDivisionError)  # type: ignore[attr-defined]

    run(main())


# Threads.


@pytest.fixture(params=FOR_THREADS)
def node(request: pytest.FixtureRequest) -> Iterator[SyncNode]:
    with ports("a") as peers, SyncNode("a", peers) as node, home_of(node, request.param) as found:
        yield found


@contextlib.contextmanager
def threads(count: int) -> Iterator[list[ThreadPoolExecutor]]:
    """So many threads, each of which does what it is told."""
    with ExitStack() as stack:
        yield [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(count)]


def free(node: SyncNode, use: str) -> bool:
    """Whether another thread can have all of it."""
    with threads(1) as (other,):
        taken = other.submit(_all_of, node, use).result()
    return bool(taken)


def _all_of(node: SyncNode, use: str) -> bool:
    lock = (
        node.semaphore("s", 3, permits=3, timeout=0)
        if use == "semaphore"
        else node.locks("x", "y", timeout=0)
    )
    try:
        with lock:
            return True
    except AcquireTimeout:
        return False


@pytest.mark.parametrize("use", USES)
def test_a_body_may_be_left_by_another_thread(node: SyncNode, use: str) -> None:
    """As frameworks do with what a request depends on: its beginning and its end run wherever there is room."""
    with threads(2) as (one, other):
        bodies = entered_by_thread(USES[use](node))
        one.submit(next, bodies).result()
        assert not free(node, use)
        other.submit(bodies.close).result()  # type: ignore[attr-defined]
        assert free(node, use)
        stack = ExitStack()
        one.submit(stack.enter_context, USES[use](node)).result()
        other.submit(stack.close).result()
        assert free(node, use)


def test_each_body_of_a_shared_semaphore_gives_back_its_own_permit_in_any_thread(node: SyncNode) -> None:
    shared = node.semaphore("s", 3)
    with threads(2) as (one, other):
        for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
            bodies = [entered_by_thread(shared) for _ in range(3)]
            holds: list[SyncHold] = [
                pool.submit(next, body).result() for pool, body in zip((one, one, other), bodies, strict=True)
            ]
            for done, number in enumerate(order):
                other.submit(bodies[number].close).result()  # type: ignore[attr-defined]
                assert not holds[number].valid
                assert [hold.valid for hold in holds].count(True) == 2 - done
    assert free(node, "semaphore")


def test_threads_that_enter_and_leave_at_once_keep_apart(node: SyncNode) -> None:
    shared = node.semaphore("s", 3)
    bodies: list[Any] = []
    mutex = threading.Lock()

    def work(_: int) -> None:
        for _ in range(50):
            body = entered_by_thread(shared)
            next(body).check()
            with mutex:
                bodies.append(body)
                body = bodies.pop(0)
            body.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert not bodies
    assert free(node, "semaphore")


# Reentrant locks: each hold counts.


@everywhere
def test_an_early_release_of_the_inner_hold_leaves_the_outer_one(home: str) -> None:
    async def main() -> None:
        async with homes(home, "ab") as (a, b):
            lock = a.rlock("x")
            async with lock as outer:
                async with lock as inner:
                    await inner.release()
                    assert not inner.valid
                    assert outer.valid
                outer.check()
                await inner.release()  # again: only the first time counts
                outer.check()
                assert await b.lock("x").acquire(timeout=0) is None
            assert not outer.valid
            async with b.lock("x", timeout=5):
                pass

    run(main())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@everywhere
def test_a_reentrant_lock_is_free_when_all_its_holds_are_released_in_any_order(
    home: str, order: tuple[int, ...]
) -> None:
    async def main() -> None:
        async with homes(home, "ab") as nodes:
            a, b = nodes
            holds = [await a.rlock("x").acquire() for _ in order]
            for number in order:
                assert await b.lock("x").acquire(timeout=0) is None
                hold = holds[number]
                assert hold
                hold.check()
                await hold.release()
                await hold.release()
                assert not hold.valid
            async with b.lock("x", timeout=5):
                pass
            with pytest.raises(NotOwned):
                await a.rlock("x").release()

    run(main())


@everywhere
def test_release_by_name_gives_back_the_newest_hold_of_a_reentrant_lock(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            lock = node.rlock("x")
            outer, inner = await lock.acquire(), await lock.acquire()
            assert outer
            assert inner
            await lock.release()
            assert (outer.valid, inner.valid) == (True, False)
            await lock.release()
            assert not outer.valid

    run(main())


def test_an_early_release_in_a_thread_leaves_the_outer_hold(node: SyncNode) -> None:
    lock = node.rlock("x")
    with lock as outer:
        with lock as inner:
            inner.release()
            assert outer.valid
        outer.check()
        assert not free(node, "lock")
    assert free(node, "lock")


@everywhere
def test_a_lost_reentrant_lock_is_one_loss_for_the_task(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            inside = asyncio.Event()

            async def body() -> None:
                async with node.rlock("x"), node.rlock("x"):
                    inside.set()
                    await asyncio.sleep(60)

            task = asyncio.create_task(body())
            await inside.wait()
            await node.close()
            with pytest.raises(LockLost):
                await task
            assert not task.cancelling()

    run(main())


@everywhere
def test_nothing_is_kept_of_bodies_that_were_left(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            lock = node.rlock("x")
            for _ in range(10):
                async with lock, lock:
                    pass
            assert not lock._bodies._open
            await eventually(lambda: not node.holds)

    run(main())
