"""Locks for asyncio: the rules that they promise, one by one."""

from __future__ import annotations

import asyncio
import os
import pickle
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import groupby, pairwise, product
from typing import Any

import pytest

from soloist.core import SoloistError, UsageError
from soloist.net import (
    AcquireTimeout,
    ConfigMismatch,
    FenceGuard,
    Hold,
    Lock,
    LockError,
    LockLost,
    Node,
    NodeClosed,
    NoQuorum,
    NotOwned,
    StaleFence,
    WouldDeadlock,
)
from soloist.net.lock import prompt
from soloist.testing import eventually, memory_cluster, memory_nodes, started
from tests.net.helpers import Exclusion, assert_at_rest, log_lines, run

Test = Callable[[list[Node]], Awaitable[None]]


def on_three_nodes(test: Test) -> Callable[[], None]:
    """Run a test on three nodes in memory; nothing may be left at the end."""

    async def body() -> None:
        async with memory_cluster() as nodes:
            await test(nodes)
            await asyncio.sleep(0.01)
            assert_at_rest([node for node in nodes if not node.closed])

    def wrapper() -> None:
        run(body())

    wrapper.__name__, wrapper.__doc__ = test.__name__, test.__doc__  # type: ignore[attr-defined]
    return wrapper


# Rule 1: `timeout` is how long to wait.


