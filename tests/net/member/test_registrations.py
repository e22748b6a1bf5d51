"""Locks whose holder's loss is not the end of their hold: registered with voters, over memory and with real processes."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, Node, SyncNode
from soloist.net.engine.ticket import Ticket
from soloist.net.member.breaks import Taken
from soloist.net.member.council import Council
from soloist.net.member.gate import Gate
from soloist.testing import Worker, Workers, crash, eventually, memory_cluster, memory_nodes, ports, until
from soloist.views import FOR_GOOD
from soloist.views.messages import Register, Strike
from tests.net.helpers import run
from tests.net.member.test_survival import fence_of, refused

FOR_EVER = 600.0


def stored(node: Node) -> list[tuple[str, float]]:
    """What a node's voter has registered."""
    voter = node.beginning.council.voter if node.beginning.council else None
    return [(each.node, each.delay) for each in voter.file.registered] if voter else []


async def without(node: Node, *names: str) -> None:
    await eventually(lambda: not set(names) & set(node.members), f"a view without {names}")


@contextmanager
def said(kinds: tuple[type, ...], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Messages of these kinds that councils hear."""
    found: list[Any] = []
    hear = Council._hear

    def listen(council: Council, sender: str, to: str, message: Any) -> None:
        if isinstance(message, kinds):
            found.append(message)
        hear(council, sender, to, message)

    with monkeypatch.context() as patch:
        patch.setattr(Council, "_hear", listen)
        yield found


def test_a_majority_knows_before_the_caller_is_in_and_until_it_has_left() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as nodes:
            for _ in range(3):
                async with nodes[1].lock("x", on_holder_loss="hold"):
                    assert sum(stored(node) == [("b", FOR_GOOD)] for node in nodes) >= 2
                async with nodes[2].lock("x", lock_delay=5, timeout=60):
                    assert sum(("c", 5.0) in stored(node) for node in nodes) >= 2
                    assert sum(("b", FOR_GOOD) in stored(node) for node in nodes) <= 1
            await eventually(lambda: not any(stored(node) for node in nodes), "all is struck off")

    run(main())


def test_plain_locks_say_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, _):
            with said((Register, Strike), monkeypatch) as found:
                for node in (a, b, a):
                    async with node.lock("x", timeout=60):
                        pass
                assert found == []
                async with a.lock("x", on_holder_loss="hold", timeout=60):
                    pass
                await eventually(lambda: len(found) >= 6, "three voters are told twice")

    run(main())


def test_held_for_a_dead_holder_until_it_is_broken() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await b.lock("x", on_holder_loss="hold").acquire_or_raise(60)
            plain = await b.lock("y").acquire_or_raise(60)
            await crash(b, a, c)
            await without(a, "b")
            async with a.lock("y", timeout=60) as next_one:  # of which nobody said so
                assert next_one.fence > plain.fence
            with pytest.raises(AcquireTimeout) as told:
                await a.lock("x").acquire_or_raise(0.05)
            assert str(told.value) == (
                f"'x' was not granted within 0.05 s; b held it with fence {hold.fence} and was lost: "
                "`soloist break x` frees it"
            )
            assert told.value.holder == "b"
            assert await c.lock("x").acquire(timeout=0) is None
            (seen,) = (await c.inspect("x")).holders
            assert (seen.node, seen.fence, seen.lost) == ("b", hold.fence, "lost: `soloist break x` frees it")
            assert [each.node for each in await a.holders() if each.lock == "lock:x"] == ["b"]
            assert a.withheld() == c.withheld() != []
            waiting = asyncio.create_task(a.lock("x").acquire_or_raise(60))
            found = await c.break_lock("x", timeout=60)
            assert found.held == (Taken("b", hold.fence, "lock"),)
            assert (await waiting).fence > hold.fence
            assert a.withheld() == []
            await (await waiting).release()

    run(main())


def test_after_a_delay_the_next_one_is_in() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await b.lock("x", lock_delay=0.4).acquire_or_raise(60)
            await crash(b, a, c)
            await without(c, "b")
            lost = c.epoch
            with pytest.raises(AcquireTimeout, match=r"b held it .* its lock_delay of 0.4 s has not passed"):
                await c.lock("x").acquire_or_raise(0.01)
            async with c.lock("x", timeout=60) as later:
                assert later.epoch > lost  # it took another view
                assert later.fence > hold.fence

    run(main())


def test_each_hold_is_treated_as_its_own_caller_asked() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            async with b.lock("x", on_holder_loss="hold", timeout=60):
                pass
            await b.lock("x").acquire_or_raise(60)
            await crash(b, a, c)
            async with c.lock("x", on_holder_loss="hold", timeout=60):
                pass

    run(main())


def test_a_living_holder_is_carried_over_and_still_registered() -> None:
    async def main() -> None:
        async with memory_cluster("abcd", lease=FOR_EVER, voters=["a", "b", "c"]) as (a, b, c, d):
            hold = await b.lock("x", on_holder_loss="hold").acquire_or_raise(60)
            await d.close()
            await without(a, "d")
            assert hold.valid
            await crash(b, a, c)
            await without(a, "b")
            assert await a.lock("x").acquire(timeout=0.05) is None
            assert (await a.break_lock("x", timeout=60)).held == (Taken("b", hold.fence, "lock"),)
            async with c.lock("x", timeout=60):
                pass

    run(main())


def test_released_after_a_change_it_is_struck_off() -> None:
    async def main() -> None:
        async with memory_cluster("abcd", lease=FOR_EVER, voters=["a", "b", "c"]) as (a, b, _c, d):
            hold = await b.lock("x", on_holder_loss="hold").acquire_or_raise(60)
            await d.close()
            await without(b, "d")
            await hold.release()
            async with a.lock("x", timeout=60):
                pass
            await eventually(lambda: not stored(a) and not stored(b), "it is struck off")

    run(main())


def test_a_caller_that_gives_up_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as nodes:
            a, b, c = nodes
            holder = await a.lock("x").acquire_or_raise(60)
            for _ in range(20):
                waiting = asyncio.create_task(b.lock("x", on_holder_loss="hold").acquire_or_raise(None))
                await asyncio.sleep(0)
                if not holder.released:
                    await holder.release()
                waiting.cancel()
                await asyncio.wait([waiting])
                if not waiting.cancelled():
                    await waiting.result().release()
            async with c.lock("x", timeout=60):
                pass
            await eventually(lambda: not any(map(stored, nodes)), "nothing is registered")

    run(main())


def test_a_semaphore_with_a_lost_place_lets_nobody_in_but_its_holders_go_on() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            mine = await a.semaphore("s", 3, on_holder_loss="hold").acquire_or_raise(60)
            await b.semaphore("s", 3, permits=1, on_holder_loss="hold").acquire_or_raise(60)
            await crash(b, a, c)
            await without(a, "b")
            assert mine.valid
            assert await c.semaphore("s", 3).acquire(timeout=0.05) is None
            await mine.release()
            assert mine.why == ""
            assert await c.semaphore("s", 3).acquire(timeout=0.05) is None
            assert [each.node for each in (await a.break_lock("s", timeout=60)).held] == ["b"]
            async with c.semaphore("s", 3, permits=3, timeout=60):
                pass

    run(main())


@pytest.mark.parametrize("how", ["max_hold", "closed"])
def test_a_loss_is_no_release(how: str) -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            limit = 0.02 if how == "max_hold" else None
            lock = b.lock("x", on_holder_loss="hold", max_hold=limit, on_lost="flag")
            hold = await lock.acquire_or_raise(60)
            if how == "closed":
                await b.close()
            await hold.lost.wait()
            await eventually(lambda: bool(a.withheld()), "it is held for who is lost")
            assert await c.lock("x").acquire(timeout=0.05) is None
            await a.break_lock("x", timeout=60)
            async with c.lock("x", timeout=60) as later:
                assert later.fence > hold.fence

    run(main())


def test_a_lease_that_is_over_is_a_loss() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await b.lock("x", on_holder_loss="hold", on_lost="flag").acquire_or_raise(60)
            with b.beginning.council.gate.step() as member:  # type: ignore[union-attr]
                member.worth = dict.fromkeys(member.worth, -1.0)
            assert not hold.valid
            await eventually(lambda: bool(c.withheld()), "it is held for who has lost it")
            assert "b" in c.members
            assert await a.lock("x").acquire(timeout=0.05) is None
            await c.break_lock("x", timeout=60)
            async with b.lock("x", on_holder_loss="hold", timeout=60):
                pass

    run(main())


def test_a_lease_that_is_over_for_a_moment_keeps_nobody_out_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Voters say only once that a majority knows; whoever is refused then is let in when the lease is renewed."""
    begin, refused = Gate.begin, list[Ticket]()

    def late(gate: Gate, epoch: int, ticket: Ticket) -> bool:
        clock = gate.clock
        if not refused:
            refused.append(ticket)
            gate.clock = lambda: clock() + 2 * FOR_EVER
        try:
            return begin(gate, epoch, ticket)
        finally:
            gate.clock = clock

    monkeypatch.setattr(Gate, "begin", late)

    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, _, _):
            hold = await a.lock("x", on_holder_loss="hold").acquire_or_raise(60)
            assert refused
            await hold.release()

    run(main())


