"""What a node with a lease does from view to view, in one process: nodes vanish, are wrongly declared dead, and come back."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import LockLost, Node
from soloist.net.link.wire import Batch, Envelope, encode
from soloist.net.member import membership as module
from soloist.net.member.council import Council
from soloist.net.member.membership import Membership
from soloist.net.member.origin import DataDirectory
from soloist.testing import crash, eventually, memory_cluster, memory_nodes, ports, started, tcp_cluster
from tests.net.helpers import log_lines, run

FOR_EVER = 600.0


def membership(node: Node) -> Membership:
    assert isinstance(node.beginning, Membership)
    return node.beginning


def council(node: Node) -> Council:
    return membership(node).council


def declare_dead(node: Node, *to: Node) -> str:
    """A proof that is none: they make a view without it. Gives the incarnation that is out."""
    out = membership(node).who.incarnation
    for each in to:
        council(each).dead(out, "somebody says so")
    return out


async def is_back(node: Node, out: str, among: Node) -> None:
    await eventually(
        lambda: (
            membership(node).who.incarnation != out and node.epoch == among.epoch and membership(node).open
        ),
        f"{node.name} is a member again",
    )


def test_a_node_that_was_left_out_loses_what_it_holds_and_comes_back() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            hold = await b.lock("x", on_lost="flag").acquire_or_raise(None)
            lost = hold.lost
            held = await a.lock("y").acquire_or_raise(None)
            waiting = asyncio.create_task(b.lock("y").acquire_or_raise(None))
            out = declare_dead(b, a, c)
            await lost.wait()
            assert not hold.valid
            assert (await c.lock("x").acquire_or_raise(None)).fence > hold.fence
            await is_back(b, out, a)
            await held.release()
            assert (await waiting).fence > held.fence

    run(go())


def test_who_collects_permits_when_it_is_left_out_keeps_none() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            one = await a.semaphore("s", 2).acquire_or_raise(None)
            collecting = asyncio.create_task(b.semaphore("s", 2, permits=2).acquire_or_raise(None))
            await eventually(lambda: b.table.inside("semaphore:s") == 1, "b has one of two")
            out = declare_dead(b, a, c)
            with pytest.raises(LockLost):
                await collecting
            await is_back(b, out, a)
            assert await c.semaphore("s", 2).acquire(timeout=10)
            await one.release()
            assert await c.semaphore("s", 2).acquire(timeout=10)

    run(go())


def test_the_data_directory_knows_who_used_it_last(tmp_path: Path) -> None:
    """Come back as another incarnation, a node is proved dead by its next start all the same."""

    async def go() -> None:
        nodes = memory_nodes("abc", lease=FOR_EVER)
        b = nodes[1]
        nodes[1] = b = Node(
            "b", dict.fromkeys("abc", ""), transport=b.transport, lease=FOR_EVER, data_dir=tmp_path / "b"
        )
        async with started(nodes) as (a, b, c):
            await b.lock("x").acquire_or_raise(None)
            out = declare_dead(b, a, c)
            await is_back(b, out, a)
            assert await b.lock("y").acquire_or_raise(None)
            last = membership(b).who.incarnation
        data = DataDirectory(tmp_path / "b", "soloist", "b")
        data.open()
        data.close()
        assert data.previous == last

    run(go())


def test_a_copied_data_directory_proves_nothing(tmp_path: Path) -> None:
    """Whoever used the original may be alive, and hold something."""
    first = DataDirectory(tmp_path / "first", "t", "a")
    first.incarnation = "one"
    first.open()
    first.close()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    second = DataDirectory(tmp_path / "second", "t", "a")
    second.incarnation = "two"
    second.open()
    second.close()
    assert not second.previous
    again = DataDirectory(tmp_path / "first", "t", "a")
    again.open()
    again.close()
    assert again.previous == "one"


class Unheard(dict[str, bool]):
    """Says of one peer that it does not hear us."""

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def get(self, name: str, default: Any = None) -> Any:
        return False if name == self.peer else super().get(name, default)


def test_who_was_left_out_does_not_wait_to_be_heard_by_one_that_is_gone() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            await b.lock("x").acquire_or_raise(None)
            council(b).heard_by = Unheard("c")
            out = declare_dead(b, a, c)
            await eventually(lambda: a.members == ["a", "c"], "b is left out")
            await crash(c, a, b)
            await is_back(b, out, a)

    run(go())


def test_who_hears_of_the_birth_from_others_votes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow to confirm the company, it is told by those who have begun already; its vote counts like theirs."""
    born = Membership._born_as

    def slow(self: Membership, origin: int) -> None:
        if self.who.node != "c":
            born(self, origin)

    async def go() -> None:
        monkeypatch.setattr(Membership, "_born_as", slow)
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            held = await b.lock("x").acquire_or_raise(None)
            assert await c.lock("y").acquire_or_raise(None)
            await crash(b, a, c)
            assert (await c.lock("x").acquire_or_raise(None)).fence > held.fence
            assert a.members == ["a", "c"]

    run(go())


def test_a_vote_file_that_was_put_back_is_found_out_aloud() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=2.0) as (a, b, _):
            await a.lock("x").acquire_or_raise(None)
            council(a).member.starts[council(b).votes.file.voter] = (
                99  # it has seen that voter started more often
            )
            await eventually(lambda: [line for line in lines if "b votes no more" in line], "it is said")

    with log_lines() as lines:
        run(go())
    (said,) = [line for line in lines if "b votes no more" in line]
    assert "it was restored" in said


def test_a_connection_for_renewals_that_got_lost_unnoticed_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever went wrong: a link without renewals beside it would cost the lease, and nobody would know why."""
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)

    async def go() -> None:
        async with tcp_cluster("abc", lease=FOR_EVER) as nodes:
            await nodes[0].lock("x").acquire_or_raise(None)
            for node in nodes:
                for peer in council(node).pulse.peers():
                    council(node).pulse.drop(peer)  # and nobody is told
            await eventually(
                lambda: all(len(council(node).pulse.peers()) == 2 for node in nodes), "they are there again"
            )

    run(go())


def test_a_node_that_cannot_start_leaves_no_thread_behind() -> None:
    async def go() -> None:
        threads = threading.active_count()
        with (
            ports("a") as peers,
            socket.create_server(("127.0.0.1", int(peers["a"].rpartition(":")[2]))),
            pytest.raises(UsageError, match="cannot listen"),
        ):
            await Node("a", peers, lease=FOR_EVER, shortcut=False).start()
        assert threading.active_count() == threads

    run(go())


def test_a_node_that_was_left_out_hears_nothing_more_of_that_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was under way, behind a cut that has healed: it would begin a lock anew that others have carried over."""
    instances: list[set[str]] = []
    rejoin = Membership._rejoin

    def late(self: Membership) -> None:
        rejoin(self)
        envelope = Envelope("lock:x", 1, self.board.table.epoch, 0, 0, 1, msgspec.Raw(encode([])))
        for peer in (
            "a",
            "d",
        ):  # of d it was not told, and it connects only now: a member of that epoch that is late, too
            self.board.receive(peer, [Batch(1, 0, [envelope], [])])
        instances.append(set(self.board.instances))

    async def go() -> None:
        monkeypatch.setattr(Membership, "_rejoin", late)
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            await a.lock("x").acquire_or_raise(None)
            await b.lock("y").acquire_or_raise(None)
            out = declare_dead(b, a, c)
            await is_back(b, out, a)
            assert instances == [set()]
            assert await b.lock("z").acquire_or_raise(None)

    with log_lines() as lines:
        run(go())
    assert not [line for line in lines if "was dropped" in line]
