"""A caller that awaits nothing but its lock leaves turns of the loop to everything else."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from soloist.net import Node
from soloist.net.engine.layout import Layout
from soloist.net.engine.ticket import Effects
from soloist.net.engine.turns import LOOK_SECONDS, TURN_SECONDS, Turns
from soloist.net.link.transport import Transport
from soloist.testing import Crew, FaultProxy, eventually, memory_cluster, ports, started, until
from tests.net.greedy import be_greedy
from tests.net.helpers import Exclusion, run, split

ENTRIES = 30


def resting_at(member: int, members: int, count: int = 1) -> list[str]:
    """Names of locks whose tokens start at that member."""
    names = (f"x{number}" for number in range(10_000))
    return [name for name in names if Layout.of(f"lock:{name}", members, 0, 1).hosts[0] == member][:count]


def has_token(node: Node) -> bool:
    """Whether it has the token of a lock, or has sent it and does not know that it has arrived."""
    processes = [instance.first.process for instance in node.instances.values()]
    return any(getattr(process, "token", False) for process in processes) or node.transport.backlog("a") > 0


@pytest.mark.parametrize("names", [1, 500], ids=["one lock", "many locks"])
def test_a_greedy_caller_begun_right_after_the_start_starves_nobody(names: int) -> None:
    """Nobody is let in before all have met; from then on it has its locks at home. Whoever wants one of them is heard, be it
    because it looks (`Turns.deaf`) or because its time is over (`Turns.due`): without both, nobody would be."""

    async def main() -> None:
        with ports(*"abc") as peers:
            wanted = resting_at(0, 3, names)
            crew = Crew()
            crew.start("a", be_greedy, "a", peers, wanted)
            try:
                async with started([Node(name, peers, shortcut=False, lease=None) for name in "bc"]) as nodes:
                    exclusion = Exclusion()
                    for _ in range(2):
                        visits = (exclusion.visit(node, node.lock(wanted[0]), ENTRIES) for node in nodes)
                        await asyncio.gather(*visits)
                        await eventually(lambda: not any(map(has_token, nodes)), "a has the lock again")
                    assert exclusion.owners.count("b") == exclusion.owners.count("c") == 2 * ENTRIES
            finally:
                crew.kill("a")  # it does not listen
                crew.stop()

    run(main(), 20)


def test_a_greedy_caller_starves_nobody_after_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the lock when it is cut off, so nothing makes it wait; the timer by which it calls again needs a turn."""
    monkeypatch.setattr("soloist.net.link.tcp.PATIENCE_SECONDS", 3600)  # nobody shall come past the proxies

    async def main() -> None:
        with ports(*"abc") as peers:
            async with AsyncExitStack() as stack:
                proxies = [FaultProxy(peers[name], seed=1) for name in "bc"]
                seen = dict(peers)
                for name, proxy in zip("bc", proxies, strict=True):
                    seen[name] = await proxy.start()
                    stack.push_async_callback(proxy.close)
                nodes = [Node(name, peers, shortcut=False, lease=None) for name in "bc"]
                await stack.enter_async_context(started(nodes))
                [lock] = resting_at(0, 3)
                crew = Crew()
                stack.callback(crew.stop)
                stack.callback(crew.kill_all)
                crew.start("a", be_greedy, "a", seen, [lock])
                await eventually(lambda: not any(node.missing() for node in nodes))
                exclusion = Exclusion()
                for _ in range(3):
                    await asyncio.gather(*(exclusion.visit(node, node.lock(lock), ENTRIES) for node in nodes))
                    await eventually(lambda: not any(map(has_token, nodes)), "a has the lock again")
                    for proxy in proxies:
                        proxy.reset()
                await asyncio.gather(*(exclusion.visit(node, node.lock(lock), ENTRIES) for node in nodes))
                await eventually(lambda: all(proxy.accepted > 1 for proxy in proxies), "a has called again")

    run(main(), 30)


def test_a_greedy_caller_hears_whoever_calls_for_the_first_time() -> None:
    """There is no connection yet to look at, and a handshake takes several turns."""
    with ports("a") as peers:
        crew = Crew()
        crew.start("a", be_greedy, "a", peers, ["x"])
        try:
            until(lambda: answered(peers), "a has started")
            for _ in range(3):  # by now it does nothing but enter
                assert answered(peers)
        finally:
            crew.kill("a")
            crew.stop()


def answered(peers: dict[str, str]) -> bool:
    """Whether a stranger who talks nonsense is sent away."""
    try:
        with socket.create_connection(split(peers, "a"), timeout=10) as stranger:
            stranger.sendall(b"nonsense" * 1000)
            while stranger.recv(4096):
                pass
    except ConnectionRefusedError:
        return False
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize(
    ("contended", "looks"), [(0, [True, False, True, False]), (9, [True, True, True, True])]
)
def test_a_lock_that_nobody_wanted_lately_is_looked_at_less_often(contended: int, looks: list[bool]) -> None:
    asked: list[bool] = []
    transport = SimpleNamespace(unread=lambda: bool(asked.append(True)))
    turns = Turns(cast(Transport, transport), Effects())
    lock: Any = SimpleNamespace(unheard=0, contended=contended, look_after=0.0)
    found = []
    for entered in (1.0, 1.0 + LOOK_SECONDS / 2, 1.0 + 2 * LOOK_SECONDS, 1.0 + 2.5 * LOOK_SECONDS):
        asked.clear()
        turns.entered = entered
        assert not turns.deaf(lock)
        found.append(bool(asked))
    assert found == looks


def test_timers_and_other_tasks_have_their_turns() -> None:
    """On one node, with nobody to hear from at all."""

    async def main() -> None:
        async with memory_cluster("a") as (node,):
            over = asyncio.Event()
            asyncio.get_running_loop().call_later(0.02, over.set)
            entries = 0
            while not over.is_set() and entries < 10**6:
                async with node.lock("x"):
                    entries += 1
            assert over.is_set()

    run(main())


def test_who_has_waited_lets_the_loop_have_no_turn_more() -> None:
    """It has just had some. Where many contend, all wait each time, and for longer than anybody may go on without."""

    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            held = await a.lock("x").acquire()
            assert held
            waiting = asyncio.create_task(b.lock("x").acquire())
            await eventually(lambda: "lock:x" in b.instances)
            b.turns.due = 0.0
            await held.release()
            hold = await waiting
            assert hold
            assert b.turns.due == hold.since + TURN_SECONDS

    run(main())


def test_who_tries_again_and_again_lets_the_holder_leave() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            entered = asyncio.Event()

            async def hold() -> None:
                async with node.lock("x"):
                    entered.set()
                    await asyncio.sleep(0.01)

            holder = asyncio.create_task(hold())
            await entered.wait()
            for _ in range(10**6):
                if taken := await node.lock("x").acquire(blocking=False):
                    await taken.release()
                    break
            assert taken
            await holder

    run(main())