def test_without_a_majority_nobody_is_let_in_and_a_release_waits_for_nothing() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await a.lock("x", on_holder_loss="hold").acquire_or_raise(60)
            await crash(b)
            await crash(c)
            assert await a.lock("y", on_holder_loss="hold").acquire(timeout=0.05) is None
            async with asyncio.timeout(60):
                await hold.release()
            assert hold.why == ""
            assert await a.lock("x", on_holder_loss="hold").acquire(timeout=0.05) is None

    run(main())


def test_many_take_it_in_different_ways_while_views_change() -> None:
    async def main() -> None:
        async with memory_cluster("abcd", lease=FOR_EVER, voters=["a", "b", "c"]) as nodes:
            inside, fences = 0, list[int]()

            async def take(node: Node, number: int) -> None:
                nonlocal inside
                ways: list[dict[str, Any]] = [{}, {"on_holder_loss": "hold"}, {"lock_delay": 3}]
                for _ in range(3):
                    async with node.lock("x", timeout=60, **ways[number % 3]) as hold:
                        inside += 1
                        assert inside == 1
                        await asyncio.sleep(0.001)
                        fences.append(hold.fence)
                        inside -= 1

            tasks = [asyncio.create_task(take(node, i)) for node in nodes[:3] for i in range(4)]
            await eventually(lambda: len(fences) > 5, "some have been in")
            await nodes[3].close()
            await nodes[0].break_lock("nobody's", timeout=60)
            await asyncio.gather(*tasks)
            assert len(fences) == 36
            assert fences == sorted(set(fences))
            await eventually(lambda: not any(map(stored, nodes[:3])), "nothing is registered")

    run(main())


