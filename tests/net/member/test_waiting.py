"""Who waits while there is no view, or no majority: at most as long as it wants to, and not in vain for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from soloist.net import AcquireTimeout, Node, NoQuorum, SyncNode
from soloist.net.client.operator import operate
from soloist.net.member.absence import Absence
from soloist.net.member.gate import Gate
from soloist.net.member.hearing import Hearing
from soloist.net.member.membership import Membership
from soloist.testing import crash, eventually, memory_cluster, memory_nodes, ports, until
from soloist.views import Lease, View
from tests.net.helpers import run
from tests.net.service.clients import take
from tests.net.service.daemons import Cluster, cluster

LEASE = 0.5
FOR_EVER = 600.0
SAYS = r"'x' cannot be granted: 1 of 3 voters are heard, and there was no lease for .* s; not heard: b, c$"


@pytest.fixture(autouse=True)
def _who_tries_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """If somebody who tries did, no test would end."""
    monkeypatch.setattr("soloist.net.lock.TRY_SECONDS", 3600.0)


def leased(node: Node) -> bool:
    assert isinstance(node.beginning, Membership)
    return node.beginning.council.leased


async def alone(a: Node, *others: Node) -> None:
    """From now on nobody votes but the first."""
    await eventually(lambda: all(map(leased, (a, *others))), "the cluster has begun")
    for node in others:
        await crash(node)
    await eventually(lambda: not leased(a), "the lease is over")


WAYS: dict[str, Callable[[Node], Awaitable[Any]]] = {
    "lock": lambda node: node.lock("x").acquire(),
    "with a timeout": lambda node: node.lock("x").acquire(timeout=FOR_EVER),
    "rlock": lambda node: node.rlock("x").acquire(),
    "semaphore": lambda node: node.semaphore("x", 2).acquire(),
    "permits": lambda node: node.semaphore("x", 2, permits=2).acquire(),
    "locks": lambda node: node.locks("x", "y").take(),
}


def test_without_a_majority_everybody_is_told_who_is_missing() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=LEASE) as (a, *others):
            kept = await a.lock("kept").acquire_or_raise(None)
            await alone(a, *others)
            waiting = {name: asyncio.create_task(way(a)) for name, way in WAYS.items()}  # type: ignore[arg-type]
            assert await a.lock("x").acquire(timeout=0.01) is None
            await asyncio.wait(waiting.values())
            for task in waiting.values():
                with pytest.raises(NoQuorum, match=SAYS) as caught:
                    task.result()
                assert caught.value.name == "x"
            for way in WAYS.values():  # who comes later hears it soon
                with pytest.raises(NoQuorum, match=SAYS):
                    await way(a)
            with pytest.raises(NoQuorum, match=SAYS):  # who tries, at once
                await a.lock("x").acquire(blocking=False)
            assert not kept.valid

    run(main())


def test_a_try_does_not_wait_for_a_lease_that_has_just_ended() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease=4 * LEASE) as (a, *others):
            await alone(a, *others)
            with suppress(NoQuorum):  # which it is only after one lease more, unless this machine is slow
                assert await a.lock("x").acquire(timeout=0) is None
            with suppress(NoQuorum):
                assert await a.semaphore("x", 2, permits=2).acquire(blocking=False) is None
            with pytest.raises((AcquireTimeout, NoQuorum), match="not heard: b, c"):
                await a.locks("x", "y", timeout=0).take()

    run(main())


@pytest.mark.parametrize("options", [{}, {"lock_delay": 0.1}], ids=["plain", "registered"])
def test_who_was_refused_while_the_lease_was_over_for_a_moment_is_let_in(options: dict[str, Any]) -> None:
    """A renewal came too late, and the next look at the lease found it good again."""

    async def main() -> None:
        async with memory_cluster("a", lease=600) as (node,):
            async with node.lock("x"):
                pass
            gate = node.table.door
            assert isinstance(gate, Gate)
            clock = gate.clock
            gate.clock = lambda: clock() + 3600
            waiting = asyncio.create_task(node.lock("x", **options).acquire(timeout=20))
            await asyncio.sleep(0.01)
            gate.clock = clock
            assert await waiting

    run(main())


def test_before_there_is_a_view_a_try_does_not_wait_and_others_as_long_as_they_want() -> None:
    async def main() -> None:
        a, _ = memory_nodes("ab", lease=FOR_EVER)
        async with a:
            assert await a.lock("x").acquire(blocking=False) is None
            with pytest.raises(AcquireTimeout, match="the cluster has not begun: not seen yet: b"):
                await a.lock("x").acquire_or_raise(0)
            with pytest.raises(AcquireTimeout, match="the cluster has not begun: not seen yet: b"):
                await a.lock("x").acquire_or_raise(0.01)

    run(main())


def test_threads(tmp_path: Path) -> None:
    with ports("a", "b", "c") as peers, ExitStack() as stack:
        a, b, c = (
            stack.enter_context(SyncNode(name, peers, lease=LEASE, data_dir=str(tmp_path / name)))
            for name in peers
        )
        until(lambda: all(leased(node.node) for node in (a, b, c)), "the cluster has begun")
        for node in (b, c):
            node.call(lambda node=node: crash(node.node))  # type: ignore[misc]
        until(lambda: not leased(a.node), "the lease is over")
        with pytest.raises(NoQuorum, match=SAYS):
            a.lock("x").acquire()
        with pytest.raises(NoQuorum, match=SAYS), a.lock("x", timeout=FOR_EVER):
            pass
        with pytest.raises(NoQuorum, match=SAYS):
            a.lock("x").acquire(blocking=False)


def killed(found: Cluster, *names: str) -> None:
    for name in names:
        found.daemons[name].kill()


def test_commands() -> None:
    with cluster("a", "b", "c", more='lease = 1\ndata_dir = "data-{name}"\n') as found:
        holder = found.hold("kept", "--name", "a", "--kill-after", "0.1")
        killed(found, "b", "c")
        assert found.finish(holder)[0] == 1  # its lease is over
        code, out, err = found.say("run", "x", "--name", "a", "--", "echo", "in")
        assert (code, out) == (1, "")
        assert err.startswith("soloist: 'x' cannot be granted: 1 of 3 voters are heard")
        assert err.endswith("not heard: b, c\n")
        run(clients(found.directory / "t-a.sock"))


async def clients(path: Path) -> None:
    async with operate(path) as client:
        with pytest.raises(NoQuorum, match=SAYS):
            await take(client, "x", timeout=0)
        with pytest.raises(NoQuorum, match=SAYS):
            await take(client, "x", value=2, timeout=FOR_EVER)
        with pytest.raises(NoQuorum, match="'x' cannot be broken: 1 of 3 voters are heard"):
            await client.break_lock("x")


def test_a_voter_that_is_stopped_is_named_though_it_is_connected() -> None:
    hearing, lease = Hearing("a"), Lease(10)
    for peer in "bc":
        hearing.meet(peer, peer * 32)
    hearing.heard("b", ["a"], 95.0, "b#1")
    hearing.heard("c", ["a"], 50.0, "c#1")
    view = View(epoch=1, voters=("a#1", "b#1", "c#1"), members=(), lease=lease)
    absence = Absence(hearing)
    assert absence.too_few(view, since=80.0, now=100.0) == ""
    assert absence.too_few(view, since=80.0, now=105.5).endswith("not heard: b, c")
    assert absence.too_few(view, since=100.0, now=105.5) == ""  # not for a whole lease yet


def test_a_voter_that_is_heard_and_cannot_vote_is_named() -> None:
    """Its disk is full, say: whoever looks at another node must not read that all is well."""
    hearing = Hearing("a")
    for peer in "bc":
        hearing.meet(peer, peer * 32)
    view = View(epoch=1, voters=("a#1", "b#1", "c#1"), members=(), lease=Lease(10))
    absence = Absence(hearing)
    for now in (95.0, 100.0):
        hearing.heard("b", ["a"], now, "b#1")
        hearing.heard("c", ["a"], now)
        absence.look(view, now)
    assert absence.mute == {"c"}
    without = "heard, but without a vote: c; `soloist status` there says why"
    assert absence.words.startswith(f"{without}; 2 of 3 voters can vote, 0 more may fail")
    assert absence.too_few(view, since=80.0, now=100.0) == ""
    hearing.heard("c", ["a"], 108.0)
    absence.look(view, 108.0)
    absence.look(view, 110.0)
    assert absence.words.startswith(f"not heard: b; {without}; 1 of 3 voters can vote, 2 are needed")
    assert absence.too_few(view, since=80.0, now=112.0).endswith(f"not heard: b; {without}")
    hearing.heard("b", ["a"], 113.0, "b#1")
    hearing.heard("c", ["a"], 113.0, "c#1")
    absence.look(view, 113.0)
    assert (absence.words, absence.mute) == ("", frozenset())
