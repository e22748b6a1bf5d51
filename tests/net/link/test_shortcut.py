"""Nodes of one user on one host talk through a Unix socket beside the port; all others over TCP."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import Node
from soloist.net.link import shortcut
from soloist.net.link.porch import Porch
from soloist.net.link.security import address
from soloist.net.link.tcp import TcpTransport
from soloist.testing import connected, eventually, ports, started, tcp_cluster
from tests.net.helpers import LOOPS, Exclusion, Loop, assert_at_rest, log_lines, run
from tests.net.link.certificates import Authority

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has sockets with names but no files"
)


def links(node: Node) -> list[Any]:
    assert isinstance(node.transport, TcpTransport)
    connections = [peer.connection for peer in node.transport.peers.values()]
    return [connection.wire for connection in connections if connection and connection.wire]


def families(*nodes: Node) -> set[int]:
    return {link.get_extra_info("socket").family for node in nodes for link in links(node)}


@pytest.mark.parametrize("loop", LOOPS)
def test_it_is_taken_unless_it_is_declined(loop: Loop) -> None:
    async def main() -> None:
        for wanted, family in ((True, socket.AF_UNIX), (False, socket.AF_INET)):
            async with tcp_cluster("abc", shortcut=wanted, secret="s") as nodes:
                assert families(*nodes) == {family}
                exclusion = Exclusion()
                await asyncio.gather(*(exclusion.visit(node, node.lock("x"), 50) for node in nodes))
                assert len(exclusion.fences) == 150

    run(main(), loop=loop)


def test_one_who_declines_is_reached_over_tcp() -> None:
    async def main() -> None:
        with ports("a", "b") as peers:
            async with Node("a", peers) as a, Node("b", peers, shortcut=False) as b:
                await connected(a, b)
                assert families(a, b) == {socket.AF_INET}

    run(main())


def test_certificates_belong_to_tcp(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        with ports("a", "b") as peers:
            nodes = [Node(name, peers, tls=authority.certificate(name)) for name in peers]
            async with started(nodes) as (a, b):
                await connected(a, b)
                assert families(a, b) == {socket.AF_INET}

    run(main())


@pytest.mark.parametrize("where", ["192.0.2.7:7401", "db.example:7401", "unix:/run/a.sock"])
def test_there_is_none_beyond_this_host_and_beside_a_unix_socket(where: str) -> None:
    assert shortcut.name_of(address(where)) is None
    assert shortcut.connect(address(where)) is None


@pytest.mark.parametrize("loop", LOOPS)
def test_links_that_break_lose_nothing(loop: Loop) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")

    async def cut(nodes: list[Node]) -> None:
        rng = random.Random(seed)
        while True:
            await asyncio.sleep(rng.uniform(0, 0.02))
            if wires := links(rng.choice(nodes)):
                rng.choice(wires).abort()

    async def main() -> None:
        async with tcp_cluster("abc", shortcut=True, algorithm="lamport") as nodes:
            lock = Exclusion()
            cutting = asyncio.create_task(cut(nodes))
            rounds = 0
            while sum(node.transport.reconnects for node in nodes) < 10:  # type: ignore[attr-defined]
                rounds += 1
                await asyncio.gather(*(lock.visit(node, node.lock("x"), 50) for node in nodes))
            cutting.cancel()
            await asyncio.gather(cutting, return_exceptions=True)
            await connected(*nodes)
            assert families(*nodes) == {socket.AF_UNIX}
            assert len(lock.fences) == 150 * rounds
            assert all(a < b for a, b in pairwise(lock.fences))
            await eventually(
                lambda: not any(n.transport.backlog(p) for n in nodes for p in "abc" if p != n.name)
            )
            assert_at_rest(nodes)

    run(main(), 55, loop)


def test_a_stranger_there_is_refused_as_at_the_port() -> None:
    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers, secret="s") as a, Node("b", peers, secret="s") as b:
                await connected(a, b)
                for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x03abc"):
                    sock = shortcut.connect(address(peers["a"]))
                    assert sock
                    sock.send(junk)
                    await eventually(lambda sock=sock: at_end(sock))
                    sock.close()
                assert len(lines) == 2
                assert all("a stranger" in line for line in lines)
                async with b.lock("x", timeout=5):
                    pass

    run(main())


def at_end(sock: socket.socket) -> bool:
    try:
        return sock.recv(100) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False


def test_where_somebody_has_taken_the_name_there_is_tcp() -> None:
    async def main() -> None:
        with ports("a", "b") as peers, socket.socket(socket.AF_UNIX) as squatter:
            squatter.bind(shortcut.name_of(address(peers["b"])) or "")  # but does not listen
            async with Node("a", peers) as a, Node("b", peers) as b:
                await connected(a, b)
                assert families(a, b) == {socket.AF_INET}

    run(main())


def test_another_user_is_not_talked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not dialled, though he listens; and not answered, though he dials."""

    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers) as a, Node("b", peers) as b:
                await connected(a, b)
                ours = shortcut.connect(address(peers["a"]))
                assert ours
                ours.close()
                await eventually(lambda: not a.transport.strangers)  # type: ignore[attr-defined]
                user = shortcut.os.geteuid()
                monkeypatch.setattr(shortcut.os, "geteuid", lambda: user + 1)
                assert shortcut.connect(address(peers["a"])) is None
                with socket.socket(socket.AF_UNIX) as theirs:
                    theirs.connect(shortcut.name_of(address(peers["a"])) or "")
                    theirs.setblocking(False)
                    await eventually(lambda: at_end(theirs))
                assert any("it belongs to another user" in line for line in lines)
                assert not a.missing()

    run(main())


def test_the_name_is_free_again_when_its_process_is_killed() -> None:
    with ports("a") as peers:
        code = f"import asyncio; from soloist import Node\nasync def main():\n await Node('a', {peers!r}).start()\n"
        code += " print('up', flush=True); await asyncio.sleep(60)\nasyncio.run(main())"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == "up\n"
            process.kill()

        async def main() -> None:
            async with Node("a", peers):
                sock = shortcut.connect(address(peers["a"]))
                assert sock
                sock.close()

        run(main())


@pytest.mark.parametrize("too_late", [False, True])
def test_a_node_that_cannot_start_meets_nobody(too_late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its peers would take the next of that name for one that has forgotten its locks."""

    async def main() -> None:
        with ports("a", "b") as peers, socket.socket() as taken:
            async with Node("a", peers) as a:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                taken.bind(("127.0.0.1", address(peers["b"]).port))
                if too_late:  # both have got the port, and the other listens first
                    listen = Porch.listen
                    monkeypatch.setattr(Porch, "listen", lambda porch: (taken.listen(), listen(porch)))
                else:
                    taken.listen()
                    monkeypatch.delattr(Porch, "bind_unix")
                with pytest.raises(UsageError, match="cannot listen"):
                    await Node("b", peers).start()
                assert a.missing() == ["b"]
                assert shortcut.connect(address(peers["b"])) is None

    run(main())


@pytest.mark.parametrize("loop", LOOPS)
def test_where_it_leads_to_nothing_the_next_attempt_is_over_tcp(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may think that a listener belongs to the user who started it, and the listener another thing."""
    monkeypatch.setattr("soloist.net.link.connection.same_user", lambda sock: False)

    async def main() -> None:
        with ports("a", "b") as peers:
            async with Node("a", peers) as a, Node("b", peers) as b:
                await connected(a, b)
                assert families(a, b) == {socket.AF_INET}

    run(main(), loop=loop)
