"""Errors are those of Python as well, and what a user may get wrong is said."""

from __future__ import annotations

import pickle

import pytest

from soloist.core import SoloistError, UsageError
from soloist.net import (
    AcquireTimeout,
    ConfigMismatch,
    Lock,
    LockError,
    LockLost,
    Node,
    NodeClosed,
    NoQuorum,
    NotOwned,
    StaleFence,
    WouldDeadlock,
)
from soloist.testing import eventually, memory_cluster, memory_nodes
from tests.net.helpers import run


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (AcquireTimeout, TimeoutError),
        (NotOwned, RuntimeError),
        (WouldDeadlock, RuntimeError),
        (NoQuorum, ConnectionError),
        (ConfigMismatch, ValueError),
        (NodeClosed, RuntimeError),
        (LockLost, LockError),
        (LockError, SoloistError),
        (StaleFence, LockError),
    ],
)
def test_errors_are_also_what_python_would_raise(error: type[LockError], also: type[Exception]) -> None:
    one = error("message", name="x", holder="a")
    assert isinstance(one, LockError)
    assert isinstance(one, also)
    copy = pickle.loads(pickle.dumps(one))
    assert (type(copy), str(copy), copy.name, copy.holder) == (error, "message", "x", "a")


@pytest.mark.parametrize("options", [{"name": ""}, {"name": "x" * 1001}, {"name": "x", "note": "x" * 1001}])
def test_impossible_names_and_notes_are_refused(options: dict[str, str]) -> None:
    (node,) = memory_nodes("a")
    with pytest.raises(UsageError):
        node.lock(**options)


def test_impossible_nodes_are_refused() -> None:
    with pytest.raises(UsageError, match="not among its peers"):
        Node("z", {"a": "127.0.0.1:1"})
    with pytest.raises(UsageError, match="HOST:PORT"):
        Node("a", {"a": "127.0.0.1"})
    with pytest.raises(UsageError, match="is for locks"):
        memory_nodes("a", semaphore_algorithm="lamport")
    with pytest.raises(UsageError, match="did you mean"):
        memory_nodes("a", algorithm="lamprot")


def test_a_lone_node_needs_nobody() -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            async with node.lock("x", timeout=0), node.semaphore("s", 2, permits=2, timeout=0):
                assert isinstance(node.lock("x"), Lock)
            await eventually(lambda: not node.holds)

    run(main())
