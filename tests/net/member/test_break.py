"""Breaking a lock: agreed upon, and never two holders. In one process; and with real ones, of which one is stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, LockError, LockLost, Node, NoQuorum, SyncNode
from soloist.net.engine.ticket import FENCE_BITS
from soloist.net.member.breaks import Broken, Taken
from soloist.net.member.parcel import Parcel
from soloist.testing import Do, Worker, Workers, crash, eventually, memory_cluster, memory_nodes, ports
from soloist.views.messages import Decided
from tests.net.helpers import begun, run
from tests.net.member.test_membership import council
from tests.net.member.test_survival import LEASE, fence_of

FOR_EVER = 600.0


def broken(task: asyncio.Task[Any]) -> str:
    error = task.exception()
    assert isinstance(error, LockLost), error
    return str(error)


async def stay(node: Node, lock: str, inside: asyncio.Event) -> None:
    async with node.lock(lock):
        inside.set()
        await asyncio.sleep(FOR_EVER)


def test_the_holder_loses_it_and_the_next_one_is_in() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            inside = asyncio.Event()
            holder = asyncio.create_task(stay(b, "x", inside))
            await inside.wait()
            (hold,) = b.holds["lock:x"]
            kept = await c.lock("y").acquire_or_raise(None)
            waiting = asyncio.create_task(c.lock("x").acquire_or_raise(None))
            found = await a.break_lock("x")
            assert found == Broken("x", a.epoch, (Taken("b", hold.fence, "lock"),), ())
            assert found.epoch > hold.epoch
            assert not hold.valid
            assert (await waiting).fence > hold.fence
            await asyncio.wait([holder])
            assert broken(holder) == "'x' is lost: it was broken: somebody had it taken away"
            assert kept.valid
            await kept.release()
            assert (await a.break_lock("nobody's")).held == ()
            assert (await waiting).valid
            await (await waiting).release()
            assert (await a.break_lock("x")).held == ()

    run(main())


@pytest.mark.parametrize("who", range(3))
def test_holders_may_be_anywhere_also_where_it_is_asked_for(who: int) -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as nodes:
            semaphore = [await node.semaphore("x", 3).acquire_or_raise(None) for node in nodes[:2]]
            lock = await nodes[who].rlock("x").acquire_or_raise(None)
            again = await nodes[who].rlock("x").acquire_or_raise(None)
            found = await nodes[who].break_lock("x")
            assert sorted((taken.node, taken.kind) for taken in found.held) == sorted(
                [("a", "semaphore"), ("b", "semaphore"), (nodes[who].name, "lock")]
            )
            assert not any(hold.valid for hold in (*semaphore, lock, again))
            for hold in (*semaphore, lock, again):
                await hold.lost.wait()
            async with nodes[2].semaphore("x", 3, permits=3), nodes[0].lock("x"):
                pass

    run(main())


def test_threads(tmp_path: Path) -> None:
    with ports("a") as peers, SyncNode("a", peers, lease=FOR_EVER, data_dir=str(tmp_path)) as node:
        told: list[str] = []

        def stay() -> None:
            with node.lock("x", timeout=60, on_lost=lambda hold: told.append(hold.why)) as hold:
                found = node.break_lock("x", timeout=60)
                assert [taken.fence for taken in found.held] == [hold.fence]
                assert hold.lost.wait(60)

        with pytest.raises(LockLost, match="it was broken"):
            stay()
        assert told == ["'x' is lost: it was broken: somebody had it taken away"]


def test_two_who_break_the_same_lock_at_once() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await b.lock("x").acquire_or_raise(None)
            found = await asyncio.gather(a.break_lock("x"), c.break_lock("x"), c.break_lock("x"))
            assert any(taken.fence == hold.fence for each in found for taken in each.held)
            assert not hold.valid
            async with b.lock("x") as again:
                assert again.epoch > hold.epoch

    run(main())


def test_whoever_asks_may_be_a_view_behind() -> None:
    """The view that it hears of next was made before it asked, and tells nothing of who holds the lock in it."""

    async def main() -> None:
        async with memory_cluster("abcd", lease=FOR_EVER, voters=["b", "c", "d"]) as (a, b, c, d):
            await begun(a, b, c, d)
            behind = council(a)
            take, kept = behind._take, []

            def not_yet(parcel: Parcel) -> None:
                later = [said for said in parcel.said if isinstance(said[1], Decided)]
                kept.extend(later)
                take(
                    msgspec.structs.replace(parcel, said=[said for said in parcel.said if said not in later])
                )

            behind._take = not_yet  # type: ignore[method-assign]
            await crash(d, a, b, c)
            await eventually(lambda: b.epoch > a.epoch, "there is a later view")
            tries = [await b.lock(f"x{number}").acquire(timeout=0.1) for number in range(9)]
            hold = next(
                hold for hold in tries if hold
            )  # one that does not rest where it is still wanted in the old view
            broken = asyncio.create_task(a.break_lock(hold.name))
            await eventually(lambda: kept, "the voters have said that it is behind")
            assert not broken.done()
            behind._take = take  # type: ignore[method-assign]
            assert [taken.fence for taken in (await broken).held] == [hold.fence]
            assert not hold.valid

    run(main())


def test_without_a_lease_it_is_refused() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, _), a.lock("x") as hold:
            with pytest.raises(UsageError, match=r"^'x' cannot be broken: without a lease"):
                await a.break_lock("x")
            assert hold.valid

    run(main())


def test_before_there_is_a_view_it_says_so() -> None:
    async def main() -> None:
        a, _ = memory_nodes("ab", lease=FOR_EVER)
        async with a:
            with pytest.raises(LockError, match=r"^'x' cannot be broken yet: the cluster has not begun"):
                await a.break_lock("x")

    run(main())


def test_without_a_majority_it_ends_and_may_be_given_up_before() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=0.5) as (a, b, c):
            await begun(a, b, c)
            await crash(b)
            await crash(c)
            with pytest.raises(AcquireTimeout, match=r"'x' was not broken within 0\.01 s"):
                await a.break_lock("x", timeout=0.01)
            with pytest.raises(NoQuorum, match=r"'x' cannot be broken: .*; not heard: b, c"):
                await a.break_lock("x")

    run(main())


async def break_it(worker: Worker, lock: str) -> tuple[list[tuple[str, int]], tuple[str, ...], int]:
    found = await worker.node.break_lock(lock)
    return [(taken.node, taken.fence) for taken in found.held], found.left_out, found.epoch


def test_a_holder_that_is_stopped_is_out_waited() -> None:
    """Nobody can tell what it holds; when it wakes it holds nothing."""
    with Workers("abc", lease=LEASE) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.pause("b")
        workers.tell("a", Do(break_it, ("wanted",)))
        held, left_out, epoch = workers.hear("a")
        assert (held, left_out) == ([], ("b",))
        assert epoch > before >> FENCE_BITS
        assert fence_of(workers, "c", "wanted") > before
        workers.resume("b")
        assert "LockLost" in str(workers.held("b")["wanted"])
