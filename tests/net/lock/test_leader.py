"""Leaders: at most one at a time, for as long as it can, and another one after it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import HoldLike, Leader, LockLost, Node, NodeClosed, NoQuorum
from soloist.net.leader import linger
from soloist.net.member.gate import Gate
from soloist.testing import Witness, crash, eventually, memory_cluster
from tests.net.helpers import asked, begun, log_lines, run
from tests.net.lock.three import everywhere, homes


class Diary:
    """What a candidate was told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []

    def gain(self, hold: HoldLike) -> None:
        self.lines.append(("gain", hold.fence))

    async def loss(self, hold: HoldLike) -> None:
        self.lines.append(("loss", hold.fence))

    def leader(self, node: Node, name: str = "x") -> Leader:
        return node.leader(name, note=node.name, on_gain=self.gain, on_loss=self.loss)


@everywhere
def test_one_leads_and_the_next_one_after_it(home: str) -> None:
    async def main() -> None:
        diary = Diary()
        async with homes(home, "ab") as nodes:
            a, b = nodes
            async with diary.leader(a) as first:
                assert (await first.elected()).fence == first.term
                assert first.leading
                async with diary.leader(b) as second:
                    await asked(b, among=nodes)
                    assert not second.leading
                    assert second.term is None
                    assert [(each.node, each.note) for each in (await b.inspect("x")).holders] == [
                        ("a", a.name)
                    ]
                    term = first.term
                    await first.step_down()
                    assert not first.leading
                    later = await second.elected()
                    assert term
                    assert later.fence > term
        then = [("gain", term), ("loss", term), ("gain", later.fence), ("loss", later.fence)]
        assert diary.lines[:4] == then

    run(main())


@everywhere
def test_work_is_done_by_the_leader_and_its_end_ends_the_lead(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):

            async def work(hold: HoldLike) -> str:
                assert node.lock("x").locked()
                return f"done in {hold.fence}"

            leader = node.leader("x")
            said = await leader.run(work)
            assert said.startswith("done in ")
            assert await leader.run(work) > said

    run(main())


def test_who_has_lost_the_lead_is_elected_again_in_a_later_term() -> None:
    """Its lease is over, by its own clock, before anybody could tell it."""

    async def main() -> None:
        diary, terms = Diary(), list[int]()
        async with memory_cluster("a", lease=600) as (node,):
            gate = node.table.door
            assert isinstance(gate, Gate)
            clock = gate.clock
            leader = diary.leader(node)

            async def work(hold: HoldLike) -> None:
                terms.append(hold.fence)
                if len(terms) > 1:
                    return
                assert leader.leading
                gate.clock = lambda: clock() + 3600
                assert not leader.leading
                assert leader.term is None
                asyncio.get_running_loop().call_soon(setattr, gate, "clock", clock)
                hold.check()

            await leader.run(work)
            assert terms[0] < terms[1]
            assert diary.lines == [(what, term) for term in terms for what in ("gain", "loss")]
            await eventually(lambda: not node.holds, "nothing is held")

    run(main())


def test_the_lead_that_is_broken_is_told_and_another_term_begins() -> None:
    async def main() -> None:
        diary = Diary()
        async with memory_cluster("abc", lease=10) as nodes:
            a, b, c = nodes
            async with diary.leader(a) as first:
                old = await first.elected()
                async with b.leader("x") as second:
                    await asked(b, among=nodes)
                    await c.break_lock("x")
                    both = (first, second)  # either may be the next one
                    await eventually(lambda: max(each.term or 0 for each in both) > old.fence, "a new term")
                    assert not (first.leading and second.leading)
                    assert not old.valid
                    assert diary.lines[:2] == [("gain", old.fence), ("loss", old.fence)]

    run(main())


