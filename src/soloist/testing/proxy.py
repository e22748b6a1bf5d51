"""A proxy in front of a node that disturbs what passes through it. Plain asyncio, no privileges.

It resets connections, at any byte; holds back what goes one way or both; delays it; or swallows bytes. What it lets
pass, it lets pass once and in order; but with `Mischief` frames of Soloist are lost, repeated and cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from soloist.core import ProtocolError, UsageError
from soloist.net.link.handshake import Hello
from soloist.net.link.security import Address, address
from soloist.net.link.wire import Frames, frame

Direction = Literal["there", "back"]
"""As seen by those who dial: to the target, or from it."""

TURNS = 3
"""Turns of the loop, until those have come in who were at the door when it was closed."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Mischief(msgspec.Struct, frozen=True):
    """What befalls frames, each with this chance.

    TCP loses nothing while a connection lasts, so a frame of a link that is lost or cut short is the last of its connection.
    Of renewals, which may be lost at any time, only that one is gone.
    """

    lose: float = 0.0
    repeat: float = 0.0
    truncate: float = 0.0


HONEST = Mischief()


class _Way:
    """One direction, of all connections."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.delay = 0.0
        self.swallow = 0
        self.mischief = HONEST

    def left_of(self, data: bytes) -> bytes:
        gone = min(self.swallow, len(data))
        self.swallow -= gone
        return data[gone:]


class FaultProxy:
    """Listens at an address of its own, and passes on to another: `host:port`, or `unix:/path`.

    With a seed, what passes is divided into pieces of random sizes, so that no frame comes whole. `framed`: what passes are
    frames of Soloist, without TLS, and `spoil` may be called.
    """

    def __init__(self, target: str, seed: int | None = None, framed: bool = False) -> None:
        self.target, self.framed = target, framed
        self._random = random.Random(seed) if seed is not None else None
        self._server: asyncio.Server | None = None
        self._live: set[asyncio.WriteTransport] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ways: dict[Direction, _Way] = {}
        self._budget: int | None = None
        """Bytes that may still pass before everything is reset; None: no limit."""
        self.resets = 0
        self.accepted = 0
        self.spoilt = 0
        """Frames that were lost, repeated or cut short."""
        self._chance = random.Random(seed)
        self.refusing = False
        """Whether those who dial are turned away."""

    async def start(self, listen: str = "") -> str:
        """Begin to listen, at a free port if nothing is said; gives the address."""
        self._ways = {"there": _Way(), "back": _Way()}
        place = address(listen) if listen else None
        if place and place.unix:
            self._server = await asyncio.start_unix_server(self._accept, place.host)
            return listen
        host, port = (place.host, place.port) if place else ("127.0.0.1", 0)
        self._server = await asyncio.start_server(self._accept, host, port)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def close(self) -> None:
        """Cut all connections, and listen no more."""
        assert self._server
        self._server.close()
        self.refusing = True
        for _ in range(TURNS):
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)

    def reset(self) -> None:
        """Break every connection, whatever is under way. New ones may be made at once."""
        self.resets += bool(self._live)
        self._budget = None
        for transport in list(self._live):
            transport.abort()

    def reset_after(self, size: int) -> None:
        """Let so many more bytes pass, then reset: in the middle of a frame, as likely as not."""
        self._budget = size

    def stop(self, *directions: Direction) -> None:
        """Hold back all that goes that way, or both ways; nobody is told, and connections stay as they are."""
        for direction in directions or ("there", "back"):
            self._ways[direction].open.clear()

    def delay(self, seconds: float, *directions: Direction) -> None:
        """Let nothing pass before it is so old; at most twice that."""
        for direction in directions or ("there", "back"):
            self._ways[direction].delay = seconds

    def drop(self, size: int, direction: Direction) -> None:
        """Swallow the next so many bytes, and let pass what follows: TCP does not do that, but broken boxes do."""
        self._ways[direction].swallow += size

    def spoil(self, mischief: Mischief, *directions: Direction) -> None:
        """Lose, repeat and cut short frames, from now on."""
        if not self.framed:
            raise UsageError("only a proxy made with framed=True knows frames")
        for direction in directions or ("there", "back"):
            self._ways[direction].mischief = mischief

    def heal(self) -> None:
        """Be an honest proxy again. What was held back goes on its way; what was swallowed is gone."""
        self.refusing, self._budget = False, None
        for way in self._ways.values():
            way.delay, way.swallow, way.mischief = 0.0, 0, HONEST
            way.open.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.refusing:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._connect((reader, writer)))
        self._tasks.add(task)

        def over(task: asyncio.Task[None]) -> None:
            """Also for one that was cancelled before it began."""
            writer.transport.abort()
            self._tasks.discard(task)

        task.add_done_callback(over)

    async def _connect(self, here: Streams) -> None:
        try:
            there = await _dial(address(self.target))
        except OSError:
            return  # nobody is there
        ends = {here[1].transport, there[1].transport}
        self._live |= ends
        spoiler = _Spoiler(self) if self.framed else None
        try:
            await asyncio.gather(
                self._pump(here[0], there[1], self._ways["there"], spoiler),
                self._pump(there[0], here[1], self._ways["back"], spoiler),
            )
        finally:
            for end in ends:
                end.abort()
            self._live -= ends

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, spoiler: _Spoiler | None
    ) -> None:
        frames = Frames()
        with contextlib.suppress(OSError, ProtocolError):
            while data := await reader.read(self._size()):
                if way.delay:
                    await asyncio.sleep(way.delay)
                await way.open.wait()
                if spoiler:
                    data = b"".join(spoiler.spoilt(frames.feed(data), way.mischief))
                writer.write(self._allowed(way.left_of(data)))
                if spoiler and spoiler.over:
                    break
                if self._budget == 0:
                    await asyncio.sleep(0)  # bytes that were let through leave first
                    self.reset()
                    return
                await writer.drain()
            await way.open.wait()  # that a connection has ended is news, too
        writer.transport.abort()

    def _size(self) -> int:
        return self._random.choice((1, 7, 64, 4096)) if self._random else 65536

    def _allowed(self, data: bytes) -> bytes:
        if self._budget is not None:
            data = data[: self._budget]
            self._budget -= len(data)
        return data


class _Spoiler:
    """What becomes of the frames of one connection."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        self.over = False
        """Whether something was lost without which the connection makes no sense any more."""
        self.renewals: bool | None = None
        """Whether it is for renewals; None until its first frame has told."""

    def spoilt(self, bodies: Iterator[memoryview], mischief: Mischief) -> Iterator[bytes]:
        for body in bodies:
            if self.renewals is None:
                self.renewals = _for_renewals(body)
            whole = frame(bytes(body))
            if mischief == HONEST:
                yield whole
                continue
            kept = self._left_of(whole, mischief)
            self.proxy.spoilt += kept != whole
            yield kept
            if self.over:
                return

    def _left_of(self, whole: bytes, mischief: Mischief) -> bytes:
        draw = self.proxy._chance
        if draw.random() < mischief.lose:
            self.over = not self.renewals
            return b""
        if draw.random() < mischief.truncate:
            self.over = True
            return whole[: draw.randrange(1, len(whole))]
        return 2 * whole if draw.random() < mischief.repeat else whole


def _for_renewals(body: memoryview) -> bool:
    try:
        return msgspec.msgpack.decode(body, type=Hello).pulse
    except msgspec.MsgspecError:
        return False


async def _dial(place: Address) -> Streams:
    if place.unix:
        return await asyncio.open_unix_connection(place.host)
    return await asyncio.open_connection(place.host, place.port)
