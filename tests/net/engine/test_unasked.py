"""Messages that nobody asked for: every kind, at every phase, in every algorithm.

A process that fails half-way is in a state of which no proof speaks: with a token that nobody sent, for example. So
either it takes the message as if nothing were the matter, or its lock is broken for good, and callers are told.
"""

from __future__ import annotations

import asyncio
import types
import typing
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, Card, find
from soloist.core import Message, Port, Process, ProtocolError, Site
from soloist.net import Hold, LockError, Node
from soloist.net.engine import instance
from soloist.net.engine.instance import Instance
from soloist.net.engine.layout import Layout
from soloist.net.engine.sites import fresh
from soloist.net.engine.ticket import Effects, Terms, Ticket
from soloist.net.link.wire import Batch, Envelope, decode_batch, encode
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import log_lines, run

K = 2
TURNS = 20
"""Of the loop, within which all has been said that follows from one message: in memory each hop takes one or two."""


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


def made(kind: type[Message]) -> Message:
    types_of = {field.name: field.type for field in msgspec.inspect.type_info(kind).fields}  # type: ignore[attr-defined]
    hints = typing.get_type_hints(kind, include_extras=True)
    return kind(**{name: some(hints[name]) for name in types_of})


def forged(kind: type[Message]) -> bytes:
    return encode(made(kind))


PHASES = ("idle", "waiting", "inside")
RESTLESS = ("raynal", "raynal-inform", "token-ring")
"""They never rest, or serve nobody who asks alone: what nodes of theirs do next is not ours to say, so their instances
are stepped by hand."""
CASES = [
    (card.name, kind, phase)
    for card in CATALOGUE.values()
    if card.name not in RESTLESS
    for kind in card.process.handlers
    for phase in PHASES
]
STEPPED = [
    (name, kind, phase) for name in RESTLESS for kind in find(name).process.handlers for phase in PHASES
]
LABORATORY = [
    (card, kind, phase)
    for room in (RECOVERY, VARIANTS)
    for card in room.values()
    for kind in card.process.handlers
    for phase in PHASES
]
"""Recovery as published, and variants. No node runs them as locks, so they are stepped by hand, too."""


async def said(node: Node, peer: str, instance: str, capacity: int, body: bytes) -> None:
    """That peer says this to the first of our sites, from the first of its own."""
    members = len(node.members)
    layouts = [Layout.of(instance, members, each, capacity) for each in range(members)]
    sender, to = layouts[node.members.index(peer)].mine[0], layouts[node.table.me].mine[0]
    envelope = Envelope(instance, capacity, node.epoch, 0, sender, to, msgspec.Raw(body))
    batch = decode_batch(encode(Batch(1, 0, [envelope], [])))
    asyncio.get_running_loop().call_soon(node.board.receive, peer, [batch])
    for _ in range(TURNS):
        await asyncio.sleep(0)


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


class Stepped:
    """Three nodes' parts of one lock, without nodes: what they say is passed on one by one."""

    def __init__(self, card: Card, wire: bool = True) -> None:
        """Without a `wire`, messages are passed on as they are: those of the laboratory need not be told apart as bytes."""
        self.effects, self.wire = Effects(), wire
        self.said: list[tuple[int, int, Envelope]] = []
        """From, to, and what: oldest first."""
        self.parts: list[Instance] = []
        self.rings: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        places = 1 if card.capacity == "1" else K
        for me in range(3):
            layout = Layout.of("lock:x", 3, me, places)
            terms = Terms(self.effects, 1, 1, self._later)
            with nullcontext() if wire else patch.object(instance, "decoder", lambda card: lambda body: body):
                self.parts.append(Instance("lock:x", card, layout, terms, fresh(card, layout)))
        for me in range(3):
            self.do(me, self.parts[me].begin)

    def _later(self, delay: float, ring: Callable[..., None], *arguments: Any) -> SimpleNamespace:
        timer = ring, arguments
        self.rings.append(timer)
        return SimpleNamespace(cancel=lambda: timer in self.rings and self.rings.remove(timer))

    def do(self, me: int, work: Callable[..., None], *arguments: Any) -> None:
        work(*arguments)
        for to, envelope in self.effects.sends:
            if self.wire:
                envelope = msgspec.structs.replace(envelope, body=msgspec.Raw(encode(envelope.body)))
            self.said.append((me, to, envelope))
        self.effects.sends.clear()

    def until(self, done: Callable[[], bool]) -> None:
        for _ in range(1000):
            if done():
                return
            if self.said:
                host, to, envelope = self.said.pop(0)
                self.do(to, self.parts[to].deliver, host, envelope)
            else:
                ring, arguments = self.rings.pop(0)
                self.do(self.parts.index(ring.__self__), ring, *arguments)  # type: ignore[attr-defined]
        raise AssertionError("it never came to that")

    def at(self, phase: str) -> Instance:
        """One of them, in that phase."""
        if phase == "idle":
            return self.parts[0]
        for me in range(3):
            self.do(me, self.parts[me].request, Ticket())
        self.until(lambda: any(part.inside for part in self.parts))
        return next(part for part in self.parts if bool(part.inside) == (phase == "inside"))


