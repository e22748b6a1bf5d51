"""How holders in other processes tell the witness, and how it listens: over TCP on loopback."""

from __future__ import annotations

import asyncio
import socket
from multiprocessing.connection import Connection

import msgspec

from soloist.net.link.wire import Frames, encode, frame
from soloist.testing.witness import Statement, Witness

decode_statement = msgspec.msgpack.Decoder(Statement).decode

HEARD = b"\x01"
TURNS = 3
"""Turns of the loop after which everything has been read that was there when an entry was: news of deaths, too."""


class WitnessServer:
    """A witness that can be reached."""

    def __init__(self, witness: Witness | None = None) -> None:
        self.witness = witness or Witness()

    async def start(self) -> tuple[str, int]:
        """Where it listens."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Line(self.witness), "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return host, port

    def close(self) -> None:
        """Hear nobody any more."""
        self._server.close()


class _Line(asyncio.Protocol):
    """From a holder: every statement is answered when it has been noted. A line that ends while inside is a death."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.frames = Frames()
        self.inside: list[Statement] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for body in self.frames.feed(data):
            self._hear(decode_statement(body))
            self.transport.write(HEARD)

    def _hear(self, statement: Statement) -> None:
        overlaps = statement.event == "enter" and self.witness.full(statement.lock)
        self.witness.hear(statement)
        if statement.event == "enter":
            self.inside.append(statement)
        else:
            entry = msgspec.structs.replace(statement, event="enter")
            self.inside = [held for held in self.inside if held != entry]
        if overlaps:
            _after(TURNS, self.witness)

    def connection_lost(self, error: Exception | None) -> None:
        for statement in self.inside:
            self.witness.gone(statement)


def _after(turns: int, witness: Witness) -> None:
    if turns:
        asyncio.get_running_loop().call_soon(_after, turns - 1, witness)
    else:
        witness.confirm()


class Testimony:
    """A holder's line to the witness, shared by the tasks of one loop."""

    __test__ = False  # pytest takes every class whose name begins so

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.turn = asyncio.Lock()

    @classmethod
    async def to(cls, witness: tuple[str, int]) -> Testimony:
        return cls(*await asyncio.open_connection(*witness))

    async def give(self, statement: Statement) -> None:
        """State it, and wait until the witness has heard it."""
        async with self.turn:
            self.writer.write(frame(encode(statement)))
            await self.reader.readexactly(1)

    async def close(self) -> None:
        """Say no more."""
        self.writer.close()
        await self.writer.wait_closed()


class BlockingTestimony:
    """The same for one thread."""

    def __init__(self, witness: tuple[str, int]) -> None:
        self.socket = socket.create_connection(witness)

    def give(self, statement: Statement) -> None:
        """State it, and wait until the witness has heard it."""
        self.socket.sendall(frame(encode(statement)))
        if not self.socket.recv(1):
            raise ConnectionError("the witness is gone")

    def close(self) -> None:
        """Say no more."""
        self.socket.close()


def attend(remember: bool, pipe: Connection) -> None:
    """The witness as a process of its own: says where it listens, then answers `count` and `findings`."""
    asyncio.run(_attend(Witness(remember), pipe))


async def _attend(witness: Witness, pipe: Connection) -> None:
    server, over = WitnessServer(witness), asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked() -> None:
        try:
            question = pipe.recv()
        except (EOFError, OSError):  # nobody is there to ask any more
            question = None
        if question == "count":
            pipe.send(witness.entries)
        elif question == "findings":
            pipe.send(witness.findings())
        else:
            loop.remove_reader(pipe.fileno())
            over.set()

    pipe.send(await server.start())
    loop.add_reader(pipe.fileno(), asked)
    await over.wait()
    server.close()
