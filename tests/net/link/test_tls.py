"""Mutual TLS: a node is whom its certificate says, and nobody else comes in. Real sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from soloist.core import UsageError
from soloist.net import TLS, Node, SyncNode
from soloist.net.link.tcp import STRANGERS
from soloist.testing import connected, eventually, ports, started
from tests.net.helpers import LOOPS, Exclusion, Loop, log_lines, run, split
from tests.net.link.certificates import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def peers() -> Iterator[dict[str, str]]:
    with ports("a", "b", "c") as addresses:
        yield addresses


@pytest.mark.parametrize("loop", LOOPS)
def test_nodes_with_the_right_certificates_share_locks(
    authority: Authority, peers: dict[str, str], loop: Loop
) -> None:
    async def main() -> None:
        nodes = [Node(name, peers, tls=authority.certificate(name)) for name in peers]
        async with started(nodes):
            await connected(*nodes)
            exclusion = Exclusion()
            await asyncio.gather(*(exclusion.visit(node, node.lock("x"), 50) for node in nodes))
            connection = nodes[0].transport.peers["b"].connection  # type: ignore[attr-defined]
            assert connection.wire.get_extra_info("cipher")
            assert connection.wire.get_extra_info("ssl_object").version() == "TLSv1.3"

    run(main(), loop=loop)


def test_certificates_and_a_secret_go_together(authority: Authority, peers: dict[str, str]) -> None:
    async def main() -> None:
        nodes = [Node(name, peers, tls=authority.certificate(name), secret="s") for name in peers]
        async with started(nodes):
            await connected(*nodes)

    run(main())


def test_threads_over_tls(authority: Authority) -> None:
    with (
        ports("a", "b") as two,
        SyncNode("a", two, tls=authority.certificate("a")) as a,
        SyncNode("b", two, tls=authority.certificate("b")) as b,
    ):
        for node in (a, b, a, b):
            with node.lock("x", timeout=10):
                pass


def never_meets(peers: dict[str, str], good: Authority, impostor: str, tls: TLS | None) -> list[str]:
    """An impostor comes to two honest nodes, which are not harmed; what they log."""

    async def main() -> list[str]:
        honest = [name for name in peers if name != impostor]
        nodes = [Node(name, peers, tls=good.certificate(name)) for name in honest]
        async with started(nodes):
            await eventually(lambda: all(node.missing() == [impostor] for node in nodes))
            with log_lines() as lines:
                async with Node(impostor, peers, tls=tls) as bad:
                    mine = f"{impostor}:"
                    await eventually(lambda: len([line for line in lines if not line.startswith(mine)]) >= 2)
                    assert bad.missing() == honest
                    assert all(node.missing() == [impostor] for node in nodes)
            assert (await nodes[0].inspect("x")).unreachable == [impostor]
            return [line for line in lines if not line.startswith(mine)]

    return run(main())


@pytest.mark.parametrize("impostor", ["a", "c"])  # one that dials, and one that is dialled
def test_a_certificate_with_another_name_is_refused(
    authority: Authority, peers: dict[str, str], impostor: str
) -> None:
    lines = never_meets(peers, authority, impostor, authority.certificate("b", f"b-as-{impostor}"))
    expected = {"a": "its certificate says b", "c": "not valid for 'c'"}[impostor]
    assert all(expected in line for line in lines), lines


@pytest.mark.parametrize("impostor", ["a", "c"])
def test_a_certificate_of_another_authority_is_refused(
    authority: Authority, peers: dict[str, str], impostor: str, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other").certificate(impostor)
    trusts_us = TLS(other.certificate, str(authority.path))
    lines = never_meets(peers, authority, impostor, trusts_us)
    assert all("unable to get local issuer certificate" in line for line in lines), lines
    if impostor == "c":  # dialled: those who dial say it in words, without OpenSSL's numbers
        assert any("no connection to c: its certificate is not believed: " in line for line in lines), lines
        assert not any("_ssl.c" in line for line in lines), lines


@pytest.mark.parametrize("impostor", ["a", "c"])
def test_an_expired_certificate_is_refused(
    authority: Authority, peers: dict[str, str], impostor: str
) -> None:
    lines = never_meets(peers, authority, impostor, authority.certificate(impostor, "old", expired=True))
    assert all("certificate has expired" in line for line in lines), lines


def test_who_dials_with_an_expired_certificate_learns_where_to_look(
    authority: Authority, peers: dict[str, str]
) -> None:
    """The others are there, and it hears nothing from them: "no answer yet" would lead astray."""

    async def main() -> None:
        old = authority.certificate("a", "old", expired=True)
        async with (
            Node("b", peers, tls=authority.certificate("b")),
            Node("a", peers, tls=old) as a,
        ):
            await eventually(lambda: "hung up without a word" in a.transport.failures().get("b", ""))

    run(main())


def test_a_node_without_tls_is_refused(authority: Authority, peers: dict[str, str]) -> None:
    lines = never_meets(peers, authority, "a", None)
    assert all("closed the connection to a stranger" in line for line in lines), lines


def test_a_node_without_tls_is_not_spoken_to(authority: Authority, peers: dict[str, str]) -> None:
    """Whoever dials it is answered in clear, and says nothing more."""

    async def main() -> None:
        async with Node("a", peers, tls=authority.certificate("a")) as a, Node("b", peers) as b:
            with log_lines() as lines:
                await eventually(lambda: {line.split(":")[0] for line in lines} == {"a", "b"})
            assert any("b: closed the connection to a stranger" in line for line in lines), lines
            assert (a.missing(), b.missing()) == (["b", "c"], ["a", "c"])

    run(main())


def test_no_certificate_is_refused_with_one_line(authority: Authority, peers: dict[str, str]) -> None:
    async def main() -> None:
        context = ssl.create_default_context(cafile=str(authority.path))
        async with Node("b", peers, tls=authority.certificate("b")):
            with log_lines() as lines:
                host, port = split(peers, "b")
                reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="b")
                writer.write(b"hello")
                with suppress(OSError):
                    assert not await reader.read()
                writer.transport.abort()
                await eventually(lambda: lines)
            (line,) = lines
            assert "peer did not return a certificate" in line.lower().replace("_", " ")

    run(main())


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.0\r\n\r\n", b"\x00" * 500, b"\xff" * 3])
def test_garbage_instead_of_tls_harms_nothing(
    authority: Authority, peers: dict[str, str], garbage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        nodes = [Node(name, peers, tls=authority.certificate(name)) for name in peers]
        async with started(nodes):
            await connected(*nodes)
            porch: Any = nodes[1].transport
            came = Mock(wraps=porch.made)
            monkeypatch.setattr(porch, "made", came)
            with log_lines() as lines:
                _, writer = await asyncio.open_connection(*split(peers, "b"))
                writer.write(garbage)
                await eventually(lambda: came.called, "it has been seen")
                writer.transport.abort()
                await eventually(lambda: not porch.strangers, "it is forgotten")
            assert len(lines) <= 1
            async with nodes[0].lock("x", timeout=10), nodes[1].lock("y", timeout=10):
                assert not any(node.missing() for node in nodes)

    run(main())


def test_files_that_are_not_there_or_do_not_fit_are_named(authority: Authority, tmp_path: Path) -> None:
    good = authority.certificate("a")
    (tmp_path / "empty.pem").write_text("")
    for tls, what in (
        (TLS("nowhere.pem", good.authority), "certificate nowhere.pem does not exist"),
        (TLS(good.certificate, "nowhere.pem"), "authority nowhere.pem does not exist"),
        (TLS(good.certificate, good.authority, "nowhere.pem"), "key nowhere.pem does not exist"),
        (TLS(str(tmp_path / "empty.pem"), good.authority), "do not fit"),
        (TLS(good.certificate, str(tmp_path / "empty.pem")), "do not fit"),
    ):
        with ports("a") as peers, pytest.raises(UsageError, match=what):
            run(Node("a", peers, tls=tls).start())


@pytest.mark.parametrize("loop", LOOPS)
def test_those_who_never_begin_tls_make_room_for_those_who_do(
    authority: Authority, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count from the moment they are accepted, and not once TLS is up."""
    monkeypatch.setattr("soloist.net.link.porch.HANDSHAKE_SECONDS", 3600.0)

    async def main() -> None:
        with ports("a", "b") as two, log_lines() as lines:
            async with Node("b", two, tls=authority.certificate("b")) as b:
                silent = [await asyncio.open_connection(*split(two, "b")) for _ in range(STRANGERS + 10)]
                for reader, _ in silent[:10]:
                    with suppress(ConnectionError):
                        assert await reader.read() == b""
                assert ["have not shown who they are" in line for line in lines] == [True]
                async with Node("a", two, tls=authority.certificate("a")) as a:
                    await connected(a, b)
                    async with a.lock("x", timeout=5):
                        pass
                for _, writer in silent:
                    writer.close()

    run(main(), loop=loop)
