"""What becomes of locks and holds in other processes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from soloist.net import Node, NodeClosed
from soloist.testing import memory_cluster
from tests.net.helpers import run
from tests.net.lock.three import on_three_nodes


def in_a_fork(work: Callable[[], Any]) -> str:
    """The name of the error that the work raises in the child of a fork."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            result = "nothing"
        except BaseException as error:
            result = type(error).__name__
        os.write(write, result.encode())
        os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        os.close(write)
        return pipe.read()


def step(work: Any) -> Any:
    """The first step of a coroutine; what should raise does so there."""
    try:
        return work.send(None)
    finally:
        work.close()


@on_three_nodes
async def test_after_a_fork_node_and_holds_are_dead(nodes: list[Node]) -> None:
    a, b, _ = nodes
    async with a.lock("x") as hold:
        assert in_a_fork(lambda: step(a.lock("y").acquire())) == "NodeClosed"
        assert in_a_fork(lambda: step(a.inspect("x"))) == "NodeClosed"
        assert in_a_fork(lambda: step(hold.release())) == "NodeClosed"
        assert in_a_fork(hold.check) == "LockLost"
        assert in_a_fork(lambda: hold.valid and 1 / 0) == "nothing"
        assert hold.valid  # here, all is as it was
    async with b.lock("x", timeout=5):
        pass


@on_three_nodes
async def test_locks_pickle_by_name(nodes: list[Node]) -> None:
    a, *_ = nodes
    lock = pickle.loads(pickle.dumps(a.lock("x", timeout=3, note="n", on_lost="flag")))
    assert (lock.node, lock.name, lock.timeout, lock.note, lock.on_lost) == (a, "x", 3, "n", "flag")
    async with lock:
        assert a.lock("x").locked()
    semaphore = pickle.loads(pickle.dumps(a.semaphore("s", 3, permits=2)))
    assert (semaphore.capacity, semaphore.permits) == (3, 2)
    assert type(pickle.loads(pickle.dumps(a.rlock("x")))) is type(a.rlock("x"))


@on_three_nodes
async def test_holds_do_not_pickle(nodes: list[Node]) -> None:
    async with nodes[0].lock("x") as hold:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(hold)


def test_a_pickled_lock_needs_its_node() -> None:
    async def main() -> bytes:
        async with memory_cluster("z") as (node,):
            return pickle.dumps(node.lock("x"))

    pickled = run(main())
    with pytest.raises(NodeClosed, match="'z'"):
        pickle.loads(pickled)
