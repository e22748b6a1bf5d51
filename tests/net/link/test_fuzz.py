"""Thousands of malformed frames and half-open connections against nodes under load.

The nodes a, b and c use a lock all the time. A stranger sends whatever hypothesis invents; `0`, a member that knows
the secret, proves itself and then sends frames that no node would; `z`, whom all others call, answers with garbage.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import deque
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soloist.net import Node
from soloist.net.engine.layout import Layout
from soloist.net.link import handshake as hs
from soloist.net.link.handshake import Identity
from soloist.net.link.wire import Answer, Envelope, LockState, Question, encode, frame
from soloist.testing import eventually, ports
from tests.net.helpers import Exclusion, log_lines, split

SECRET = b"secret"
ATTACKS = 40
"""In each round; then the lock must have been entered meanwhile."""
SILENT = 100
"""Half-open connections that are kept at a time."""

numbers = st.one_of(st.integers(-2, 12), st.sampled_from([2**31, 2**40, 2**63 - 1, -(2**63), 2**64 - 1]))
junk = st.sampled_from(["", "x", "lock:", "lock:junk", "semaphore:junk", "junk" * 100, "\x00", "lock:\n"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.floats(allow_nan=False), st.binary(max_size=8), junk),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(junk, inner, max_size=3)),
    max_leaves=8,
)
bodies = st.one_of(
    values.map(encode),
    st.sampled_from([b"\xc1", b"", b"\x91\xa5Token", b"\x92\xa7Request\x07", b"\x92\xa7Request\xff"]),
)
envelopes = st.builds(
    lambda lock, capacity, epoch, counter, sender, to, body: Envelope(
        lock, capacity, epoch, counter, sender, to, msgspec.Raw(body)
    ),
    junk,
    st.one_of(st.just(1), numbers),
    st.one_of(st.just(0), numbers),
    numbers,
    numbers,
    numbers,
    bodies,
)
views = st.builds(LockState, junk, junk, numbers, numbers, numbers, st.none(), st.none())
control = st.one_of(
    st.builds(Question, numbers, junk), st.builds(Answer, numbers, st.lists(views, max_size=2), st.booleans())
)
batches = st.tuples(
    st.one_of(st.just("next"), numbers),
    numbers,
    st.lists(envelopes, max_size=4),
    st.lists(control, max_size=2),
)
attacks = st.one_of(
    st.tuples(st.just("raw"), st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("framed"), st.binary(max_size=40)),
    st.tuples(st.just("length"), st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=10))),
    st.tuples(st.just("value"), values),
    st.tuples(st.just("broken hello"), st.tuples(st.integers(0, 200), st.binary(max_size=3))),
    st.tuples(st.just("strange hello"), st.lists(values, min_size=6, max_size=9)),
    st.tuples(st.just("proof"), st.one_of(values.map(encode), st.binary(max_size=40))),
    st.tuples(st.just("silent"), st.booleans()),
    st.tuples(st.just("member"), st.one_of(values.map(encode), st.binary(max_size=40))),
    st.tuples(st.just("member's batch"), batches),
    st.tuples(st.just("listener"), st.binary(max_size=40)),
)


class Arena:
    """Three nodes under load, and those who disturb them."""

    def __init__(self, peers: dict[str, str], errors: list[Any]) -> None:
        self.peers, self.errors = peers, errors
        self.nodes = [Node(name, peers, secret=SECRET, lease=None) for name in "abc"]
        self.lock = next(
            name for name in map(str, range(100)) if Layout.of(f"lock:{name}", 5, 0, 1).hosts[0] in (1, 2, 3)
        )
        self.exclusion = Exclusion()
        self.load: list[asyncio.Task[None]] = []
        self.silent: deque[socket.socket] = deque()
        self.answer = b""
        self.listener: asyncio.Server | None = None
        self.frames = 0
        self.absent = [Node(name, peers, secret=SECRET, lease=None) for name in "0z"]
        """They were there when the cluster began; somebody has got hold of what they knew. Without a lease they stay members."""
        self.me: Identity

    async def open(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.errors.append(context))
        for node in self.nodes:
            await node.start()
        for node in self.absent:
            await node.start()
        await eventually(lambda: all(node.beginning.open for node in [*self.nodes, *self.absent]))
        self.me = self.absent[0].transport.identity  # type: ignore[attr-defined]
        for node in self.absent:
            await node.close()
        await eventually(lambda: all(node.missing() == ["0", "z"] for node in self.nodes))
        self.listener = await asyncio.start_server(self.listen, *split(self.peers, "z"))
        for node in self.nodes:
            visit = self.exclusion.visit(node, node.lock(self.lock), 10**9, 0.0005)
            self.load.append(asyncio.create_task(visit))

    async def close(self) -> None:
        for task in self.load:
            task.cancel()
        await asyncio.gather(*self.load, return_exceptions=True)
        assert self.listener
        self.listener.close()
        for sock in self.silent:
            sock.close()
        for node in self.nodes:
            await node.close()

    async def round(self, plan: list[tuple[str, Any]]) -> None:
        before = len(self.exclusion.fences)
        for kind, detail in plan:
            self.frames += 1
            target = "abc"[self.frames % 3]
            with suppress(OSError, EOFError):
                await self.attack(target, kind, detail)
        await eventually(lambda: len(self.exclusion.fences) > before + 3, "entries go on")
        assert not [task for task in self.load if task.done()]
        assert not self.errors, self.errors

    async def attack(self, target: str, kind: str, detail: Any) -> None:
        if kind == "listener":
            self.answer = detail
            return
        if kind == "silent":
            self.stay_silent(target, after_hello=detail)
            return
        reader, writer = await asyncio.open_connection(*split(self.peers, target))
        try:
            writer.write(await self.bytes_of(reader, writer, target, kind, detail))
            await asyncio.sleep(0)
        finally:
            if random.random() < 0.5:
                writer.transport.abort()
            else:
                writer.close()

    def stay_silent(self, target: str, after_hello: bool) -> None:
        sock = socket.create_connection(split(self.peers, target), timeout=5)
        self.silent.append(sock)
        if after_hello:
            sock.sendall(frame(self.hello(target)))
        if len(self.silent) > SILENT:
            self.silent.popleft().close()

    async def bytes_of(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str, kind: str, detail: Any
    ) -> bytes:
        """What to send; for some attacks, after the honest beginning of a handshake."""
        match kind:
            case "raw":
                return bytes(detail)
            case "framed":
                return frame(detail)
            case "length":
                return struct.pack(">I", detail[0]) + bytes(detail[1])
            case "value" | "strange hello":
                return frame(encode(detail))
            case "broken hello":
                at, data = detail
                body = self.hello(target)
                return frame(body[:at] + data + body[at + len(data) :])
            case "proof":
                writer.write(frame(self.hello(target)))
                return frame(detail)
            case _:
                received = await self.prove(reader, writer, target)
                if kind == "member":
                    return frame(detail)
                number, *rest = detail
                return frame(encode((received + 1 if number == "next" else number, *rest)))

    def hello(self, target: str) -> bytes:
        return encode(hs.hello(self.me, target, "", 0))

    async def prove(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> int:
        """The whole handshake, as a member that knows the secret; how many batches the other has of us."""
        peer = next(node for node in self.nodes if node.name == target).transport.peers["0"]  # type: ignore[attr-defined]
        there = next(node for node in self.nodes if node.name == target).beginning.who
        ours = hs.hello(self.me, target, there.incarnation, peer.sent)
        writer.write(frame(encode(ours)))
        theirs = hs.decode_greeting(await self.frame_of(reader))
        assert isinstance(theirs, hs.Hello)
        await self.frame_of(reader)
        writer.write(frame(encode(hs.proof(self.me, encode(ours), encode(theirs)))))
        return theirs.received

    async def frame_of(self, reader: asyncio.StreamReader) -> bytes:
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        return await reader.readexactly(length)

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(self.answer)
            with suppress(OSError, EOFError):
                await self.frame_of(reader)
                writer.write(frame(self.answer))
        finally:
            writer.close()


@pytest.mark.parametrize("rounds", [60, pytest.param(250, marks=pytest.mark.soak)])
def test_malformed_frames_harm_nothing(rounds: int) -> None:
    errors: list[Any] = []
    with ports(*"0abcz") as peers, asyncio.Runner() as runner, log_lines() as lines:
        arena = Arena(peers, errors)
        runner.run(arena.open())

        @settings(
            max_examples=rounds,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(attacks, min_size=ATTACKS, max_size=ATTACKS))
        def attack(plan: list[tuple[str, Any]]) -> None:
            runner.run(arena.round(plan))

        try:
            attack()
            assert arena.frames >= rounds * ATTACKS
            for node in arena.nodes:
                assert {"a", "b", "c"} - {node.name} <= node.transport.connected()
                reconnects = [node.transport.peers[name].connections for name in "abc" if name != node.name]  # type: ignore[attr-defined]
                assert reconnects == [1, 1], "the honest never lost each other"
            assert len(arena.exclusion.fences) > rounds
            assert any("closed the connection to" in line for line in lines)
            assert not [line for line in lines if "\n" in line]
        finally:
            runner.run(arena.close())
        print(
            f"{arena.frames} attacks, {len(arena.exclusion.fences)} entries meanwhile, {len(lines)} log lines"
        )
