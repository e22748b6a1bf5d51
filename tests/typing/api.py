"""The public API, typed. This file is not run: mypy reads it (see `test_typing.py`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import assert_type

from soloist import (
    TLS,
    AcquireTimeout,
    Client,
    FenceGuard,
    Hold,
    LockError,
    MemoryHub,
    Node,
    SyncClient,
    SyncHold,
    SyncNode,
    connect,
    connect_sync,
)
from soloist.net import (
    AsyncLockLike,
    AsyncNodeLike,
    HoldLike,
    Inspection,
    Leader,
    Lock,
    LockLike,
    Locks,
    NodeLike,
    RLock,
    Semaphore,
    SyncLeader,
    SyncLock,
    SyncLocks,
)
from soloist.net.link.wire import LockState

PEERS = {"a": "127.0.0.1:7401", "b": "127.0.0.1:7402"}


async def with_tasks() -> None:
    async with Node("a", PEERS, tls=TLS("node.pem", "ca.pem"), secret=b"s", locality=2) as node:
        assert_type(node, Node)
        assert_type(node.lock("x", timeout=5, note="n", on_lost="flag"), Lock)
        assert_type(node.rlock("x"), RLock)
        assert_type(node.semaphore("s", 3, permits=2), Semaphore)
        assert_type(node.locks("x", "y", timeout=1.5), Locks)
        async with node.lock("x") as hold:
            assert_type(hold, Hold)
            assert_type(hold.fence, int)
            assert_type(hold.epoch, int)
            assert_type(hold.slot, int | None)
            assert_type(hold.note, str | None)
            assert_type(hold.valid, bool)
            hold.check()
        async with node.semaphore("s", 2) as permit:
            assert_type(permit, Hold)
        async with node.locks("x", "y") as holds:
            assert_type(holds, dict[str, Hold])
        assert_type(await node.lock("x").acquire(), Hold | None)
        assert_type(await node.lock("x").acquire(blocking=False), Hold | None)
        if taken := await node.lock("x").acquire(timeout=1):
            assert_type(taken, Hold)
            await taken.release()
        leader = node.leader("scheduler", note="n", on_gain=led, on_loss=led)
        assert_type(leader, Leader)
        assert_type(await leader.run(work), str)
        async with leader:
            assert_type(await leader.elected(), HoldLike)
            assert_type(leader.term, int | None)
        assert_type(await node.inspect("x"), Inspection)
        assert_type(await node.holders(), list[LockState])
        assert_type(node.missing(), list[str])

        @node.lock("daily")
        async def job(count: int, *, name: str) -> list[str]:
            return [name] * count

        assert_type(await job(1, name="x"), list[str])
        any_function: Callable[..., Awaitable[list[str]]] = job
        await any_function()
        await job("1", name="x")  # type: ignore[arg-type]
        await job(1)  # type: ignore[call-arg]


def with_threads() -> None:
    with SyncNode("a", PEERS, algorithm="lamport", secret="s") as node:
        assert_type(node, SyncNode)
        assert_type(node.lock("x", timeout=5, on_lost=told), SyncLock)
        assert_type(node.rlock("x"), SyncLock)
        assert_type(node.semaphore("s", 3, permits=2), SyncLock)
        assert_type(node.locks("x", "y"), SyncLocks)
        with node.lock("x") as hold:
            assert_type(hold, SyncHold)
            assert_type(hold.fence, int)
            assert_type(hold.lost.is_set(), bool)
        with node.locks("x", "y") as holds:
            assert_type(holds, dict[str, SyncHold])
        assert_type(node.lock("x").acquire(timeout=1), SyncHold | None)
        assert_type(node.inspect("x"), Inspection)
        leader = node.leader("scheduler", on_gain=led)
        assert_type(leader, SyncLeader)
        assert_type(leader.run(work_threads), int)

        @node.lock("daily")
        def job(count: int) -> str:
            return "x" * count

        assert_type(job(1), str)
        job("1")  # type: ignore[arg-type]


def led(hold: HoldLike) -> None:
    assert_type(hold.fence, int)


async def work(hold: HoldLike) -> str:
    return hold.name


def work_threads(hold: HoldLike) -> int:
    return hold.fence


def told(hold: SyncHold) -> None:
    assert_type(hold.name, str)


async def anything_that_locks(lock: AsyncLockLike) -> int:
    async with lock as hold:
        assert_type(hold, HoldLike)
        return hold.fence


def anything_that_locks_threads(lock: LockLike) -> int:
    with lock as hold:
        return hold.fence


async def stand_ins(node: Node, threads: SyncNode) -> None:
    for lock in (node.lock("x"), node.rlock("x"), node.semaphore("s", 2)):
        assert_type(await anything_that_locks(lock), int)
    assert_type(anything_that_locks_threads(threads.lock("x")), int)
    await anything_that_locks(threads.lock("x"))  # type: ignore[arg-type]


def errors(error: LockError) -> None:
    assert_type(error.name, str | None)
    assert_type(error.holder, str | None)
    late: TimeoutError = AcquireTimeout("late", name="x")
    FenceGuard().check("x", 3)
    print(late)


def mistakes() -> None:
    Node("a", PEERS, on_fire=True)  # type: ignore[call-arg]
    SyncNode("a", PEERS, on_fire=True)  # type: ignore[call-arg]
    SyncNode("a", PEERS, locality="2")  # type: ignore[arg-type]
    node = Node("a", PEERS, transport=MemoryHub().transport("a"))
    node.lock("x", on_lost="explode")  # type: ignore[arg-type]
    node.lock(3)  # type: ignore[arg-type]
    node.semaphore("s")  # type: ignore[call-arg]


async def with_a_client() -> None:
    async with connect("unix:/run/a.sock", program="p", lease=5, secret=b"s", tls=None) as client:
        assert_type(client, Client)
        assert_type(client.lock("x", timeout=5), Lock)
        either: list[AsyncNodeLike] = [client, Node("a", PEERS)]
        for node in either:
            async with node as same, same.lock("x", on_lost="flag") as hold, same.locks("x", "y") as holds:
                assert_type(hold, Hold)
                assert_type(holds, dict[str, Hold])
            assert_type(await node.leader("x").run(work), str)
            assert_type(await node.inspect("x"), Inspection)


def with_a_client_for_threads() -> None:
    with connect_sync("unix:/run/a.sock") as client:
        assert_type(client, SyncClient)
        either: list[NodeLike] = [client, SyncNode("a", PEERS)]
        for node in either:
            with node as same, same.semaphore("x", 3, permits=2, on_lost=told) as hold:
                assert_type(hold, SyncHold)
            assert_type(node.leader("x"), SyncLeader)
            assert_type(node.holders(), list[LockState])
