"""A lock that is lost, and a node that is closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from soloist.net import AcquireTimeout, LockLost, Node, NodeClosed
from soloist.net.member.clock import lease_clock
from soloist.testing import eventually, memory_cluster, memory_nodes, started
from tests.net.helpers import asked, assert_at_rest, log_lines, run, settled
from tests.net.lock.three import everywhere, homes

WHAT = {"node": "node", "connect": "client", "elsewhere": "client"}


def in_a_body_that_loses(
    home: str, body: Callable[[Node, asyncio.Event], Awaitable[Any]]
) -> asyncio.Task[Any]:
    """A task with a body on a node, or a client, that is closed once the body runs."""

    async def main() -> Any:
        running = asyncio.Event()
        async with homes(home, "a") as (node,):
            task = asyncio.create_task(body(node, running))  # type: ignore[arg-type]
            await running.wait()
            await node.close()
            await asyncio.wait([task])
        return task

    return run(main())  # type: ignore[no-any-return]


@everywhere
def test_loss_cancels_the_body_and_raises_lock_lost(home: str) -> None:
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

    assert not in_a_body_that_loses(home, body).exception()
    assert seen == ["cancelled", f"'x' is lost: the {WHAT[home]} was closed", "went on"]


@everywhere
def test_loss_of_nested_locks_is_one_loss_for_the_task(home: str) -> None:
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

    assert in_a_body_that_loses(home, body).result() == "lost"


@pytest.mark.parametrize("on_lost", ["cancel", "flag"])
@everywhere
def test_cancellation_by_somebody_else_stays_a_cancellation(home: str, on_lost: Any) -> None:
    async def body(node: Node, running: asyncio.Event) -> None:
        task = asyncio.current_task()
        assert task
        async with node.lock("x", on_lost=on_lost) as hold:
            hold.on_lost = lambda _: task.cancel() and None  # in the same turn
            running.set()
            await asyncio.sleep(60)

    assert in_a_body_that_loses(home, body).cancelled()


@everywhere
def test_a_timeout_around_a_body_is_still_a_timeout(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            with pytest.raises(TimeoutError) as caught:
                async with asyncio.timeout(0.01), node.lock("x"):
                    await asyncio.sleep(60)
            assert not isinstance(caught.value, AcquireTimeout)

    run(main())


@everywhere
def test_a_body_that_swallows_the_cancellation_still_learns_of_the_loss(home: str) -> None:
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

    assert in_a_body_that_loses(home, body).result() == 0


@everywhere
def test_on_lost_flag_only_sets_the_flag(home: str) -> None:
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

    assert in_a_body_that_loses(home, body).result() == "to its end"


@everywhere
def test_a_body_may_close_its_own_node(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):

            async def body() -> None:
                async with node.lock("x"):
                    await node.close()
                    await asyncio.sleep(0)

            with pytest.raises(LockLost):
                await body()
            await asyncio.sleep(0)

    run(main())


@everywhere
def test_a_hold_without_a_body_is_flagged(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
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
                await asked(nodes[1], callers=3, among=nodes)
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


@everywhere
def test_a_callback_that_fails_keeps_nobody_else_from_hearing(
    home: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            first = await node.lock("x").acquire_or_raise(None)
            second = await node.lock("y").acquire_or_raise(None)
            told: list[str] = []
            first.on_lost = lambda hold: told[3]  # type: ignore[assignment, return-value]
            second.on_lost = lambda hold: told.append(hold.why)
            await node.close()
            assert first.lost.is_set()
            assert told == [f"'y' is lost: the {node.what} was closed"]

    run(main())
    assert "on_lost failed" in caplog.text


@pytest.mark.parametrize("kind", ["lock", "rlock", "semaphore", "locks"])
def test_a_loss_that_nobody_has_told_of_is_found_at_the_end(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop had no time to be told, after the process was stopped for example: the clock says so."""

    clock, later = lease_clock(), 0.0
    monkeypatch.setattr("soloist.net.member.membership.lease_clock", lambda: lambda: clock() + later)

    async def main() -> None:
        nonlocal later
        async with memory_cluster("a", lease=600) as (node,):
            locks: dict[str, Any] = {
                "lock": lambda: node.lock("x"),
                "rlock": lambda: node.rlock("x"),
                "semaphore": lambda: node.semaphore("x", 2, permits=2),
                "locks": lambda: node.locks("x", "y"),
            }
            async with locks[kind]():
                pass
            with pytest.raises(LockLost, match="its lease has run out"):
                async with locks[kind]():
                    later = 3600.0
            later = 0.0
            async with locks[kind]():
                pass
            await eventually(lambda: not node.holds, "nothing is held")

    run(main())


@everywhere
def test_several_locks_may_only_be_flagged(home: str) -> None:
    async def body(node: Node, running: asyncio.Event) -> str:
        done = ""
        try:
            async with node.locks("x", "y", on_lost="flag") as holds:
                running.set()
                await holds["x"].lost.wait()
                await asyncio.sleep(0.01)  # nobody interrupts this
                done = "to its end"
        except LockLost:
            return done
        return "not lost"

    assert in_a_body_that_loses(home, body).result() == "to its end"


@pytest.mark.parametrize("lease", [None, 600])
def test_since_when_it_is_held_is_on_the_clock_of_monotonic(lease: float | None) -> None:
    """Whichever clock was looked at. Time in which the machine was suspended counts: it was held then, too."""

    async def main() -> None:
        async with memory_cluster("a", lease=lease) as (node,):
            async with node.lock("x") as _:
                pass  # the node is open for business
            before = time.monotonic()
            async with node.lock("x") as hold:
                assert before - 0.001 <= hold.since <= time.monotonic()
                if lease:
                    clock = node.turns.clock
                    node.turns.clock = lambda: clock() + 3600
                    assert before - 3600.001 <= hold.since <= time.monotonic() - 3600

    run(main())


def test_who_loses_one_of_several_permits_keeps_none_of_them() -> None:
    """The lease was over when it was looked at, and renewed before anybody else looked: nobody says that the others are lost."""

    async def scenario() -> None:
        async with memory_cluster("ab", lease=600.0) as (a, b):
            hold = await a.semaphore("s", 3, permits=2, on_lost="flag").acquire_or_raise(None)
            council = a.beginning.council
            assert council
            with council.gate.step() as member:
                worth = dict(member.worth)
                member.worth = dict.fromkeys(worth, -1.0)
            assert not hold.valid
            with council.gate.step() as member:
                member.worth = worth
            await hold.lost.wait()
            await hold.release()
            async with b.semaphore("s", 3, permits=3, timeout=10):
                pass
            await settled([a, b])
            assert_at_rest([a, b])

    with log_lines():
        run(scenario())