def test_the_other_ways_to_take_it() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            async with b.rlock("r", lock_delay=9) as first, b.rlock("r", lock_delay=9) as again:
                assert first.fence == again.fence
                assert ("b", 9.0) in stored(b)
            async with b.locks("p", "q", on_holder_loss="hold"):
                assert len(stored(b)) >= 2
            copied = pickle.loads(pickle.dumps(b.lock("x", on_holder_loss="hold")))
            assert copied.delay == FOR_GOOD
            await copied.acquire_or_raise(60)
            await crash(b, a, c)
            await without(a, "b")
            assert [each.partition(":")[0] for each in a.withheld()] == ["x"]

    run(main())


def test_threads(tmp_path: Any) -> None:
    with ports("a") as peers, SyncNode("a", peers, lease=FOR_EVER, data_dir=str(tmp_path)) as node:
        with node.lock("x", on_holder_loss="hold", timeout=60), node.locks("y", lock_delay=2, timeout=60):
            assert len(stored(node.node)) == 2
        with node.semaphore("s", 2, lock_delay=1, timeout=60), node.rlock("r", lock_delay=1, timeout=60):
            assert len(stored(node.node)) >= 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"on_holder_loss": "keep"}, "on_holder_loss must be 'release' or 'hold', not 'keep'"),
        ({"lock_delay": -1}, "lock_delay must be a number of seconds, 0 or more, or None for none; not -1"),
        (
            {"lock_delay": True},
            "lock_delay must be a number of seconds, 0 or more, or None for none; not True",
        ),
        (
            {"lock_delay": 3, "on_holder_loss": "hold"},
            "lock_delay ends by itself, and on_holder_loss='hold' never does: give one of them",
        ),
    ],
)
def test_bad_wishes(options: dict[str, Any], complaint: str) -> None:
    (node,) = memory_nodes("a", lease=FOR_EVER)
    with pytest.raises(UsageError) as told:
        node.lock("x", **options)
    assert str(told.value) == complaint


def test_without_voters_it_is_refused() -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError, match="need a lease"):
        node.lock("x", on_holder_loss="hold")
    etcd = Node("a", {"a": "127.0.0.1:1"}, lease=10, etcd=["http://127.0.0.1:2"])
    with pytest.raises(UsageError, match="with etcd nobody stores what is held"):
        etcd.semaphore("x", 2, lock_delay=1)
    assert etcd.lock("x", lock_delay=0).delay is None


async def hold_for_good(worker: Worker) -> int:
    return (await worker.node.lock("x", on_holder_loss="hold").acquire_or_raise(60)).fence


async def free(worker: Worker) -> list[str]:
    return [taken.node for taken in (await worker.node.break_lock("x", timeout=60)).held]


async def seen(worker: Worker) -> list[str]:
    return worker.node.withheld()


def test_killed_and_all_started_again_it_is_still_held() -> None:
    """kill -9 of the holder, and then of everybody: what voters have stored outlives them all."""
    with Workers("abc", lease=2.0) as workers:
        fence = workers.do("b", hold_for_good)
        workers.kill("b")
        until(lambda: workers.do("a", seen), "a view without b")
        assert f"b held it with fence {fence} and was lost" in refused(workers, "c", "x")
        for name in "ac":
            workers.kill(name)
        for name in "ac":
            workers.restart(name)
        fence_of(workers, "a", "y")
        assert f"b held it with fence {fence} and was lost" in refused(workers, "c", "x")
        assert workers.do("c", free) == ["b"]
        assert fence_of(workers, "a", "x") > fence
