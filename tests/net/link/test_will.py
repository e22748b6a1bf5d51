"""A will is heard before any handshake, in the clear even where all else is TLS; and nothing else is. Real sockets."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from soloist.net import Node
from soloist.net.link import shortcut
from soloist.net.link.handshake import Sorry, Welcome, decode_greeting
from soloist.net.link.tcp import STRANGERS, TcpTransport
from soloist.net.link.will import LONGEST, Will, new_will, will_frame, will_of
from soloist.net.link.wire import encode, frame
from soloist.testing import connected, eventually, ports
from tests.net.helpers import LOOPS, Loop, log_lines, run, split
from tests.net.link.certificates import Authority
from tests.net.link.test_handshake import Stranger, hs, identity


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("keys"))


@pytest.fixture(params=["plain", "secret", "tls"])
def protection(request: pytest.FixtureRequest, authority: Authority) -> dict[str, Any]:
    return {"plain": {}, "secret": {"secret": "s"}, "tls": {"tls": authority.certificate("b")}}[request.param]


@asynccontextmanager
async def voter(**options: Any) -> AsyncIterator[tuple[tuple[str, int], list[str], TcpTransport]]:
    """A node; the wills that it hears; and its transport."""
    with ports("a", "b") as peers:
        async with Node("b", peers, **options) as node:
            assert isinstance(node.transport, TcpTransport)
            heard: list[str] = []
            node.transport.on_will = heard.append
            yield split(peers, "b"), heard, node.transport


def test_a_will_is_known_by_its_hash_alone() -> None:
    one, other = new_will(), new_will()
    assert len(one) == 32
    assert len({will_of(one), will_of(other), will_of(one[:-1])}) == 3
    assert decode_greeting(will_frame(one)[4:]) == Will(one)
    assert len(will_frame(one)) <= LONGEST
    assert one.hex() not in will_of(one)


@pytest.mark.parametrize("loop", LOOPS)
def test_it_is_heard_answered_and_that_is_all(protection: dict[str, Any], loop: Loop) -> None:
    async def main() -> None:
        async with voter(**protection) as (address, heard, transport):
            with log_lines() as lines:
                for _ in range(2):  # it may be said again
                    stranger = await Stranger.to(address)
                    stranger.writer.write(will_frame(b"w" * 32))
                    assert decode_greeting(await stranger.get()) == Welcome()
                    await stranger.closed()
                assert heard == [will_of(b"w" * 32)] * 2
                await eventually(lambda: not transport.strangers)
                assert lines == []

    run(main(), loop=loop)


def test_byte_by_byte_too(protection: dict[str, Any]) -> None:
    async def main() -> None:
        async with voter(**protection) as (address, heard, _):
            stranger = await Stranger.to(address)
            for byte in will_frame(b"w" * 32):
                stranger.writer.write(bytes([byte]))
                await stranger.writer.drain()
                await asyncio.sleep(0.001)
            assert decode_greeting(await stranger.get()) == Welcome()
            await stranger.close()
            assert heard == [will_of(b"w" * 32)]

    run(main())


NO_WILL = {
    "too short": frame(encode(Will(b"w" * 31))),
    "empty": frame(encode(Will(b""))),
    "too long": frame(encode(Will(b"w" * 33))),
    "much too long": frame(encode(Will(b"w" * 50_000))),
    "no bytes": frame(encode(["will", 1])),
    "an endless frame": struct.pack(">I", 2**24 - 1) + b"x" * 100,
    "nothing": frame(b""),
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", NO_WILL)
def test_what_is_no_will_is_refused_in_one_line(protection: dict[str, Any], kind: str, loop: Loop) -> None:
    async def main() -> None:
        async with voter(**protection) as (address, heard, _):
            with log_lines() as lines:
                stranger = await Stranger.to(address)
                stranger.writer.write(NO_WILL[kind] + will_frame(b"w" * 32))
                await stranger.closed()
                assert heard == []
                assert ["closed the connection to a stranger" in line for line in lines] == [True]

    run(main(), loop=loop)


def test_one_that_breaks_off_is_not_heard(protection: dict[str, Any]) -> None:
    async def main() -> None:
        async with voter(**protection) as (address, heard, transport):
            whole = will_frame(b"w" * 32)
            with log_lines() as lines:
                for length in range(len(whole)):
                    stranger = await Stranger.to(address)
                    stranger.writer.write(whole[:length])
                    await stranger.close()
                await eventually(lambda: not transport.strangers)
                assert heard == []
                assert all("broke off in the middle of a frame" in line for line in lines)

    run(main())


def test_one_connection_has_one_will(protection: dict[str, Any]) -> None:
    """Nobody tries thousands at once."""

    async def main() -> None:
        async with voter(**protection) as (address, heard, _):
            stranger = await Stranger.to(address)
            stranger.writer.write(b"".join(will_frame(bytes([n]) * 32) for n in range(200)))
            await stranger.closed()
            assert heard == [will_of(bytes(32))]

    run(main())


def test_in_the_middle_of_a_handshake_it_is_out_of_turn() -> None:
    async def main() -> None:
        async with voter(secret="s") as (address, heard, _):
            stranger = await Stranger.to(address)
            me = identity(secret=b"s", node="a", members=("a", "b"))
            await stranger.introduce(me, "b")
            stranger.writer.write(will_frame(b"w" * 32))
            said = decode_greeting(await stranger.get())
            assert isinstance(said, Sorry)
            assert said.why == "it says will out of turn"
            await stranger.closed()
            assert heard == []

    run(main())


def test_whom_we_call_has_no_will_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcut, "name_of", lambda address: None)

    async def main() -> None:
        said: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                writer.write(will_frame(b"w" * 32))
                said.append(await reader.read())
            writer.close()

        with ports("a", "b") as peers, log_lines() as lines:
            async with await asyncio.start_server(answer, *split(peers, "b")), Node("a", peers) as a:
                assert isinstance(a.transport, TcpTransport)
                heard: list[str] = []
                a.transport.on_will = heard.append
                await eventually(lambda: said)
                assert any("it says will out of turn" in line for line in lines)
                assert heard == []

    run(main())


@pytest.mark.parametrize("loop", LOOPS)
def test_in_the_clear_nothing_else_is_said_on_a_port_for_tls(authority: Authority, loop: Loop) -> None:
    """Neither a hello, nor anything else of a handshake; in particular nobody learns who is there."""

    async def main() -> None:
        async with voter(tls=authority.certificate("b"), secret="s") as (address, heard, transport):
            me = identity(secret=b"s", node="a", members=("a", "b"))
            for said in (encode(hs.hello(me, "b", "", 0)), encode(Welcome()), encode(Sorry("x", True))):
                stranger = await Stranger.to(address)
                stranger.put(said)
                answer = decode_greeting(await stranger.get())
                assert isinstance(answer, Sorry)
                assert answer.why in (
                    "it does not speak TLS",
                    f"a frame of {len(said)} bytes; the limit is {LONGEST}",
                )
                await stranger.closed()
            assert heard == []
            assert transport.connected() == set()

    run(main(), loop=loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_flood_of_wills_takes_no_more_places_than_strangers_have(
    protection: dict[str, Any], authority: Authority, loop: Loop
) -> None:
    """Silent ones are there as well; each will is heard, an honest node comes in, and afterwards nothing is left."""

    async def main() -> None:
        with ports("a", "b") as peers:
            async with Node("b", peers, **protection) as b:
                transport = b.transport
                assert isinstance(transport, TcpTransport)
                heard: list[str] = []
                most = 0

                def hear(will: str) -> None:
                    nonlocal most
                    most = max(most, len([each for each in transport.strangers if each.dialled is None]))
                    heard.append(will)

                transport.on_will = hear
                address = split(peers, "b")
                silent = [await Stranger.to(address) for _ in range(STRANGERS)]

                async def one(number: int) -> None:
                    with suppress(ConnectionError, asyncio.IncompleteReadError):
                        stranger = await Stranger.to(address)
                        stranger.writer.write(will_frame(number.to_bytes(32)))
                        await stranger.closed()

                await asyncio.gather(*(one(number) for number in range(3 * STRANGERS)))
                assert len(set(heard)) >= STRANGERS, "those who were not heard say it again"
                assert most <= STRANGERS
                mine = {**protection, **({"tls": authority.certificate("a")} if "tls" in protection else {})}
                async with Node("a", peers, **mine) as a:
                    await connected(a, b)
                for stranger in silent:
                    await stranger.close()
                await eventually(lambda: not transport.strangers)

    with log_lines():
        run(main(), loop=loop)
