"""Leaders for threads."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from soloist.core import UsageError
from soloist.net import HoldLike, MemoryHub, NodeClosed, SyncLeader, SyncNode
from soloist.net.member.gate import Gate
from soloist.testing import Witness, ports, until
from tests.net.helpers import BEHIND, FOR_THREADS, home_of


@pytest.fixture(params=FOR_THREADS)
def node(request: pytest.FixtureRequest) -> Iterator[SyncNode]:
    """Or a client of one."""
    hub = MemoryHub()
    with (
        SyncNode("a", {"a": ""}, transport=hub.transport("a"), lease=600) as served,
        home_of(served, request.param) as found,
    ):
        yield found


def stay(leader: SyncLeader) -> None:
    until(lambda: not leader.leading, "it leads no more")


def test_work_runs_in_the_thread_that_asked_and_its_end_ends_the_lead(node: SyncNode) -> None:
    told: list[tuple[str, int, str]] = []

    def note(what: str, hold: HoldLike) -> None:
        told.append((what, hold.fence, threading.current_thread().name))

    leader = node.leader(
        "x", on_gain=lambda hold: note("gain", hold), on_loss=lambda hold: note("loss", hold)
    )

    def work(hold: HoldLike) -> int:
        assert leader.leading
        assert leader.elected(0)
        note("work", hold)
        return hold.fence

    term = leader.run(work)
    me = threading.current_thread().name
    assert told == [("gain", term, me), ("work", term, me), ("loss", term, me)]
    assert not leader.leading
    assert not leader.elected(0)
    assert leader.run(work) > term
    assert not node.lock("x").locked()


@pytest.mark.parametrize(
    ("node", "how"),
    [
        ("SyncNode", "lease"),
        ("SyncNode", "broken"),
        ("connect_sync", "broken"),
        *((home, "stepped down") for home in FOR_THREADS),
    ],
    indirect=["node"],
)
def test_work_that_ends_since_it_leads_no_more_is_begun_again(node: SyncNode, how: str) -> None:
    leader = node.leader("x")
    terms: list[int] = []

    def work(hold: HoldLike) -> str:
        terms.append(hold.fence)
        if len(terms) == 1:
            lose()
            stay(leader)
            assert leader.term is None
        return "done"

    def lose() -> None:
        if how == "broken":
            node.break_lock("x")
        elif how == "stepped down":
            leader.step_down()
        else:
            gate = node.node.table.door
            assert isinstance(gate, Gate)
            clock = gate.clock
            gate.clock = lambda: clock() + 3600
            assert not leader.leading  # though nobody has told it
            hold = leader.hold
            gate.clock = clock
            assert hold
            node.soon(partial(node.node.board.lose, "lock:x", hold.fence, "its lease is over"))

    assert leader.run(work) == "done"
    assert terms[0] < terms[1]


def test_beside_other_work_callbacks_have_a_thread_of_their_own(node: SyncNode) -> None:
    told: list[tuple[str, int]] = []
    begun = threading.Event()

    def gain(hold: HoldLike) -> None:
        begun.wait(10)
        told.append(("gain", hold.fence))

    leader = node.leader("x", on_gain=gain, on_loss=lambda hold: told.append(("loss", hold.fence)))
    with leader:
        assert not leader.elected(0.01)  # its beginning is not done
        begun.set()
        assert leader.elected(10)
        first = leader.term
        leader.step_down()
        until(lambda: leader.elected(0) and leader.term, "it leads again")
        second = leader.term
        assert first
        assert second
        assert first < second
        with pytest.raises(UsageError, match="is running already"):
            leader.run(stay)  # type: ignore[arg-type]
    assert told == [("gain", first), ("loss", first), ("gain", second), ("loss", second)]
    assert not leader.leading
    assert not node.lock("x").locked()
    with leader:
        assert leader.elected(10)
    assert len(told) == 6


@pytest.mark.parametrize("home", FOR_THREADS)
def test_one_leads_at_a_time_among_threads_and_nodes(home: str) -> None:
    witness, mutex = Witness(remember=True), threading.Lock()
    with ports("a", "b") as peers, ExitStack() as stack:
        served = [stack.enter_context(SyncNode(name, peers)) for name in peers]
        nodes = [stack.enter_context(home_of(node, home)) for node in served]

        def candidate(node: SyncNode) -> None:
            def work(hold: HoldLike) -> None:
                with mutex:
                    inside = witness.inside_with("x", node.name, hold.fence)
                    inside.__enter__()
                with mutex:
                    inside.__exit__(None, None, None)

            leader = node.leader("x")
            for _ in range(10):
                leader.run(work)

        threads = [threading.Thread(target=candidate, args=(node,)) for node in nodes for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
    assert not witness.problems()
    assert witness.finding("x").entries == 40


@pytest.mark.parametrize("wrong", ["gain", "loss", "work"])
def test_an_error_of_its_user_ends_it_and_frees_the_lead(node: SyncNode, wrong: str) -> None:
    def fails(hold: HoldLike) -> None:
        raise KeyError(wrong)

    leader = node.leader(
        "x", on_gain=fails if wrong == "gain" else None, on_loss=fails if wrong == "loss" else None
    )
    with pytest.raises(KeyError, match=wrong):
        leader.run(fails if wrong == "work" else lambda hold: None)
    assert not node.lock("x").locked()


@pytest.mark.parametrize("wrong", ["gain", "loss"])
def test_beside_other_work_an_error_of_its_user_comes_out_at_the_end(node: SyncNode, wrong: str) -> None:
    def fails(hold: HoldLike) -> None:
        raise KeyError(wrong)

    leader = node.leader(
        "x", on_gain=fails if wrong == "gain" else None, on_loss=fails if wrong == "loss" else None
    )

    def body() -> None:
        with leader:
            if wrong == "gain":
                until(lambda: leader._error, "it has failed")
                assert not node.lock("x").locked()
            else:
                assert leader.elected(10)

    with pytest.raises(KeyError, match=wrong):
        body()
    with pytest.raises(ZeroDivisionError), leader:  # of two errors the body's is raised
        1 / 0  # noqa: B018
    assert not node.lock("x").locked()


@pytest.mark.parametrize("when", ["waiting", "leading"])
def test_ctrl_c_leaves_nothing_behind(node: SyncNode, when: str) -> None:
    leader, at = node.leader("x"), BEHIND.get(node, node).node
    me = threading.get_ident()

    def interrupt() -> None:
        until(lambda: at.instances["lock:x"].waiting if when == "waiting" else leader.leading, when)
        os.kill(os.getpid(), signal.SIGINT)
        assert me == threading.main_thread().ident

    with ExitStack() as stack:
        if when == "waiting":
            other = stack.enter_context(node.leader("x"))
            assert other.elected(10)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            leader.run(lambda hold: threading.Event().wait(60))
        thread.join()
        until(lambda: not at.instances["lock:x"].waiting, "nobody waits")
        assert not leader.leading
    assert not node.lock("x").locked()


def test_a_closed_node_ends_it() -> None:
    hub = MemoryHub()
    told: list[str] = []
    with SyncNode("a", {"a": ""}, transport=hub.transport("a")) as node:
        leader = node.leader("x", on_loss=lambda hold: told.append("loss"))

        def body() -> None:
            with leader:
                assert leader.elected(10)
                node.close()
                assert not leader.leading

        with pytest.raises(NodeClosed):
            body()
        assert told == ["loss"]
        with pytest.raises(NodeClosed), leader:
            raise AssertionError("it began")
        with pytest.raises(NodeClosed):
            leader.run(lambda hold: None)
