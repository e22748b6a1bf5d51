"""Leases where there is TLS: renewals have connections of their own, encrypted, and nobody else comes in there."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from soloist.net import TLS, Node
from soloist.net.link.cipher import Encrypted
from soloist.net.link.ciphered import FIRST_BYTE
from soloist.net.link.handshake import Sorry, decode_greeting, hello
from soloist.net.link.tcp import STRANGERS, TcpTransport
from soloist.net.link.wire import Frames, encode, frame
from soloist.testing import connected, eventually, ports, started
from tests.net.helpers import LOOPS, Loop, log_lines, run, split, with_a_lease
from tests.net.link.certificates import Authority
from tests.net.link.test_handshake import Stranger, identity

LEASE, LONG_LEASE = 1.5, 12.0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("keys"))


def pulses(node: Node) -> set[str]:
    peers: set[str] = node.beginning.council.pulse.peers()  # type: ignore[attr-defined]
    return peers


@pytest.mark.parametrize(("loop", "secret"), list(zip(LOOPS, [None, "s"], strict=True)))
def test_a_hold_outlives_its_lease_and_the_sleep_of_all_loops(
    authority: Authority, loop: Loop, secret: str | None
) -> None:
    async def main(lease: float) -> None:
        with ports("a", "b", "c") as peers, log_lines() as lines:
            nodes = [
                Node(name, peers, tls=authority.certificate(name), secret=secret, lease=lease)
                for name in peers
            ]
            async with started(nodes):
                await connected(*nodes)
                async with nodes[0].lock("x", timeout=20) as hold:
                    await eventually(lambda: all(len(pulses(node)) == 2 for node in nodes))
                    time.sleep(2 * lease)
                    assert hold.valid
                async with nodes[1].lock("x", timeout=20) as after:
                    assert after.fence > hold.fence
                assert lines == []

    with_a_lease(lambda lease: run(main(lease), 90, loop), LEASE, LONG_LEASE)


HOLDER = """
import asyncio, sys
from soloist import Node
from soloist.net import TLS

async def main():
    lease, name, certificate, authority, *peers = sys.argv[1:]
    peers = dict(zip("abc", peers))
    async with Node(name, peers, tls=TLS(certificate, authority), lease=float(lease)) as node:
        async with node.lock("x") as hold:
            print(hold.fence, flush=True)
            await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_after_a_killed_holder_the_next_one_comes_in(authority: Authority) -> None:
    async def main(lease: float) -> None:
        with ports("a", "b", "c") as peers, log_lines():
            theirs = authority.certificate("c")
            words = [str(lease), "c", theirs.certificate, theirs.authority, *peers.values()]
            command = [sys.executable, "-c", HOLDER, *words]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
                try:
                    nodes = [Node(each, peers, tls=authority.certificate(each), lease=lease) for each in "ab"]
                    async with started(nodes):
                        assert holder.stdout
                        fence = int(await asyncio.to_thread(holder.stdout.readline))
                        holder.kill()
                        async with nodes[0].lock("x", timeout=40) as hold:
                            assert hold.fence > fence
                finally:
                    holder.kill()

    with_a_lease(lambda lease: run(main(lease), 90), LEASE, LONG_LEASE)


def shake_hands(address: tuple[str, int], tls: TLS) -> tuple[socket.socket, Encrypted]:
    """A connection for renewals, as far as TLS goes; by hand."""
    sock = socket.create_connection(address, timeout=30)
    cipher = Encrypted(tls.client(), "b", server_side=False)
    sock.sendall(FIRST_BYTE + cipher.pending())
    while not cipher.ready:
        said = sock.recv(65536)
        if not said:
            raise ConnectionError
        cipher.decrypt(said)
        sock.sendall(cipher.pending())
    return sock, cipher


