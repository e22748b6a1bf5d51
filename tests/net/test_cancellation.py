"""Cancellation: a wait may end at any moment, and leaves nothing behind.

Twice over: every point of a short story at which a task can be cancelled, one after another; and a state machine of
hypothesis that acquires, cancels, times out and releases as it likes, turn by turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from soloist.algorithms import CATALOGUE
from soloist.net import Hold, Lock, Node
from soloist.testing import memory_cluster, memory_nodes, ports
from tests.net.helpers import asked, assert_at_rest, run, settled
from tests.net.lock.three import HOMES, clients_of, homes

Make = Callable[[Node], Any]

USES: dict[str, Make] = {
    "lock": lambda node: node.lock("x"),
    "rlock": lambda node: node.rlock("x"),
    "semaphore": lambda node: node.semaphore("s", 2),
    "permits": lambda node: node.semaphore("s", 2, permits=2),
    "locks": lambda node: node.locks("x", "y"),
}


async def cancelled_in_turn(home: str, make: Make, turn: int, algorithm: str) -> bool:
    """Cancel one of several callers after so many turns of the loop; whether it was over before.

    Without a lease, so that what happens in which turn is always the same.
    """
    async with homes(home, algorithm=algorithm, lease=None) as nodes:

        async def use(node: Node, times: int) -> None:
            for _ in range(times):
                async with make(node):
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)

        others = [asyncio.create_task(use(node, 3)) for node in nodes]
        victim = asyncio.create_task(use(nodes[turn % 3], 5))
        for _ in range(turn):
            await asyncio.sleep(0)
        over = victim.done()
        victim.cancel()
        with suppress(asyncio.CancelledError):
            await victim
        await asyncio.gather(*others)
        return over


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("algorithm", ["naimi-trehel", "ricart-agrawala"])
def test_cancelled_at_every_point_of_a_story(use: str, algorithm: str) -> None:
    async def main() -> None:
        turn = 0
        while not await cancelled_in_turn("node", USES[use], turn, algorithm):
            turn += 1
        assert turn > 20

    run(main())


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("home", HOMES[1:])
def test_a_caller_at_a_client_is_cancelled_at_many_points_of_a_story(home: str, use: str) -> None:
    """What is under way between client and node makes no two stories the same."""

    async def main() -> None:
        turn = 0
        while not await cancelled_in_turn(home, USES[use], turn, "naimi-trehel"):
            turn += 5
        assert turn > 20

    run(main(), 120)


@pytest.mark.parametrize("grant_first", [False, True])
def test_a_grant_in_the_turn_of_the_cancellation(grant_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token comes just before or just after the cancellation, and the caller has not run between."""

    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            held = await a.lock("x").acquire()
            assert held
            task = asyncio.create_task(b.lock("x").acquire())
            for _ in range(10):
                await asyncio.sleep(0)
            instance = b.instances["lock:x"]
            let_in = instance._let_in

            def cancel_then_grant(site: int) -> bool:
                task.cancel()
                return let_in(site)

            def grant_then_cancel(site: int) -> bool:
                done = let_in(site)
                task.cancel()
                return done

            monkeypatch.setattr(instance, "_let_in", grant_then_cancel if grant_first else cancel_then_grant)
            await held.release()
            with pytest.raises(asyncio.CancelledError):
                await task
            await settled([a, b])
            assert_at_rest([a, b])
            async with a.lock("x", timeout=5):
                pass

    run(main())


def test_those_who_try_again_and_again_leave_nothing_in_the_queue() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            async with node.lock("x"):
                waiter = asyncio.create_task(node.lock("x").acquire())
                await asyncio.sleep(0)
                for _ in range(100):
                    assert await asyncio.create_task(node.lock("x").acquire(timeout=0)) is None
                assert len(node.instances["lock:x"].queue) <= 3
            hold = await waiter
            assert hold
            await hold.release()

    run(main())


def test_a_failure_in_the_turn_of_the_cancellation() -> None:
    async def main() -> None:
        nodes = memory_nodes("ab")
        for node in nodes:
            await node.start()
        a, b = nodes
        hold = await a.lock("x").acquire()
        task = asyncio.create_task(b.lock("x").acquire())
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
        await b.close()  # tells all who wait, except the one who is leaving anyway
        with pytest.raises(asyncio.CancelledError):
            await task
        assert hold
        await a.close()

    run(main())


