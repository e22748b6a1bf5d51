"""What befalls frames that pass through a proxy: real sockets, and a server that keeps what it hears."""

from __future__ import annotations

import pytest

from soloist.core import UsageError
from soloist.net.link.handshake import Hello, Who
from soloist.net.link.wire import VERSION, encode, frame
from soloist.testing import FaultProxy, Mischief, Proxies, eventually
from tests.net.helpers import run
from tests.testing.test_proxy import through

WHO = Who("c", "a", "x", ("a", "b"), "1", origin=0)
RENEWALS = frame(encode(Hello(VERSION, WHO, "b", "", 0, b"", pulse=True)))
LINK = frame(encode(Hello(VERSION, WHO, "b", "", 0, b"")))
ONE, TWO = frame(b"one"), frame(b"two, which is longer")


@pytest.mark.parametrize("seed", [None, 1])
def test_frames_pass_whole_and_once_without_mischief(seed: int | None) -> None:
    async def main() -> None:
        proxy = FaultProxy("", seed, framed=True)
        async with through(proxy) as (echo, (reader, writer)):
            writer.write(LINK + ONE + TWO)
            said = await reader.readexactly(len(LINK + ONE + TWO))
            assert said == echo.heard == LINK + ONE + TWO
            assert proxy.spoilt == 0
            writer.close()

    run(main())


def test_frames_are_repeated() -> None:
    async def main() -> None:
        proxy = FaultProxy("", framed=True)
        async with through(proxy) as (echo, (_, writer)):
            proxy.spoil(Mischief(repeat=1.0), "there")
            writer.write(LINK + ONE)
            await eventually(lambda: echo.heard == 2 * LINK + 2 * ONE, "each came twice")
            proxy.heal()
            writer.write(TWO)
            await eventually(lambda: echo.heard.endswith(ONE + TWO), "it is honest again")
            assert proxy.spoilt == 2
            writer.close()

    run(main())


@pytest.mark.parametrize("mischief", [Mischief(lose=1.0), Mischief(truncate=1.0)], ids=["lost", "cut short"])
def test_a_link_ends_with_the_frame_that_is_not_whole(mischief: Mischief) -> None:
    async def main() -> None:
        proxy = FaultProxy("", 1, framed=True)
        async with through(proxy) as (echo, (reader, writer)):
            writer.write(LINK)
            await reader.readexactly(len(LINK))
            proxy.spoil(mischief)
            writer.write(TWO + ONE)
            with pytest.raises((OSError, EOFError)):
                await reader.readexactly(1)
            rest = echo.heard.removeprefix(LINK)
            assert TWO.startswith(rest)
            assert len(rest) < len(TWO)
            writer.close()

    run(main())


def test_of_renewals_only_what_is_lost_is_gone() -> None:
    async def main() -> None:
        proxy = FaultProxy("", framed=True)
        async with through(proxy) as (echo, (reader, writer)):
            writer.write(RENEWALS)
            await reader.readexactly(len(RENEWALS))
            proxy.spoil(Mischief(lose=1.0), "there")
            writer.write(ONE)
            await eventually(lambda: proxy.spoilt == 1, "it is lost")
            proxy.heal()
            writer.write(TWO)
            assert await reader.readexactly(len(TWO)) == TWO
            assert echo.heard == RENEWALS + TWO
            writer.close()

    run(main())


def test_a_proxy_that_does_not_know_frames_says_so() -> None:
    with pytest.raises(UsageError, match="framed=True"):
        FaultProxy("").spoil(Mischief(lose=1.0))


def test_who_is_the_bridge_hears_both_sides() -> None:
    with Proxies("abcde") as proxies:
        proxies.bridge("ab", "de")
        shut = {
            "".join(pair)
            for pair, proxy in proxies._proxies.items()
            if not proxy._ways["there"].open.is_set() and not proxy._ways["back"].open.is_set()
        }
        assert shut == {a + b for a in "ab" for b in "de"} | {b + a for a in "ab" for b in "de"}
