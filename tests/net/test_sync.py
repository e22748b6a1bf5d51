"""The same locks for threads."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import (
    AcquireTimeout,
    ConfigMismatch,
    LockLost,
    NodeClosed,
    NotOwned,
    SyncHold,
    SyncNode,
    WouldDeadlock,
)
from soloist.testing import ports, until
from tests.net.helpers import BEHIND, FOR_THREADS, ROOT, Exclusion, home_of, split, start_python, stop


@pytest.fixture
def peers() -> Iterator[dict[str, str]]:
    with ports("a", "b") as addresses:
        yield addresses


@pytest.fixture(params=FOR_THREADS)
def nodes(request: pytest.FixtureRequest, peers: dict[str, str]) -> Iterator[list[Any]]:
    """Two that have locks: nodes, or clients of theirs."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(SyncNode(name, peers)) for name in peers]
        yield [stack.enter_context(home_of(node, request.param)) for node in nodes]


@pytest.fixture(params=FOR_THREADS)
def home(request: pytest.FixtureRequest, peers: dict[str, str]) -> Iterator[Any]:
    """One that has locks, and that the test closes."""
    with SyncNode("a", {"a": peers["a"]}) as node, home_of(node, request.param) as found:
        yield found


def in_threads(*works: Callable[[], Any], seconds: float = 30) -> list[Any]:
    """Run all at once; each result is what the work gave back, or its error."""
    results: list[Any] = [None] * len(works)

    def work(number: int) -> None:
        try:
            results[number] = works[number]()
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a thread hangs"
    return results


def waiting(home: Any, lock: str = "lock:x") -> int:
    instance = BEHIND.get(home, home).node.instances.get(lock)
    return instance.waiting if instance else 0


# Exclusion.


@pytest.mark.smoke
def test_threads_of_two_nodes_exclude_each_other(nodes: list[SyncNode]) -> None:
    exclusion = Exclusion()

    def work(node: SyncNode) -> None:
        for _ in range(40):
            with node.lock("x", timeout=20) as hold:
                exclusion.enter(hold.fence)
                time.sleep(0)
                exclusion.leave()

    results = in_threads(*(lambda node=node: work(node) for node in nodes for _ in range(3)))
    assert results == [None] * 6
    assert len(exclusion.fences) == 240


def test_a_semaphore_lets_in_its_value_and_no_more(nodes: list[SyncNode]) -> None:
    mutex, inside, highest = threading.Lock(), 0, 0

    def work(node: SyncNode) -> None:
        nonlocal inside, highest
        for _ in range(15):
            with node.semaphore("s", 2, timeout=20):
                with mutex:
                    inside += 1
                    highest = max(highest, inside)
                time.sleep(0.0005)
                with mutex:
                    inside -= 1

    assert in_threads(*(lambda node=node: work(node) for node in nodes for _ in range(3))) == [None] * 6
    assert highest == 2


# The rules.


@pytest.mark.smoke
def test_timeouts_and_tries(nodes: list[SyncNode]) -> None:
    a, b = nodes
    with a.lock("x"):
        assert b.lock("x").acquire(timeout=0.02) is None
        assert b.lock("x").acquire(blocking=False) is None
        with pytest.raises(AcquireTimeout), b.lock("x", timeout=0.02):
            pytest.fail("entered without the lock")
        with pytest.raises(UsageError):
            b.lock("x").acquire(timeout=-1)
    with b.lock("x", timeout=5):
        pass


def test_the_idiom_of_the_standard_library(nodes: list[SyncNode]) -> None:
    lock = nodes[0].lock("x")
    if lock.acquire(timeout=5):
        assert lock.locked()
        lock.release()
    assert not lock.locked()
    with pytest.raises(NotOwned):
        lock.release()
    with lock:
        (error,) = in_threads(lock.release)
        assert isinstance(error, NotOwned)


def test_a_hold_may_be_released_by_another_thread_and_more_than_once(nodes: list[SyncNode]) -> None:
    a, b = nodes
    hold = a.lock("x").acquire()
    assert hold
    assert hold.valid
    assert in_threads(hold.release, hold.release) == [None, None]
    assert not hold.valid
    with b.lock("x", timeout=5):
        hold.release()
        assert a.lock("x").acquire(timeout=0.02) is None
    with pytest.raises(LockLost):
        hold.check()