def answers(sock: socket.socket, cipher: Encrypted) -> list[object]:
    """All that it says, until it closes the connection."""
    frames, heard = Frames(), []
    with suppress(ConnectionError, ssl.SSLError):
        while said := sock.recv(65536):
            heard += [decode_greeting(body) for body in frames.feed(cipher.decrypt(said))]
    return heard


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "kind", ["another name", "another authority", "not for renewals", "no secret", "a will"]
)
def test_whoever_is_not_who_it_says_is_refused(
    authority: Authority, kind: str, loop: Loop, tmp_path_factory: pytest.TempPathFactory
) -> None:
    me = identity(node="a", members=("a", "b"), secret=b"s")
    tls = authority.certificate("c" if kind == "another name" else "a")
    if kind == "another authority":
        other = Authority(tmp_path_factory.mktemp("other"), "other").certificate("a")
        tls = TLS(other.certificate, str(authority.path))

    def attack(address: tuple[str, int]) -> list[object]:
        with suppress(ConnectionError, ssl.SSLError):
            sock, cipher = shake_hands(address, tls)
            with sock:
                said = encode(hello(me, "b", "", 0, pulse=kind != "not for renewals"))
                if kind == "a will":
                    said = encode(["will", b"w" * 32])
                with suppress(ConnectionError):
                    sock.sendall(cipher.encrypt(frame(said)))
                    if kind == "no secret":
                        sock.sendall(cipher.encrypt(frame(encode(["proof", b"x" * 32]))))
                return answers(sock, cipher)
        return []

    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("b", peers, tls=authority.certificate("b"), secret="s", lease=LEASE) as b:
                heard: list[str] = []
                assert isinstance(b.transport, TcpTransport)
                b.transport.on_will = heard.append
                said = await asyncio.to_thread(attack, split(peers, "b"))
                assert pulses(b) == set()
                await eventually(lambda: not b.transport.strangers)  # type: ignore[attr-defined]
                reasons = [each.why for each in said if isinstance(each, Sorry)]
                assert (
                    reasons
                    == {
                        "another name": ["it calls itself 'a', its certificate says c"],
                        "another authority": [],
                        "not for renewals": ["what is for renewals begins TLS otherwise"],
                        "no secret": ["'a' does not know the secret"],
                        "a will": [],
                    }[kind]
                )
                assert len(heard) == (kind == "a will")
                assert len(lines) == (kind != "a will"), lines

    run(main(), loop=loop)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("said", [b"", b"\x16", b"GET / HTTP/1.1\r\n\r\n", FIRST_BYTE, bytes(100)])
def test_what_is_no_tls_is_refused(authority: Authority, said: bytes, loop: Loop) -> None:
    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("b", peers, tls=authority.certificate("b"), lease=LEASE) as b:
                stranger = await Stranger.to(split(peers, "b"))
                stranger.writer.write(FIRST_BYTE + said)
                stranger.writer.write_eof()
                await stranger.closed()
                await eventually(lambda: not b.transport.strangers)  # type: ignore[attr-defined]
                assert pulses(b) == set()
                assert len(lines) <= 1

    run(main(), loop=loop)


def test_those_who_say_no_more_than_that_make_room_for_those_who_do(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soloist.net.link.porch.HANDSHAKE_SECONDS", 3600.0)
    monkeypatch.setattr("soloist.net.link.connection.HANDSHAKE_SECONDS", 3600.0)

    async def main() -> None:
        with ports("a", "b") as peers, log_lines():
            nodes = [Node(name, peers, tls=authority.certificate(name), lease=LEASE) for name in peers]
            async with nodes[1]:
                silent = [await Stranger.to(split(peers, "b")) for _ in range(STRANGERS + 10)]
                for stranger in silent:
                    stranger.writer.write(FIRST_BYTE)
                async with nodes[0], nodes[0].lock("x", timeout=20):
                    await eventually(lambda: pulses(nodes[1]) == {"a"})
                for stranger in silent:
                    await stranger.close()

    run(main(), 60)


def test_nobody_puts_out_a_connection_of_a_peer_whose_name_it_bears_in_vain(
    authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever could, would cut off renewals, and so end all leases, without a certificate."""
    other = Authority(tmp_path_factory.mktemp("other"), "other").certificate("a")

    def attack(address: tuple[str, int]) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            sock, cipher = shake_hands(address, TLS(other.certificate, str(authority.path)))
            with sock:
                answers(sock, cipher)

    async def main() -> None:
        with ports("a", "b") as peers, log_lines():
            nodes = [Node(name, peers, tls=authority.certificate(name), lease=LEASE) for name in peers]
            async with started(nodes):
                await eventually(lambda: all(map(pulses, nodes)))
                lines = nodes[1].beginning.council.pulse._lines  # type: ignore[attr-defined]
                before = lines["a"]
                for _ in range(5):
                    await asyncio.to_thread(attack, split(peers, "b"))
                for said in (b"", FIRST_BYTE, frame(encode(["pulse", "a"])), FIRST_BYTE + b"x" * 1000):
                    stranger = await Stranger.to(split(peers, "b"))
                    stranger.writer.write(said)
                    stranger.writer.write_eof()
                    await stranger.closed()
                assert lines["a"] is before
                assert not before.lost

    run(main())