def test_when_the_leader_crashes_somebody_else_leads() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=10) as (a, b, c):
            task = asyncio.create_task(a.leader("x").run(linger))
            await eventually(lambda: a.holds, "a leads")
            async with b.leader("x") as second, c.leader("x") as third:
                await crash(a, b, c)
                waiting = [asyncio.create_task(each.elected()) for each in (second, third)]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                assert second.leading + third.leading == 1
                for each in waiting:
                    each.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(main())


@everywhere
def test_never_two_at_once_though_they_come_and_go(home: str) -> None:
    async def main() -> None:
        witness = Witness(remember=True)
        async with homes(home, "abc") as nodes:

            async def candidate(node: Node, turn: int) -> None:
                async def work(hold: HoldLike) -> None:
                    with witness.inside_with("x", node.name, hold.fence):
                        await asyncio.sleep(0.001 * turn)

                leader = node.leader("x")
                for _ in range(10):
                    await leader.run(work)

            await asyncio.gather(*(candidate(node, turn) for node in nodes for turn in range(3)))
        assert not witness.problems()
        assert witness.finding("x").entries == 90

    run(main())


@pytest.mark.parametrize("wrong", ["gain", "loss", "work"])
@everywhere
def test_an_error_of_its_user_ends_it_and_frees_the_lead(home: str, wrong: str) -> None:
    async def main() -> None:
        def fails(hold: HoldLike) -> None:
            raise KeyError(wrong)

        async def work(hold: HoldLike) -> None:
            if wrong == "work":
                fails(hold)

        async with homes(home, "a") as (node,):
            told: dict[str, Any] = {f"on_{wrong}": fails} if wrong != "work" else {}
            leader = node.leader("x", **told)
            with pytest.raises(KeyError, match=wrong):
                await leader.run(work)
            assert not leader.leading

    run(main())


@everywhere
def test_what_a_failed_beginning_has_begun_is_ended(home: str) -> None:
    async def main() -> None:
        diary = Diary()

        async def fails(hold: HoldLike) -> None:
            await asyncio.sleep(0)
            raise KeyError(hold.fence)

        async with homes(home, "a") as (node,):
            with pytest.raises(KeyError) as error:
                async with node.leader("x", on_gain=fails, on_loss=diary.loss):
                    await asyncio.sleep(60)  # is cancelled
            task = asyncio.current_task()
            assert task
            assert not task.cancelling()
            assert diary.lines == [("loss", error.value.args[0])]

    run(main())


@everywhere
def test_an_error_of_the_body_is_raised_as_it_is(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):

            async def body(leader: Leader) -> None:
                async with leader:
                    await leader.elected()
                    raise KeyError("mine")

            with pytest.raises(KeyError, match="mine"):
                await body(node.leader("x"))

            def fails(hold: HoldLike) -> None:
                raise ValueError("theirs")

            with pytest.raises(ExceptionGroup) as both:
                await body(node.leader("x", on_loss=fails))
            assert {type(each) for each in both.value.exceptions} == {KeyError, ValueError}

    run(main())


@everywhere
def test_the_loss_of_another_lock_is_an_error_of_the_work(home: str) -> None:
    async def main() -> None:
        async def work(hold: HoldLike) -> None:
            raise LockLost("'y' is lost", name="y")

        async with homes(home, "a") as (node,):
            with pytest.raises(LockLost, match="'y'"):
                await node.leader("x").run(work)

    run(main())


def test_an_error_in_a_term_that_was_lost_is_logged_and_the_next_term_begins() -> None:
    async def main() -> None:
        terms = list[int]()
        async with memory_cluster("abc", lease=10) as (a, b, c):
            await begun(a, b, c)

            async def work(hold: HoldLike) -> int:
                terms.append(hold.fence)
                if len(terms) == 1:
                    with contextlib.suppress(asyncio.CancelledError):
                        await b.break_lock("x")
                        await asyncio.sleep(60)
                    raise KeyError("the database is gone")
                return hold.fence

            with log_lines() as lines:
                assert await a.leader("x").run(work) == terms[1]
            assert any("ended with an error" in line for line in lines), lines

    run(main())