def test_taking_it_again(nodes: list[SyncNode]) -> None:
    a, b = nodes
    with a.lock("x"):
        with pytest.raises(WouldDeadlock):
            a.lock("x").acquire()
        assert in_threads(lambda: a.lock("x").acquire(timeout=0.02)) == [None]  # another thread waits
    with a.rlock("x") as outer:
        with a.rlock("x") as inner:
            assert inner.fence == outer.fence
        assert outer.valid
        assert b.lock("x").acquire(timeout=0.02) is None
    assert not outer.valid


def test_several_locks(nodes: list[SyncNode]) -> None:
    a, b = nodes

    def work(node: SyncNode, names: str) -> None:
        for _ in range(10):
            with node.locks(*names, timeout=20) as holds:
                assert sorted(holds) == sorted(names)

    jobs = [(node, names) for node in nodes for names in ("xy", "yx", "xyz")]
    assert in_threads(*(lambda job=job: work(*job) for job in jobs)) == [None] * 6
    with b.lock("y"):
        with pytest.raises(AcquireTimeout), a.locks("x", "y", timeout=0.05):
            pytest.fail("not all were granted")
        with a.lock("x", timeout=5):
            pass


def test_permits_and_mismatch(nodes: list[SyncNode]) -> None:
    a, b = nodes
    with a.semaphore("s", 3, permits=2), b.semaphore("s", 3, timeout=5):
        assert a.semaphore("s", 3, permits=2).acquire(timeout=0.02) is None
        with pytest.raises(ConfigMismatch):
            b.semaphore("s", 4).acquire()


def test_a_lock_is_a_decorator(nodes: list[SyncNode]) -> None:
    lock = nodes[0].lock("daily")

    @lock
    def job(x: int, *, y: int) -> int:
        assert lock.locked()
        return x + y

    assert job(1, y=2) == 3
    assert not lock.locked()


def test_notes_and_holders(nodes: list[SyncNode]) -> None:
    a, b = nodes
    until(lambda: not BEHIND.get(a, a).missing())
    with a.lock("x", note="nightly job") as hold:
        (holder,) = b.inspect("x").holders
        assert (holder.node, holder.note, holder.fence) == ("a", "nightly job", hold.fence)
        assert [view.lock for view in b.holders()] == ["lock:x"]
        assert (hold.name, hold.note, hold.slot, hold.epoch) == (
            "x",
            "nightly job",
            None,
            BEHIND.get(a, a).node.epoch,
        )


@pytest.mark.smoke
def test_locks_pickle_by_name_and_holds_do_not(nodes: list[SyncNode]) -> None:
    a, b = nodes
    lock = pickle.loads(pickle.dumps(a.lock("x", timeout=10, note="n")))
    with lock as hold:
        assert hold.note == "n"
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(hold)
    with b.lock("x", timeout=5):
        assert lock.acquire(timeout=0.02) is None
    semaphore = pickle.loads(pickle.dumps(a.semaphore("s", 3, permits=3)))
    with semaphore:
        assert b.semaphore("s", 3).acquire(timeout=0.02) is None
    pickled = pickle.dumps(a.lock("x"))
    a.close()
    with pytest.raises(NodeClosed):
        pickle.loads(pickled)


# Loss.


def test_loss_sets_a_flag_calls_back_and_raises_at_the_end(home: Any) -> None:
    node = home
    told: list[SyncHold] = []

    def body() -> None:
        with node.lock("x", on_lost=told.append) as hold:
            node.close()
            assert hold.lost.wait(5)
            assert not hold.valid
            assert told == [hold]
            raise ZeroDivisionError

    with pytest.raises(LockLost) as caught:
        body()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(LockLost):
        told[0].check()


def test_loss_of_several_locks_raises_too(home: Any) -> None:
    node = home
    with pytest.raises(LockLost), node.locks("x", "y") as holds:
        node.close()
    assert all(hold.lost.is_set() for hold in holds.values())


def test_loss_reaches_every_level_of_a_reentrant_lock(home: Any) -> None:
    node = home

    def body() -> None:
        with node.rlock("x") as outer:
            with node.rlock("x"):
                pass
            node.close()
            assert outer.lost.is_set()

    with pytest.raises(LockLost):
        body()


def test_closing_wakes_all_who_wait(nodes: list[SyncNode]) -> None:
    a, b = nodes

    def wait() -> Any:
        return b.lock("x").acquire()

    def close() -> None:
        until(lambda: waiting(b) == 5)
        b.close()

    with a.lock("x"):
        results = in_threads(*[wait] * 5, close)
    assert [type(result) for result in results[:5]] == [NodeClosed] * 5