@on_three_nodes
async def test_a_wait_that_is_too_long_gives_none(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.lock("x"):
        assert await b.lock("x").acquire(timeout=0.01) is None
        assert await b.lock("x", timeout=0.01).acquire() is None
    assert await b.lock("x").acquire(timeout=10)
    await b.lock("x").release()


@on_three_nodes
async def test_a_try_does_not_wait(nodes: list[Node]) -> None:
    a, *_ = nodes
    async with a.lock("x"):
        assert await asyncio.create_task(a.lock("x").acquire(blocking=False)) is None
        assert await asyncio.create_task(a.lock("x").acquire(timeout=0)) is None
    hold = await a.lock("x").acquire(blocking=False)  # nobody has it, and the token is here
    assert hold
    await hold.release()


@on_three_nodes
async def test_a_withdrawn_wait_does_not_stand_in_the_way(nodes: list[Node]) -> None:
    a, b, c = nodes
    async with a.lock("x"):
        assert await b.lock("x").acquire(timeout=0.01) is None
    async with c.lock("x", timeout=5), c.lock("y", timeout=5):
        pass
    async with b.lock("x", timeout=5):
        pass


@pytest.mark.parametrize("timeout", [-1, -0.5])
def test_a_negative_timeout_is_refused(timeout: float) -> None:
    """In the standard library -1 is "for ever" for some and an error for others: better to ask."""

    @on_three_nodes
    async def body(nodes: list[Node]) -> None:
        with pytest.raises(UsageError, match="negative"):
            nodes[0].lock("x", timeout=timeout)
        with pytest.raises(UsageError, match="negative"):
            await nodes[0].lock("x").acquire(timeout=timeout)

    body()


# Rule 2: `async with` enters holding the lock, or raises.


@on_three_nodes
async def test_with_raises_if_the_lock_does_not_come(nodes: list[Node]) -> None:
    a, b, _ = nodes
    entered = False
    async with a.lock("x"):
        for timeout in (0, 0.01):
            with pytest.raises(AcquireTimeout, match="'x' was not granted") as caught:
                async with b.lock("x", timeout=timeout):
                    entered = True
            assert caught.value.name == "x"
    assert not entered


@on_three_nodes
async def test_a_body_holds_until_its_end(nodes: list[Node]) -> None:
    a, b, _ = nodes
    seen: list[Hold] = []

    async def fail() -> None:
        async with a.lock("x") as hold:
            seen.append(hold)
            assert hold.valid
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert not seen[0].valid
    async with b.lock("x", timeout=5):
        pass


# Rule 3: one Hold for each grant.


@on_three_nodes
async def test_a_lock_is_shared_by_tasks_and_each_grant_is_a_hold(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    exclusion = Exclusion()
    await asyncio.gather(*(exclusion.visit(nodes[0], lock, 5) for _ in range(8)))
    assert len(exclusion.fences) == 40


@on_three_nodes
async def test_a_hold_may_be_released_by_another_task(nodes: list[Node]) -> None:
    a, b, _ = nodes
    hold = await a.lock("x").acquire()
    assert hold
    await asyncio.create_task(hold.release())
    await hold.release()  # again: nothing happens
    async with b.lock("x", timeout=5):
        assert not hold.valid
        await hold.release()  # it is not mine any more: nothing happens
        assert await a.lock("x").acquire(timeout=0.01) is None


# Rule 4: the idiom of the standard library.


@on_three_nodes
async def test_acquire_is_true_or_none_and_release_gives_back(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    if await lock.acquire(timeout=5):
        assert lock.locked()
        await lock.release()
    assert not lock.locked()
    with pytest.raises(NotOwned) as caught:
        await lock.release()
    assert caught.value.name == "x"


@on_three_nodes
async def test_another_task_has_nothing_to_release(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    async with lock:
        with pytest.raises(NotOwned):
            await asyncio.create_task(lock.release())


@on_three_nodes
async def test_release_takes_the_newest_hold_and_then_the_one_before(nodes: list[Node]) -> None:
    semaphore = nodes[0].semaphore("s", 3)
    first, second = await semaphore.acquire(), await semaphore.acquire()
    assert first
    assert second
    await semaphore.release()
    assert (first.valid, second.valid) == (True, False)
    await semaphore.release()
    assert not first.valid
    with pytest.raises(NotOwned):
        await semaphore.release()


# Rule 5: valid and check.


@on_three_nodes
async def test_valid_and_check(nodes: list[Node]) -> None:
    async with nodes[0].lock("x") as hold:
        assert hold.valid
        hold.check()
        assert hold.epoch > 0
        assert "held" in repr(hold)
    assert not hold.valid
    assert "released" in repr(hold)
    with pytest.raises(LockLost, match="has been released") as caught:
        hold.check()
    assert caught.value.name == "x"


# Rule 6: a lost lock.


def in_a_body_that_loses(body: Callable[[Node, asyncio.Event], Awaitable[Any]]) -> asyncio.Task[Any]:
    """A task with a body on a node that is closed once the body runs."""

    async def main() -> Any:
        (node,) = memory_nodes("a")
        running = asyncio.Event()
        async with node:
            task = asyncio.create_task(body(node, running))  # type: ignore[arg-type]
            await running.wait()
            await node.close()
            await asyncio.wait([task])
        return task

    return run(main())  # type: ignore[no-any-return]


def test_loss_cancels_the_body_and_raises_lock_lost() -> None:
    seen: list[str] = []

    async def body(node: Node, running: asyncio.Event) -> None:
        try:
            async with node.lock("x") as hold:
                running.set()
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    seen.append("cancelled")
                    assert hold.lost.is_set()
                    assert not hold.valid
                    raise
        except LockLost as error:
            seen.append(str(error))
        task = asyncio.current_task()
        assert task
        assert not task.cancelling()
        await asyncio.sleep(0)  # nothing of the cancellation is left
        seen.append("went on")

    assert not in_a_body_that_loses(body).exception()
    assert seen == ["cancelled", "'x' is lost: the node was closed", "went on"]


def test_loss_of_nested_locks_is_one_loss_for_the_task() -> None:
    async def body(node: Node, running: asyncio.Event) -> str:
        try:
            async with node.locks("x", "y"), node.rlock("z"), node.rlock("z"):
                running.set()
                await asyncio.sleep(60)
        except LockLost:
            task = asyncio.current_task()
            assert task
            assert not task.cancelling()
            await asyncio.sleep(0)
            return "lost"
        return "not lost"

    assert in_a_body_that_loses(body).result() == "lost"


@pytest.mark.parametrize("on_lost", ["cancel", "flag"])
def test_cancellation_by_somebody_else_stays_a_cancellation(on_lost: Any) -> None:
    async def body(node: Node, running: asyncio.Event) -> None:
        task = asyncio.current_task()
        assert task
        async with node.lock("x", on_lost=on_lost) as hold:
            hold.on_lost = lambda _: task.cancel() and None  # in the same turn
            running.set()
            await asyncio.sleep(60)

    assert in_a_body_that_loses(body).cancelled()


def test_a_timeout_around_a_body_is_still_a_timeout() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            with pytest.raises(TimeoutError) as caught:
                async with asyncio.timeout(0.01), node.lock("x"):
                    await asyncio.sleep(60)
            assert not isinstance(caught.value, AcquireTimeout)
            assert_at_rest([node])

    run(main())


def test_a_body_that_swallows_the_cancellation_still_learns_of_the_loss() -> None:
    async def body(node: Node, running: asyncio.Event) -> int:
        task = asyncio.current_task()
        assert task
        try:
            async with node.lock("x"):
                running.set()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
        except LockLost:
            return task.cancelling()
        return -1

    assert in_a_body_that_loses(body).result() == 0


def test_on_lost_flag_only_sets_the_flag() -> None:
    async def body(node: Node, running: asyncio.Event) -> str:
        done = ""
        try:
            async with node.lock("x", on_lost="flag") as hold:
                running.set()
                await hold.lost.wait()
                await asyncio.sleep(0.01)  # nobody interrupts this
                done = "to its end"
        except LockLost:
            return done
        return "not lost"

    assert in_a_body_that_loses(body).result() == "to its end"


def test_a_body_may_close_its_own_node() -> None:
    async def main() -> None:
        (node,) = memory_nodes("a")
        await node.start()

        async def body() -> None:
            async with node.lock("x"):
                await node.close()
                await asyncio.sleep(0)

        with pytest.raises(LockLost):
            await body()
        await asyncio.sleep(0)

    run(main())


def test_a_hold_without_a_body_is_flagged() -> None:
    async def main() -> None:
        (node,) = memory_nodes("a")
        await node.start()
        hold = await node.lock("x").acquire()
        await node.close()
        assert hold
        assert hold.lost.is_set()
        with pytest.raises(LockLost, match="closed"):
            hold.check()
        await hold.release()

    run(main())


def test_whoever_waits_is_told_that_the_node_is_closed() -> None:
    async def main() -> None:
        nodes = memory_nodes()
        async with started(nodes):
            async with nodes[0].lock("x"):
                waiting = [asyncio.create_task(nodes[1].lock("x").acquire()) for _ in range(3)]
                await asyncio.sleep(0.01)
                await nodes[1].close()
                for task in waiting:
                    with pytest.raises(NodeClosed):
                        await task
            with pytest.raises(NodeClosed):
                await nodes[1].lock("x").acquire()

    run(main())


def test_a_node_that_was_not_started_says_so() -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(NodeClosed, match="not been started"):
        run(node.lock("x").acquire())


# Rule 8: reentrancy.


@on_three_nodes
async def test_taking_it_again_would_be_a_deadlock(nodes: list[Node]) -> None:
    lock = nodes[0].lock("x")
    async with lock:
        with pytest.raises(WouldDeadlock, match="rlock") as caught:
            await lock.acquire()
        assert caught.value.name == "x"
        with pytest.raises(WouldDeadlock):
            await nodes[0].lock("x").acquire(timeout=1)
    async with lock:
        pass


@on_three_nodes
async def test_an_rlock_is_entered_again_with_the_same_fence(nodes: list[Node]) -> None:
    a, b, _ = nodes
    lock = a.rlock("x")
    async with lock as outer:
        async with lock as inner, a.rlock("x") as other:
            assert outer.fence == inner.fence == other.fence
            assert await b.lock("x").acquire(timeout=0.01) is None
        assert outer.valid
        assert await b.lock("x").acquire(timeout=0.01) is None
        assert await asyncio.create_task(a.rlock("x").acquire(timeout=0.01)) is None  # another task
    assert not outer.valid
    async with b.lock("x", timeout=5) as later:
        assert later.fence > outer.fence


# Rule 9: forks and pickles.


def in_a_fork(work: Callable[[], Any]) -> str:
    """The name of the error that the work raises in the child of a fork."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            result = "nothing"
        except BaseException as error:
            result = type(error).__name__
        os.write(write, result.encode())
        os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        os.close(write)
        return pipe.read()


def step(work: Any) -> Any:
    """The first step of a coroutine; what should raise does so there."""
    try:
        return work.send(None)
    finally:
        work.close()


@on_three_nodes
async def test_after_a_fork_node_and_holds_are_dead(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.lock("x") as hold:
        assert in_a_fork(lambda: step(a.lock("y").acquire())) == "NodeClosed"
        assert in_a_fork(lambda: step(a.inspect("x"))) == "NodeClosed"
        assert in_a_fork(lambda: step(hold.release())) == "NodeClosed"
        assert in_a_fork(hold.check) == "LockLost"
        assert in_a_fork(lambda: hold.valid and 1 / 0) == "nothing"
        assert hold.valid  # here, all is as it was
    async with b.lock("x", timeout=5):
        pass


@on_three_nodes
async def test_locks_pickle_by_name(nodes: list[Node]) -> None:
    a, *_ = nodes
    lock = pickle.loads(pickle.dumps(a.lock("x", timeout=3, note="n", on_lost="flag")))
    assert (lock.node, lock.name, lock.timeout, lock.note, lock.on_lost) == (a, "x", 3, "n", "flag")
    async with lock:
        assert a.lock("x").locked()
    semaphore = pickle.loads(pickle.dumps(a.semaphore("s", 3, permits=2)))
    assert (semaphore.capacity, semaphore.permits) == (3, 2)
    assert type(pickle.loads(pickle.dumps(a.rlock("x")))) is type(a.rlock("x"))


@on_three_nodes
async def test_holds_do_not_pickle(nodes: list[Node]) -> None:
    async with nodes[0].lock("x") as hold:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(hold)


def test_a_pickled_lock_needs_its_node() -> None:
    async def main() -> bytes:
        async with memory_cluster("z") as (node,):
            return pickle.dumps(node.lock("x"))

    pickled = run(main())
    with pytest.raises(NodeClosed, match="'z'"):
        pickle.loads(pickled)


# Rule 10: errors.


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (AcquireTimeout, TimeoutError),
        (NotOwned, RuntimeError),
        (WouldDeadlock, RuntimeError),
        (NoQuorum, ConnectionError),
        (ConfigMismatch, ValueError),
        (NodeClosed, RuntimeError),
        (LockLost, LockError),
        (LockError, SoloistError),
        (StaleFence, LockError),
    ],
)
def test_errors_are_also_what_python_would_raise(error: type[LockError], also: type[Exception]) -> None:
    one = error("message", name="x", holder="a")
    assert isinstance(one, LockError)
    assert isinstance(one, also)
    copy = pickle.loads(pickle.dumps(one))
    assert (type(copy), str(copy), copy.name, copy.holder) == (error, "message", "x", "a")


# The decorator.


@on_three_nodes
async def test_a_lock_is_a_decorator(nodes: list[Node]) -> None:
    a, *_ = nodes
    lock = a.lock("daily")

    @lock
    async def job(x: int, *, y: int) -> int:
        """Does it."""
        assert lock.locked()
        return x + y

    assert await job(1, y=2) == 3
    assert job.__doc__ == "Does it."
    assert not lock.locked()


# Several locks.


@on_three_nodes
async def test_several_locks_are_all_or_none(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with b.lock("y"):
        with pytest.raises(AcquireTimeout, match="x, y"):
            async with a.locks("y", "x", timeout=0.05):
                pytest.fail("not all were granted")
        assert not a.holds
        async with a.lock("x", timeout=5):
            pass
    async with a.locks("y", "x", "y") as holds:
        assert sorted(holds) == ["x", "y"]
        assert all(hold.valid for hold in holds.values())


@on_three_nodes
async def test_several_locks_in_any_order_never_deadlock(nodes: list[Node]) -> None:
    exclusions = {name: Exclusion() for name in "xyz"}

    async def work(node: Node, names: str) -> None:
        for _ in range(20):
            async with node.locks(*names) as holds:
                for name in names:
                    exclusions[name].enter(holds[name].fence)
                await asyncio.sleep(0)
                for name in names:
                    exclusions[name].leave()

    await asyncio.gather(*(work(node, names) for node in nodes for names in ("xy", "yx", "zx", "zyx")))


def test_no_locks_at_all_is_a_mistake() -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError, match="at least one"):
        node.locks()


# Semaphores.


@on_three_nodes
async def test_a_semaphore_lets_in_its_value_and_no_more(nodes: list[Node]) -> None:
    exclusion = Exclusion(most=2)
    visits = (exclusion.visit(node, node.semaphore("s", 2), 20) for node in nodes for _ in range(3))
    await asyncio.gather(*visits)
    assert exclusion.highest == 2


@on_three_nodes
async def test_one_node_may_have_all_permits(nodes: list[Node]) -> None:
    a, b, _ = nodes
    holds = [await a.semaphore("s", 3).acquire() for _ in range(3)]
    assert await b.semaphore("s", 3).acquire(timeout=0.02) is None
    assert holds[0]
    await holds[0].release()
    async with b.semaphore("s", 3, timeout=5):
        pass
    for hold in holds[1:]:
        assert hold
        await hold.release()


@on_three_nodes
async def test_two_who_collect_permits_never_block_each_other(nodes: list[Node]) -> None:
    out = 0

    async def collect(node: Node, permits: int) -> None:
        nonlocal out
        for _ in range(15):
            async with node.semaphore("s", 3, permits=permits):
                out += permits
                assert out <= 3
                await asyncio.sleep(0)
                out -= permits

    await asyncio.gather(*(collect(node, permits) for node in nodes for permits in (1, 2, 3)))


@on_three_nodes
async def test_a_collector_gives_back_what_it_had_when_its_time_is_over(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.semaphore("s", 3):
        with pytest.raises(AcquireTimeout):
            async with b.semaphore("s", 3, permits=3, timeout=0.05):
                pytest.fail("there are only two")
        async with b.semaphore("s", 3, permits=2, timeout=5):
            pass


@on_three_nodes
async def test_a_try_gets_a_free_lock_wherever_it_rests(nodes: list[Node]) -> None:
    for node in nodes * 2:
        hold = await node.lock("x").acquire(blocking=False)
        assert hold
        await hold.release()
        hold = await node.semaphore("s", 3, permits=2).acquire(timeout=0)
        assert hold
        await hold.release()


@on_three_nodes
async def test_a_try_waits_for_nobody_who_holds_it_elsewhere(nodes: list[Node]) -> None:
    a, b, c = nodes
    async with a.lock("x"), a.semaphore("s", 2), b.semaphore("s", 2):
        for _ in range(3):
            assert await b.lock("x").acquire(blocking=False) is None
            assert await c.semaphore("s", 2).acquire(blocking=False) is None
            assert await c.semaphore("s", 2, permits=2).acquire(blocking=False) is None
    hold = await b.lock("x").acquire(blocking=False)
    assert hold
    await hold.release()


@on_three_nodes
async def test_of_several_tries_at_once_one_succeeds(nodes: list[Node]) -> None:
    for _ in range(20):
        tries = (node.lock("x").acquire(blocking=False) for node in nodes for _ in range(2))
        holds = [hold for hold in await asyncio.gather(*tries) if hold]
        assert len(holds) == 1
        await holds[0].release()


@pytest.mark.parametrize("algorithm", ["bulgannawar-vaidya", "partitioned"])
def test_each_place_of_a_semaphore_is_one_callers_and_its_fences_grow(algorithm: str) -> None:
    """Several holders cannot be ordered by one number; those of one place can."""
    fences: dict[int | None, int] = {}
    taken: set[int | None] = set()

    async def use(node: Node) -> None:
        for _ in range(20):
            async with node.semaphore("gpu", 3) as hold:
                assert hold.slots == (hold.slot,)
                assert hold.slot not in taken
                assert fences.get(hold.slot, 0) < hold.fence
                fences[hold.slot] = hold.fence
                taken.add(hold.slot)
                await asyncio.sleep(0)
                taken.remove(hold.slot)

    async def body() -> None:
        async with memory_cluster(semaphore_algorithm=algorithm) as nodes:
            await asyncio.gather(*(use(node) for node in nodes * 3))
            with pytest.raises(UsageError, match="the second may wait for the first to be given back"):
                nodes[0].semaphore("gpu", 3, permits=2)

    run(body())
    assert set(fences) == {0, 1, 2}


@pytest.mark.parametrize("algorithm", prompt())
def test_a_free_place_is_given_away_while_the_others_stay_inside(algorithm: str) -> None:
    """Whichever nodes hold the rest, and wherever tokens rest."""

    async def body() -> None:
        async with memory_cluster(semaphore_algorithm=algorithm) as nodes:
            for first, second in product(nodes, repeat=2):
                async with first.semaphore("s", 3), second.semaphore("s", 3):
                    for node in nodes * 2:
                        async with node.semaphore("s", 3, timeout=5):
                            pass

    run(body())


@on_three_nodes
async def test_a_try_for_several_permits_does_not_wait_for_another_collector(nodes: list[Node]) -> None:
    a, *_ = nodes
    async with a.semaphore("s", 2):
        collector = asyncio.create_task(a.semaphore("s", 2, permits=2).acquire())
        await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            assert await a.semaphore("s", 2, permits=2).acquire(blocking=False) is None
    hold = await collector
    assert hold
    await hold.release()


@on_three_nodes
async def test_names_of_locks_and_semaphores_do_not_meet(nodes: list[Node]) -> None:
    a, b, _ = nodes
    semaphore = b.semaphore("s", 2, permits=2, timeout=5)
    async with a.lock("s"), a.lock("s/permits"), a.lock("permits:s"), semaphore:
        pass


@pytest.mark.parametrize(("value", "permits"), [(0, 1), (2, 3), (2, 0)])
def test_impossible_permits_are_refused(value: int, permits: int) -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError):
        node.semaphore("s", value, permits=permits)


@on_three_nodes
async def test_a_semaphore_of_one_is_a_lock_with_fences(nodes: list[Node]) -> None:
    exclusion = Exclusion()
    await asyncio.gather(*(exclusion.visit(node, node.semaphore("s", 1), 10) for node in nodes))


def test_two_nodes_that_disagree_about_a_value_are_both_told() -> None:
    """Neither may wait for ever for an answer that the other cannot give."""

    async def main() -> None:
        async with memory_cluster() as nodes:
            a, b, _ = nodes
            results = await asyncio.gather(
                a.semaphore("s", 2).acquire(), b.semaphore("s", 3).acquire(), return_exceptions=True
            )
            assert [type(result) for result in results] == [ConfigMismatch, ConfigMismatch]
            assert getattr(results[0], "name", None) == "s"
            for node, value in ((a, 2), (b, 3)):  # and whoever comes later
                with pytest.raises(ConfigMismatch, match="capacity"):
                    await node.semaphore("s", value).acquire()

    run(main())


def test_a_node_that_holds_the_other_value_need_not_ask_for_it_to_be_noticed() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            await eventually(lambda: b.beginning.open)
            b.board._instance("semaphore:s", 3)  # b has used it before, and wants nothing now
            with pytest.raises(ConfigMismatch, match="2 here, not 3 at b"):
                await a.semaphore("s", 2).acquire()

    run(main())


@on_three_nodes
async def test_a_value_that_differs_on_one_node_is_refused_at_once(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.semaphore("s", 2):
        with pytest.raises(ConfigMismatch):
            await a.semaphore("s", 3).acquire()
        with pytest.raises(ConfigMismatch):
            await b.semaphore("s", 3).acquire()


# Fences.


@on_three_nodes
async def test_fences_grow_from_holder_to_holder_whichever_node_it_is_at(nodes: list[Node]) -> None:
    exclusion = Exclusion()
    await asyncio.gather(
        *(exclusion.visit(node, node.lock("x"), 30) for node in nodes for _ in range(2)),
        *(exclusion.visit(node, node.rlock("x"), 30) for node in nodes),
    )
    assert all(a < b for a, b in pairwise(exclusion.fences))
    assert len(exclusion.fences) == 270


def test_a_guard_refuses_those_who_were_overtaken() -> None:
    guard = FenceGuard()
    for fence in (3, 3, 5):
        guard.check("x", fence)
    with pytest.raises(StaleFence, match="5 has been here"):
        guard.check("x", 4)
    guard.check("y", 1)


# Order and locality.


@on_three_nodes
async def test_callers_of_one_node_are_served_in_order(nodes: list[Node]) -> None:
    a, *_ = nodes
    order: list[int] = []

    async def work(number: int) -> None:
        async with a.lock("x"):
            order.append(number)

    async with a.lock("x"):
        tasks = []
        for number in range(50):
            tasks.append(asyncio.create_task(work(number)))
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == list(range(50))


async def runs_of(locality: int) -> dict[str, list[int]]:
    """The lengths of each node's unbroken runs of entries while both nodes always have callers that wait."""
    async with memory_cluster("ab", locality=locality) as nodes:
        exclusion = Exclusion()
        visits = [exclusion.visit(node, node.lock("x"), 40) for node in nodes for _ in range(4)]
        await asyncio.gather(*visits)
        steady = exclusion.owners[8:240]  # while all still come back
        runs: dict[str, list[int]] = {"a": [], "b": []}
        for owner, run_ in groupby(steady):
            runs[owner].append(len(list(run_)))
        return {owner: lengths[1:-1] for owner, lengths in runs.items()}


@pytest.mark.parametrize("locality", [0, 1, 4])
def test_a_busy_node_passes_the_lock_on(locality: int) -> None:
    """By default at most two entries in a row while another node waits; with locality 0, one."""
    runs = run(runs_of(locality))
    for lengths in runs.values():
        assert max(lengths) <= locality + 1
    assert sum(len(lengths) for lengths in runs.values()) > 10


def test_a_busy_node_that_never_rests_does_not_starve_another() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            stop = asyncio.Event()

            async def hog() -> None:
                while not stop.is_set():
                    async with a.lock("x"):
                        await asyncio.sleep(0)

            hogs = [asyncio.create_task(hog()) for _ in range(20)]
            for _ in range(50):
                async with b.lock("x", timeout=10):
                    await asyncio.sleep(0)
            stop.set()
            await asyncio.gather(*hogs)

    run(main())


def test_locality_must_not_be_negative() -> None:
    with pytest.raises(UsageError, match="locality"):
        memory_nodes("a", locality=-1)


# Looking.


@on_three_nodes
async def test_inspect_tells_who_has_it_and_who_waits(nodes: list[Node]) -> None:
    a, b, c = nodes
    assert not (await c.inspect("x")).holders
    async with a.lock("x", note="nightly job") as hold:
        waiter = asyncio.create_task(b.lock("x").acquire())
        await asyncio.sleep(0.01)
        seen = await c.inspect("x")
        (holder,) = seen.holders
        assert (holder.node, holder.note, holder.holding) == ("a", "nightly job", 1)
        assert holder.held_for is not None
        assert holder.held_for >= 0
        assert seen.waiting == {"b": 1}
        assert seen.fence == hold.fence
        assert seen.unreachable == []
        assert [(view.lock, view.node) for view in await c.holders()] == [("lock:x", "a"), ("lock:x", "b")]
    taken = await waiter
    assert taken
    await taken.release()


@on_three_nodes
async def test_inspect_names_those_who_do_not_answer(nodes: list[Node]) -> None:
    a, _, c = nodes
    await c.close()
    assert (await a.inspect("x")).unreachable == ["c"]


@on_three_nodes
async def test_many_locks_are_listed_in_parts(nodes: list[Node]) -> None:
    a, b, _ = nodes
    holds: list[Hold | None] = await asyncio.gather(*(a.lock(f"x{i}").acquire() for i in range(1000)))
    seen = [view for view in await b.holders() if view.holding]
    assert len({view.lock for view in seen}) == 1000
    for hold in holds:
        assert hold
        await hold.release()


# What a user may get wrong.


@pytest.mark.parametrize("options", [{"name": ""}, {"name": "x" * 1001}, {"name": "x", "note": "x" * 1001}])
def test_impossible_names_and_notes_are_refused(options: dict[str, str]) -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError):
        node.lock(**options)


def test_impossible_nodes_are_refused() -> None:
    with pytest.raises(UsageError, match="not among its peers"):
        Node("z", {"a": "127.0.0.1:1"})
    with pytest.raises(UsageError, match="HOST:PORT"):
        Node("a", {"a": "127.0.0.1"})
    with pytest.raises(UsageError, match="is for semaphores"):
        memory_nodes("a", algorithm="raymond-k")
    with pytest.raises(UsageError, match="is for locks"):
        memory_nodes("a", semaphore_algorithm="lamport")
    with pytest.raises(UsageError, match="did you mean"):
        memory_nodes("a", algorithm="lamprot")


def test_a_lone_node_needs_nobody() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            async with node.lock("x", timeout=0), node.semaphore("s", 2, permits=2, timeout=0):
                assert isinstance(node.lock("x"), Lock)
            await eventually(lambda: not node.holds)

    run(main())


# Many names.


@pytest.mark.parametrize(
    "algorithm", ["naimi-trehel", "ricart-agrawala", "suzuki-kasami", "maekawa", "raymond-tree", "lamport"]
)
def test_locks_that_nobody_uses_sleep_and_wake_up_as_they_were(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each name is used again and again by nodes in turn, with room for three only."""
    monkeypatch.setattr("soloist.net.engine.table.MOST_AWAKE", 3)

    async def body() -> None:
        async with memory_cluster(algorithm=algorithm) as nodes:
            fences: dict[str, int] = {}
            for turn, name in product(range(6), map(str, range(12))):
                async with nodes[(turn + int(name)) % 3].lock(name, timeout=10) as hold:
                    assert hold.fence > fences.get(name, 0)
                    fences[name] = hold.fence
                    await asyncio.sleep(0)
            assert all(node.asleep for node in nodes)
            assert all(len(node.instances) <= 8 for node in nodes)
            found = await nodes[0].inspect("0")
            assert found.fence == fences["0"]

    run(body())


def test_what_is_in_use_does_not_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.net.engine.table.MOST_AWAKE", 2)

    async def body() -> None:
        async with memory_cluster() as nodes:
            a, b, _ = nodes
            async with a.lock("held"):
                waiter = asyncio.create_task(b.lock("held").acquire())
                for name in map(str, range(20)):
                    async with a.lock(name), a.semaphore(name, 2):
                        pass
                assert "lock:held" in a.instances
                assert "lock:held" in b.instances
            hold = await waiter
            assert hold
            await hold.release()
            await hold.release()  # once more does no harm, though the lock may sleep by now
            with pytest.raises(ConfigMismatch):
                await b.semaphore("3", 3).acquire()

    run(body())


@pytest.mark.parametrize("algorithm", ["token-ring", "raynal-inform"])
def test_where_all_must_begin_together_all_are_told_that_a_lock_exists(algorithm: str) -> None:
    """They are: of a lock that one node uses, all others know; and that is no message of the algorithm."""

    async def main() -> None:
        with log_lines() as lines:
            async with memory_cluster("abc", algorithm=algorithm) as nodes:
                waiting = asyncio.create_task(nodes[1].lock("x").acquire())
                await eventually(lambda: all("lock:x" in node.instances for node in nodes))
                waiting.cancel()
        assert lines == []

    run(main())


@pytest.mark.parametrize(
    ("least", "wanted", "takes", "times"),
    [(0, True, 0, [1, 1]), (0, False, 0, [0, 0]), (60, True, 0, [0, 0]), (0, True, 0.002, [1, 0])],
)
def test_whoever_held_a_lock_for_long_steps_aside_when_it_is_handed_over(
    least: float, wanted: bool, takes: float, times: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not again for a while if that took long: then it was not only the next holder who ran."""
    yields: list[None] = []

    def sched_yield() -> None:
        yields.append(None)
        time.sleep(takes)

    monkeypatch.setattr("soloist.net.engine.turns.sched_yield", sched_yield)
    monkeypatch.setattr("soloist.net.engine.turns.LONG_HOLD", least)
    monkeypatch.setattr("soloist.net.engine.turns.LONG_ASIDE", takes / 2 or 60)
    monkeypatch.setattr("soloist.net.engine.turns.STAY_SECONDS", 60)

    async def hand_over(a: Node, b: Node) -> int:
        hold = await a.lock("x").acquire()
        assert hold
        if wanted:
            waiter = asyncio.create_task(b.lock("x").acquire())
            heard = a.stats.messages_received
            await eventually(lambda: a.stats.messages_received > heard)
        yields.clear()
        await hold.release()
        count = len(yields)
        if wanted:
            taken = await waiter
            assert taken
            await taken.release()
        return count

    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            assert [await hand_over(a, b) for _ in times] == times

    run(main())