@pytest.mark.parametrize("when", ["waiting", "leading", "ending"])
@everywhere
def test_cancelled_it_leads_no_more(home: str, when: str) -> None:
    async def main() -> None:
        diary = Diary()
        async with homes(home, "ab") as nodes:
            a, b = nodes
            ending = asyncio.Event()

            async def slow(hold: HoldLike) -> None:
                ending.set()
                await asyncio.sleep(60 if when == "ending" else 0)

            leader = a.leader("x", on_gain=diary.gain, on_loss=slow)
            async with contextlib.AsyncExitStack() as stack:
                if when == "waiting":
                    await stack.enter_async_context(b.lock("x"))
                task = asyncio.create_task(leader.run(linger))
                if when == "waiting":
                    await asked(a, among=nodes)
                else:
                    await leader.elected()
                task.cancel()
                if when == "ending":
                    await ending.wait()
                    task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert not leader.leading
            assert bool(diary.lines) == (when != "waiting")

    run(main())


def test_a_timeout_of_the_work_is_its_own() -> None:
    async def main() -> None:
        async def work(hold: HoldLike) -> None:
            async with asyncio.timeout(0):
                await asyncio.sleep(60)

        async with memory_cluster("a") as (node,):
            with pytest.raises(TimeoutError):
                await node.leader("x").run(work)

    run(main())


@everywhere
def test_work_may_step_down_itself(home: str) -> None:
    async def main() -> None:
        async with homes(home, "a") as (node,):
            terms = list[int]()
            leader = node.leader("x")

            async def work(hold: HoldLike) -> int:
                terms.append(hold.fence)
                if len(terms) == 1:
                    await leader.step_down()
                    raise AssertionError("it went on")
                return hold.fence

            await leader.step_down()  # which does nothing as long as it does not lead
            assert await leader.run(work) == terms[1] > terms[0]

    run(main())


def test_a_closed_node_ends_it() -> None:
    async def main() -> None:
        diary = Diary()
        async with memory_cluster("a") as (node,):

            async def body() -> None:
                async with diary.leader(node) as leader:
                    await leader.elected()
                    await node.close()
                    await asyncio.sleep(60)

            with pytest.raises(NodeClosed):
                await body()
            assert [what for what, _ in diary.lines] == ["gain", "loss"]

    run(main())


def test_who_hears_too_few_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate is told `NoQuorum` like all who wait; it does not give up by that, but its own work's error is one."""
    monkeypatch.setattr("soloist.net.leader.RETRY_SECONDS", 0.01)

    async def main() -> None:
        async with memory_cluster("abc", lease=10) as (a, b, _):
            async with b.lock("x"), a.leader("x") as leader:
                await eventually(
                    lambda: "lock:x" in a.instances and a.instances["lock:x"].waiting, "it waits"
                )
                membership: Any = a.beginning
                membership.council.leased, leased = False, membership.council.leased
                membership._starve("too few are heard")
                membership.council.leased = leased
                await eventually(lambda: a.instances["lock:x"].waiting, "it waits again")
                assert not leader.leading

            async def work(hold: HoldLike) -> None:
                raise NoQuorum("of another lock", name="y")

            with pytest.raises(NoQuorum, match="of another lock"):
                await a.leader("x").run(work)

    run(main())


def test_what_cannot_be_is_said() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            with pytest.raises(UsageError, match="on_gain must be a function of the hold, or None, not 'me'"):
                node.leader("x", on_gain="me")  # type: ignore[arg-type]
            with pytest.raises(UsageError, match="whose loss cancels"):
                Leader(node.lock("x", on_lost="flag"))
            leader = node.leader("x")
            assert repr(leader) == "<Leader 'x' does not lead>"
            async with leader:
                hold = await leader.elected()
                assert repr(leader) == f"<Leader 'x' leads in term {hold.fence}>"
                with pytest.raises(UsageError, match="is running already"):
                    await leader.run(linger)

    run(main())
