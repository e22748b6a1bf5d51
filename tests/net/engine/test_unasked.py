"""Messages that nobody asked for: every kind, at every phase, in every algorithm.

A process that fails half-way is in a state of which no proof speaks: with a token that nobody sent, for example. So
either it takes the message as if nothing were the matter, or its lock is broken for good, and callers are told.
"""

from __future__ import annotations

import asyncio
import types
import typing
from typing import Any

import msgspec
import pytest

from soloist.algorithms import CATALOGUE
from soloist.core import Message
from soloist.net import Hold, LockError, Node
from soloist.net.engine.layout import Layout
from soloist.net.link.wire import Batch, Envelope, decode_batch, encode
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import log_lines, run

K = 2


def some(kind: Any) -> Any:
    """A value of that type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        inner = arguments[:1] * 3 if arguments[-1] is Ellipsis else arguments
        return tuple(some(each) for each in inner)
    if origin in (list, set, frozenset):
        return origin([some(arguments[0])])
    if origin is typing.Annotated or origin in (typing.Union, types.UnionType):
        return some(arguments[0])
    return {int: 1, bool: True, str: "x", bytes: b"x", float: 1.0}[kind]


def forged(kind: type[Message]) -> bytes:
    types_of = {field.name: field.type for field in msgspec.inspect.type_info(kind).fields}  # type: ignore[attr-defined]
    hints = typing.get_type_hints(kind, include_extras=True)
    return encode(kind(**{name: some(hints[name]) for name in types_of}))


CASES = [
    (card.name, kind, phase)
    for card in CATALOGUE.values()
    if card.name
    not in ("raynal", "token-ring", "raynal-inform")  # they never rest, or serve nobody who asks alone
    for kind in card.process.handlers
    for phase in ("idle", "waiting", "inside")
]


async def said(node: Node, peer: str, instance: str, capacity: int, body: bytes) -> None:
    """That peer says this to the first of our sites, from the first of its own."""
    members = len(node.members)
    layouts = [Layout.of(instance, members, each, capacity) for each in range(members)]
    sender, to = layouts[node.members.index(peer)].mine[0], layouts[node.table.me].mine[0]
    envelope = Envelope(instance, capacity, node.epoch, 0, sender, to, msgspec.Raw(body))
    batch = decode_batch(encode(Batch(1, 0, [envelope], [])))
    asyncio.get_running_loop().call_soon(node.board.receive, peer, [batch])
    await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("algorithm", "kind", "phase"), CASES, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_message_that_nobody_asked_for(algorithm: str, kind: type[Message], phase: str) -> None:
    card = CATALOGUE[algorithm]
    option = "algorithm" if card.capacity == "1" else "semaphore_algorithm"

    async def main() -> None:
        async with memory_cluster("abc", **{option: algorithm}) as (a, b, c):
            lock = [n.lock("x") if card.capacity == "1" else n.semaphore("x", K) for n in (a, b, c)]
            for each in lock:  # so that all know it, and are at rest
                async with each:
                    pass
            name, capacity = lock[0].instance_name, lock[0].capacity
            holds: list[Hold | None] = []
            waiting: asyncio.Task[Hold | None] | None = None
            if phase == "inside":
                holds = [await lock[0].acquire()]
            elif phase == "waiting":
                holds = [await each.acquire(blocking=False) for each in lock[1:]]
                waiting = asyncio.create_task(lock[0].acquire())
                await eventually(lambda: name in a.instances and a.instances[name].wanted)
            with log_lines() as lines:
                await said(a, "b", name, capacity, forged(kind))
            halted = [node for node in (a, b, c) if node.instances[name].halted]
            assert bool(lines) == bool(halted), lines
            for node in halted:
                assert not node.instances[name].out.sends, "half a step is not said"
                with pytest.raises(LockError, match="'x' is broken"):
                    await asyncio.create_task(lock[(a, b, c).index(node)].acquire())
            if waiting and a in halted and not waiting.done():
                with pytest.raises(LockError, match="'x' is broken"):
                    await waiting
            for hold in filter(None, holds):
                await hold.release()  # whoever is inside is not to blame
            if waiting:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)

    run(main())


def test_a_token_that_nobody_asked_for_is_not_kept() -> None:
    """It used to be dropped with a word, and yet the process had it from then on: there were two."""
    from soloist.algorithms.naimi_trehel import Token

    async def main() -> None:
        async with memory_cluster("ab") as (a, b):
            async with b.lock("x", timeout=5):  # the token is there
                async with a.lock("y", timeout=5):
                    pass
                await said(a, "b", "lock:x", 1, forged(Token))
                with pytest.raises(LockError, match="'x' is broken"):
                    await a.lock("x").acquire(timeout=0.1)
            async with a.lock("y", timeout=5):
                pass

    with log_lines():
        run(main())
