"""A node that is killed on another host is known to be dead long before its lease has run out. Real processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.net import Node
from soloist.net.link.handshake import Who
from soloist.net.link.pulses import Pulses
from soloist.net.link.will import will_of
from soloist.net.member import testament as module
from soloist.net.member.membership import Membership
from soloist.net.member.sentinel import possible
from soloist.testing import eventually, ports, started
from tests.net.helpers import log_lines, run
from tests.net.link.certificates import Authority

pytestmark = pytest.mark.skipif(not possible(), reason="there are no pidfds here")

LEASE = 600.0
"""Seconds: nobody waits for it here."""

HOLDER = """
import asyncio, sys
from soloist import Node
from soloist.net import TLS

async def main():
    sentinel, certificate, authority, *peers = sys.argv[1:]
    tls = TLS(certificate, authority) if certificate else None
    peers = dict(zip("abc", peers))
    options = dict(tls=tls, lease=600.0, shortcut=False, sentinel=sentinel == "True")
    async with Node("c", peers, **options) as node:
        async with node.lock("x") as hold:
            print(hold.fence, flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                break

asyncio.run(main())
"""


@contextmanager
def holder(
    peers: dict[str, str], authority: Authority | None, sentinel: bool
) -> Iterator[subprocess.Popen[str]]:
    tls = authority.certificate("c") if authority else None
    files = [tls.certificate, tls.authority] if tls else ["", ""]
    words = [sys.executable, "-c", HOLDER, str(sentinel), *files, *peers.values()]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def options(authority: Authority | None, name: str) -> dict[str, Any]:
    tls = {"tls": authority.certificate(name)} if authority else {}
    return {"lease": LEASE, "shortcut": False, **tls}


def membership(node: Node) -> Membership:
    assert isinstance(node.beginning, Membership)
    return node.beginning


async def fence_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    return int(await asyncio.to_thread(process.stdout.readline))


@pytest.mark.parametrize("tls", [False, True])
def test_after_a_kill_the_next_one_does_not_wait_for_the_lease(tls: bool, tmp_path: Path) -> None:
    """As between hosts: without the shortcut there is no pidfd."""
    authority = Authority(tmp_path) if tls else None

    async def main() -> None:
        with ports("a", "b", "c") as peers, holder(peers, authority, True) as process, log_lines() as lines:
            nodes = [Node(name, peers, **options(authority, name)) for name in "ab"]
            async with started(nodes):
                fence = await fence_of(process)
                assert all(not membership(node).deaths.processes for node in nodes)
                process.kill()
                async with nodes[0].lock("x", timeout=50) as hold:
                    assert hold.fence > fence
            assert any("c has ended (its sentinel says so)" in line for line in lines)

    run(main(), 90)


def test_switched_off_there_is_none() -> None:
    async def main() -> None:
        with ports("a", "b", "c") as peers, holder(peers, None, False) as process, log_lines():
            nodes = [Node(name, peers, **options(None, name), sentinel=False) for name in "ab"]
            async with started(nodes):
                await fence_of(process)
                assert {membership(node).testament.sentinel for node in nodes} == {None}
                assert {membership(nodes[0]).known[name].will for name in "bc"} == {""}
                process.kill()
                assert await nodes[0].lock("x").acquire(timeout=1) is None

    run(main(), 90)


def test_closed_in_peace_no_will_is_revealed_and_no_sentinel_stays() -> None:
    async def main() -> None:
        heard: list[str] = []
        with ports("a", "b", "c") as peers, log_lines() as lines:
            nodes = [Node(name, peers, **options(None, name)) for name in "abc"]
            async with started(nodes):
                async with nodes[2].lock("x", timeout=50):
                    pass
                sentinels = [membership(node).testament.sentinel for node in nodes]
                nodes[0].transport.on_will = heard.append
                await nodes[2].close()
                async with nodes[0].lock("x", timeout=50):
                    pass
            assert not any(sentinel is None or sentinel.alive for sentinel in sentinels)
            assert heard == []
            assert not [line for line in lines if "has ended" in line]

    run(main(), 90)


def test_who_sees_all_processes_needs_no_sentinel() -> None:
    async def main() -> None:
        with ports("a", "b") as peers:
            nodes = [Node(name, peers, lease=LEASE) for name in "ab"]
            async with started(nodes):
                assert {membership(node).testament.sentinel for node in nodes} == {None}
                assert {membership(node).testament.will for node in nodes} == {""}
                await eventually(lambda: all(membership(node).deaths.processes for node in nodes))

    run(main())


def test_a_will_is_that_of_the_process_whatever_its_incarnation() -> None:
    testament = module.Testament(wanted=False)
    assert testament.will == ""
    who = Who("t", "a", "x", ("a", "b"), "first", 0, will=will_of(b"w" * 32))
    testament.learn(who)
    assert testament.whose(will_of(b"w" * 32)) == "first"
    assert testament.whose(will_of(b"v" * 32)) is None
    assert testament.whose("") is None
    testament.learn(Who("t", "a", "x", ("a", "b"), "second", 0, will=will_of(b"w" * 32)))
    testament.learn(Who("t", "a", "x", ("a", "b"), "third", 0))
    testament.learn(Who("t", "d", "x", ("a", "d"), "daemon", 0, serves=True, will=will_of(b"d" * 32)))
    assert testament.whose(will_of(b"d" * 32)) is None, "its clients may go on"
    assert testament.whose(will_of(b"w" * 32)) == "second"
    assert testament.whose("") is None


def test_without_a_sentinel_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    testament = module.Testament(wanted=True)
    with log_lines() as lines:
        testament.begin()
    assert len(lines) == 1
    assert "there is no sentinel" in lines[0]
    testament.tell(["127.0.0.1:1"])
    testament.close()
    assert testament.descriptors() == []


def test_a_connection_for_renewals_that_comes_late_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only when the next renewal is due, which here is in ten seconds."""
    dial = Pulses._dial

    async def late(self: Pulses, peer: Any) -> None:
        await eventually(lambda: self.owner.meeting.open)  # type: ignore[attr-defined]
        await dial(self, peer)

    monkeypatch.setattr(Pulses, "_dial", late)

    async def main() -> None:
        with ports("a", "b", "c") as peers:
            nodes = [Node(name, peers, lease=LEASE) for name in peers]
            async with started(nodes), nodes[0].lock("x", timeout=8):
                pass

    run(main())