@pytest.mark.smoke
def test_closing_while_threads_come_and_go_hangs_nobody() -> None:
    for _ in range(10):
        with ports("a") as peers:
            node = SyncNode("a", peers).start()
            busy = threading.Barrier(5)

            def work(node: SyncNode = node, busy: threading.Barrier = busy) -> None:
                busy.wait()
                while True:
                    with node.lock("x"):
                        pass

            def close(node: SyncNode = node, busy: threading.Barrier = busy) -> None:
                busy.wait()
                time.sleep(0.005)
                node.close()

            results = in_threads(work, work, work, work, close)
            assert {type(result) for result in results[:4]} <= {NodeClosed, LockLost}


def test_a_closed_node_says_so(peers: dict[str, str]) -> None:
    node = SyncNode("a", {"a": peers["a"]})
    with pytest.raises(NodeClosed, match="not running"):
        node.lock("x")
    with node:
        lock = node.lock("x")
        hold = lock.acquire()
    for use in (lock.acquire, lock.release, lambda: node.inspect("x"), node.holders, node.missing):
        with pytest.raises(NodeClosed):
            use()
    assert hold
    hold.release()  # lost, and nothing to do
    node.close()


def test_what_is_wrong_with_a_node_is_said_where_it_is_made(peers: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="not among"):
        SyncNode("z", peers).start()
    with socket.create_server(split(peers, "a")), pytest.raises(UsageError, match="cannot listen"):
        SyncNode("a", peers).start()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("soloist")]


# Processes.


@pytest.mark.parametrize("home", FOR_THREADS)
def test_a_thread_may_be_interrupted_while_it_waits(home: str) -> None:
    """Ctrl-C in a wait leaves nothing behind: not the request, and not a grant that comes too late."""
    names = "ab" if home == "SyncNode" else "a"
    with ports(*names) as peers, SyncNode("a", peers) as a, home_of(a, home) as found:
        other = ["b", repr(peers)] if home == "SyncNode" else [found.name]
        waiter = start_python("tests.net.interrupted", *other, stdin=subprocess.PIPE)
        try:
            assert waiter.stdout
            assert waiter.stdin
            with a.lock("x"):  # which needs the other, once
                waiter.stdin.write(b"go\n")
                waiter.stdin.flush()
                until(lambda: a.inspect("x").waiting.get(names[-1]))
                os.kill(waiter.pid, signal.SIGINT)
                assert waiter.stdout.readline() == b"interrupted\n"
                until(lambda: not a.inspect("x").waiting)
            for _ in range(3):
                with a.lock("x", timeout=10):
                    pass
            assert not a.inspect("x").holders
        finally:
            stop(waiter)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("home", "loop"), [("SyncNode", "asyncio"), ("SyncNode", "fastest"), ("connect_sync", "asyncio")]
)
@pytest.mark.parametrize(
    ("use", "names"), [("acquire", "x"), ("enter", "x"), ("enter", "xy"), ("leave", "x"), ("leave", "xy")]
)
def test_ctrl_c_at_any_moment_leaves_no_hold_behind_and_no_loop_stuck(
    use: str, names: str, home: str, loop: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.net.pestered", use, names, "300", "1", loop, home],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    interrupted, left, bodies, end = done.stdout.split()
    assert (left, bodies, end) == ("0", "0", "ends")
    assert int(interrupted) > 0


FORK = """
import os, sys
from soloist.testing import ports
from soloist.net import NodeClosed, SyncNode, LockLost, connect_sync
with ports("a") as peers, {home} as node:
    lock = node.lock("x")
    with lock as hold:
        child = os.fork()
        if child == 0:
            seen = []
            for use in (lock.acquire, lock.release, lambda: node.lock("y"), hold.release, hold.check, node.holders):
                try:
                    use()
                    seen.append("nothing")
                except (NodeClosed, LockLost) as error:
                    seen.append(type(error).__name__)
            node.close()
            os.write(1, repr((seen, hold.valid)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        hold.check()
    with lock:
        pass
"""


@pytest.mark.smoke
@pytest.mark.parametrize("home", ['SyncNode("a", peers)', 'connect_sync("memory:a")'])
def test_after_a_fork_all_is_dead_in_the_child(home: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORK.format(home=home)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    expected = ["NodeClosed"] * 4 + ["LockLost", "NodeClosed"]
    assert done.stdout.decode() == repr((expected, False))
