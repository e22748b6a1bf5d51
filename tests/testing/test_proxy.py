"""What a proxy does to what passes through it: real sockets, and a server that sends back what it hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from soloist.testing import FaultProxy, eventually
from tests.net.helpers import run

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """Says back what it hears, and keeps it."""

    def __init__(self) -> None:
        self.heard = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1000):
                self.heard += data
                writer.write(data)
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def through(proxy: FaultProxy, listen: str = "") -> AsyncIterator[tuple[Echo, Ends]]:
    echo = Echo()
    if proxy.target.startswith("unix:"):
        server = await asyncio.start_unix_server(echo.serve, proxy.target.removeprefix("unix:"))
    else:
        server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
        proxy.target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    where = await proxy.start(listen)
    try:
        yield echo, await dial(where)
    finally:
        await proxy.close()
        server.close()


async def dial(where: str) -> Ends:
    if where.startswith("unix:"):
        return await asyncio.open_unix_connection(where.removeprefix("unix:"))
    host, port = where.split(":")
    return await asyncio.open_connection(host, int(port))


@pytest.mark.parametrize("seed", [None, 1])
def test_it_lets_everything_pass_once_and_in_order(seed: int | None) -> None:
    async def main() -> None:
        async with through(FaultProxy("", seed)) as (_, (reader, writer)):
            said = bytes(range(256)) * 40
            writer.write(said)
            assert await reader.readexactly(len(said)) == said
            writer.close()

    run(main())


def test_it_serves_unix_sockets(tmp_path: Path) -> None:
    async def main() -> None:
        async with through(FaultProxy(f"unix:{tmp_path}/b"), f"unix:{tmp_path}/a") as (_, (reader, writer)):
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
            writer.close()

    run(main())


def test_what_is_stopped_goes_on_when_it_is_healed() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        async with through(proxy) as (echo, (reader, writer)):
            proxy.stop("back")
            writer.write(b"one")
            await eventually(lambda: echo.heard == b"one")  # there it goes
            proxy.stop("there")
            writer.write(b"two")
            answer = asyncio.create_task(reader.readexactly(6))
            done, _ = await asyncio.wait({answer}, timeout=0.1)  # what must never come can only be waited for
            assert not done
            assert echo.heard == b"one"
            proxy.heal()
            assert await answer == b"onetwo"
            writer.close()

    run(main())


def test_that_an_end_has_closed_is_held_back_too() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        async with through(proxy) as (_, (reader, writer)):
            writer.write(b"x")
            await reader.readexactly(1)
            proxy.stop("back")
            writer.write_eof()  # so the echo closes
            closed = asyncio.create_task(reader.read())
            done, _ = await asyncio.wait({closed}, timeout=0.1)
            assert not done
            proxy.heal()
            assert await closed == b""
            writer.close()

    run(main())


def test_a_reset_breaks_what_is_there_and_lets_others_come() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        async with through(proxy) as (_, (reader, writer)):
            host, port = writer.get_extra_info("peername")
            writer.write(b"x")
            await reader.readexactly(1)
            proxy.reset()
            with suppress(ConnectionError):
                assert await reader.read() == b""
            assert proxy.resets == 1
            writer.close()
            reader, writer = await dial(f"{host}:{port}")
            writer.write(b"y")
            assert await reader.readexactly(1) == b"y"
            writer.close()

    run(main())


def test_a_reset_after_some_bytes_truncates() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        async with through(proxy) as (echo, (reader, writer)):
            proxy.reset_after(3)
            writer.write(b"abcdef")
            with suppress(ConnectionError):
                assert await reader.read() == b""
            assert echo.heard in (b"", b"abc")  # a reset may overtake what was written before it
            assert proxy.resets == 1
            writer.close()

    run(main())


def test_dropped_bytes_are_gone_and_those_behind_them_pass() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        async with through(proxy) as (echo, (reader, writer)):
            proxy.drop(3, "there")
            writer.write(b"abcdef")
            assert await reader.readexactly(3) == b"def"
            assert echo.heard == b"def"
            writer.close()

    run(main())


def test_what_is_delayed_is_at_least_that_old() -> None:
    async def main() -> None:
        proxy, loop = FaultProxy(""), asyncio.get_running_loop()
        async with through(proxy) as (_, (reader, writer)):
            proxy.delay(0.05)
            before = loop.time()
            writer.write(b"x")
            await reader.readexactly(1)
            assert loop.time() - before >= 0.1  # there and back
            writer.close()

    run(main())


def test_who_is_refused_hears_nothing() -> None:
    async def main() -> None:
        proxy = FaultProxy("")
        proxy.refusing = True
        async with through(proxy) as (echo, (reader, writer)):
            with suppress(ConnectionError):
                writer.write(b"x")
                assert await reader.read() == b""
            assert echo.heard == b""
            writer.close()

    run(main())