stepped = pytest.mark.parametrize(
    ("algorithm", "kind", "phase"), STEPPED, ids=lambda each: getattr(each, "__name__", each)
)


def at(card: Card, phase: str, wire: bool = True) -> tuple[Instance, Site, Site]:
    """A part, its site that is in that phase, and a site of a peer."""
    lock = Stepped(card, wire)
    part = lock.at(phase)
    me = next(site for site, port in part.ports.items() if port.process.phase.name.lower() == phase)
    return part, me, lock.parts[lock.parts.index(part) - 1].layout.mine[0]


def told(part: Instance, me: Site, peer: Site, body: Any) -> list[str]:
    """What is logged when that peer says this."""
    envelope = Envelope("lock:x", part.capacity, 1, 0, peer, me, body)
    with log_lines() as lines:
        part.deliver(part.layout.hosts[peer], envelope)
    return lines


@stepped
def test_those_that_never_rest_take_what_nobody_asked_for(
    algorithm: str, kind: type[Message], phase: str
) -> None:
    """Whatever it is, it might have been under way: no rule of theirs fails on it."""
    part, me, peer = at(find(algorithm), phase)
    assert told(part, me, peer, msgspec.Raw(forged(kind))) == []
    assert not part.halted
    assert [part.out.sends, part.out.entered, part.out.timers] == [[], [], []]
    for ticket in list(part.inside.values()):
        part.release(ticket)
    assert not part.broken


@stepped
def test_those_that_never_rest_break_where_a_step_fails(
    algorithm: str, kind: type[Message], phase: str
) -> None:
    part, me, peer = at(find(algorithm), phase)

    def fails(process: Process, sender: Site, message: Message) -> None:
        process.send(sender, message)
        raise ProtocolError("no")

    part.ports[me].handlers = {kind: fails}
    [line] = told(part, me, peer, msgspec.Raw(forged(kind)))
    assert "failed half-way" in line
    assert part.halted
    assert [part.out.sends, part.effects.sends] == [[], []], "half a step is not said"
    with pytest.raises(LockError, match="'x' is broken"):
        part.request(Ticket())
    for ticket in list(part.inside.values()):
        part.release(ticket)  # whoever is inside is not to blame
    assert part.effects.sends == []


@pytest.mark.parametrize(
    ("card", "kind", "phase"),
    LABORATORY,
    ids=lambda each: getattr(each, "__name__", getattr(each, "name", each)),
)
def test_those_of_the_laboratory_take_it_or_break(card: Card, kind: type[Message], phase: str) -> None:
    part, me, peer = at(card, phase, wire=False)
    lines = told(part, me, peer, made(kind))
    assert bool(lines) == part.halted, lines
    if part.halted:
        assert [part.out.sends, part.effects.sends] == [[], []], "half a step is not said"
        with pytest.raises(LockError, match="'x' is broken"):
            part.request(Ticket())
    for ticket in list(part.inside.values()):
        part.release(ticket)  # whoever is inside is not to blame


def test_every_algorithm_is_among_these() -> None:
    rooms = {card.name for room in (CATALOGUE, RECOVERY, VARIANTS) for card in room.values()}
    assert rooms == {name for name, *_ in (*CASES, *STEPPED)} | {card.name for card, *_ in LABORATORY}


def test_a_token_that_nobody_asked_for_is_not_kept() -> None:
    """It used to be dropped with a word, and yet the process had it from then on: there were two."""
    from soloist.algorithms.naimi_trehel import Token

    async def main() -> None:
        async with memory_cluster("ab", algorithm="naimi-trehel") as (a, b):
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


def test_a_token_for_nobody_does_not_go_round_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that has heard of no request takes the way to every other site to begin at itself. So it sent such a token to itself
    again and again, within one step, and its node dealt with nothing else any more."""
    from soloist.algorithms.helary_plouzeau_raynal import Token

    deliver, steps = Port.deliver, count()

    def counted(port: Port, sender: Site, message: Message) -> Any:
        if next(steps) > 10_000:
            pytest.fail("it goes on for ever")
        return deliver(port, sender, message)

    monkeypatch.setattr(Port, "deliver", counted)
    part, me, peer = at(find("helary-plouzeau-raynal"), "idle")
    [line] = told(part, me, peer, msgspec.Raw(encode(Token((me + 1) % 3, (0, 0, 0)))))
    assert "our sites answer each other without end" in line
    assert part.halted


def test_the_next_view_mends_what_is_broken() -> None:
    from soloist.algorithms.naimi_trehel import Token

    async def main() -> None:
        async with memory_cluster("abc", algorithm="naimi-trehel") as (a, b, c):
            async with b.lock("x", timeout=5):
                pass
            await said(a, "b", "lock:x", 1, forged(Token))
            with pytest.raises(LockError, match="'x' is broken"):
                await a.lock("x").acquire(timeout=0.1)
            epoch = a.epoch
            await c.close()
            await eventually(lambda: a.epoch > epoch and b.epoch > epoch, "there is a view without c")
            async with a.lock("x", timeout=5):
                pass

    with log_lines():
        run(main())