@pytest.mark.parametrize("lease", [None, 5])
def test_a_close_that_is_cancelled_frees_its_ports_and_its_directory(
    lease: float | None, tmp_path: Path
) -> None:
    """At whatever turn: the next node of its name can have both."""

    async def closed_in_turn(peers: dict[str, str], turn: int) -> bool:
        node = Node("a", peers, lease=lease, data_dir=tmp_path, shortcut=True)
        await node.start()
        closing = asyncio.create_task(node.close())
        for _ in range(turn):
            await asyncio.sleep(0)
        over = closing.done()
        closing.cancel()
        with suppress(asyncio.CancelledError):
            await closing
        return over

    async def main(peers: dict[str, str]) -> None:
        turn = 1  # before, it has not begun
        while not await closed_in_turn(peers, turn):
            turn += 1

    with ports("a") as peers:
        run(main(peers))


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop whose time stands still until it is told to go on, so that one story is always the same."""

    def __init__(self) -> None:
        self.now: float | None = 0.0
        self.ahead = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self.ahead if self.now is None else self.now

    def go_on(self) -> None:
        """From now on with the clock of the machine."""
        assert self.now is not None
        self.ahead, self.now = self.now - super().time(), None


class Story(RuleBasedStateMachine):
    """Tasks on three nodes that want, get, give up and give back; one loop that hypothesis turns.

    Without a lease: what a thread of its own does no loop can turn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loop = TurnedLoop()
        self.errors: list[Any] = []
        self.loop.set_exception_handler(lambda _, context: self.errors.append(context))
        self.nodes = memory_nodes("abc", lease=None)
        for node in self.nodes:
            self.do(node.start())
        self.stack = AsyncExitStack()
        self.homes: list[Any] = self.do(self.open_homes())
        self.tasks: list[asyncio.Task[Any]] = []
        self.bodies: list[asyncio.Event] = []
        self.inside = {"x": 0, "s": 0}

    async def open_homes(self) -> list[Any]:
        return self.nodes

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 20))

    @rule(
        node=st.integers(0, 2),
        use=st.sampled_from(["lock", "semaphore", "permits"]),
        timeout=st.sampled_from([None, 0, 1, 2]),
    )
    def want(self, node: int, use: str, timeout: float | None) -> None:
        lock = USES[use](self.homes[node])
        leave = asyncio.Event()
        self.bodies.append(leave)
        self.tasks.append(self.loop.create_task(self.visit(lock, timeout, leave)))

    async def visit(self, lock: Lock, timeout: float | None, leave: asyncio.Event) -> None:
        weight = getattr(lock, "permits", 1)
        hold: Hold | None = await lock.acquire(timeout=timeout)
        if hold is None:
            return
        self.inside[lock.name] += weight
        assert self.inside[lock.name] <= lock.capacity
        try:
            await leave.wait()
        finally:
            self.inside[lock.name] -= weight
            await hold.release()

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.tasks), "task").cancel()

    @precondition(lambda self: self.bodies)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.bodies.pop(data.draw(st.integers(0, len(self.bodies) - 1), "body")).set()

    @rule(turns=st.integers(1, 6))
    def turn(self, turns: int) -> None:
        async def pass_time() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.do(pass_time())

    @rule()
    def let_time_pass(self) -> None:
        assert self.loop.now is not None
        self.loop.now += 1
        self.turn(1)

    @invariant()
    def no_task_failed(self) -> None:
        assert not self.errors
        for task in self.tasks:
            if task.done() and not task.cancelled():
                assert task.exception() is None

    def teardown(self) -> None:
        try:
            self.loop.go_on()
            for leave in self.bodies:
                leave.set()
            if self.tasks:
                self.do(asyncio.gather(*self.tasks, return_exceptions=True))
            self.no_task_failed()
            assert self.inside == {"x": 0, "s": 0}
            for home in self.homes:  # and all goes on
                self.do(self.once_more(home))
            self.do(self.stack.aclose())
            self.do(settled(self.nodes))
            assert_at_rest(self.nodes)
        finally:
            for node in self.nodes:
                self.do(node.close())
            self.loop.close()

    async def once_more(self, node: Node) -> None:
        async with node.lock("x"), node.semaphore("s", 2, permits=2):
            pass


Story.TestCase.settings = settings(
    max_examples=300, stateful_step_count=50, deadline=None, print_blob=True, database=None
)
TestStory = Story.TestCase


class StoryOfClients(Story):
    """The same tasks, at a client of each node."""

    async def open_homes(self) -> list[Any]:
        return list(await self.stack.enter_async_context(clients_of(self.nodes)))


StoryOfClients.TestCase.settings = settings(Story.TestCase.settings, max_examples=100)
TestStoryOfClients = StoryOfClients.TestCase


@pytest.mark.parametrize(
    "algorithm", [name for name in CATALOGUE if name != "raynal"]
)  # which needs all to ask
def test_a_grant_that_nobody_waits_for_any_more_is_given_back(algorithm: str) -> None:
    """Whatever the algorithm then has to say, to others or to itself, is said."""

    async def main() -> None:
        async with memory_cluster("abc", algorithm=algorithm) as nodes:
            a, b, c = nodes
            for _ in range(3):
                held = await a.lock("x").acquire()
                assert held
                task = asyncio.create_task(b.lock("x").acquire())
                await asked(b, among=nodes)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await held.release()
                await settled(nodes)
            async with b.lock("x", timeout=5):
                pass
            async with c.lock("x", timeout=5):
                pass

    run(main(), 30)
