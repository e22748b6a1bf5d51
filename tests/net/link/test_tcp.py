"""Real sockets that break: no message lost, none twice, no lock lost."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, LockError, Node
from soloist.net.link import shortcut
from soloist.net.link.tcp import LAST_RETRY, TcpTransport
from soloist.net.link.wire import MAX_FRAME, Envelope
from soloist.testing import FaultProxy, connected, crash, eventually, ports, started, tcp_cluster
from tests.net.helpers import LOOPS, Exclusion, Loop, assert_at_rest, log_lines, run


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes on one host would not use TCP (`test_shortcut.py` is about that), or might come past a proxy."""
    monkeypatch.setattr(shortcut, "name_of", lambda address: None)
    monkeypatch.setattr("soloist.net.link.tcp.PATIENCE_SECONDS", 3600)


@asynccontextmanager
async def through_proxies(
    names: str, seed: int, **options: Any
) -> AsyncIterator[tuple[list[Node], list[FaultProxy]]]:
    """A cluster in which every connection goes through a proxy of its own."""
    pairs = [(a, b) for a in names for b in names if a < b]  # of two, the first by name dials
    with ports(*names, *(a + b for a, b in pairs)) as places:
        proxies = {pair: FaultProxy(places[pair[1]], seed) for pair in pairs}
        for (a, b), proxy in proxies.items():
            await proxy.start(places[a + b])
        nodes = []
        for name in names:
            peers = {each: places.get(name + each, places[each]) for each in names}
            nodes.append(Node(name, peers, **options))
        try:
            async with started(nodes):
                await connected(*nodes)
                yield nodes, list(proxies.values())
        finally:
            for proxy in proxies.values():
                await proxy.close()


async def cut_now_and_then(proxies: list[FaultProxy], rng: random.Random) -> None:
    while True:
        await asyncio.sleep(rng.uniform(0, 0.03))
        proxy = rng.choice(proxies)
        if rng.random() < 0.5:
            proxy.reset()
        else:
            proxy.reset_after(rng.randrange(1, 400))


def tcp(node: Node) -> TcpTransport:
    assert isinstance(node.transport, TcpTransport)
    return node.transport


@pytest.mark.smoke
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("algorithm", ["naimi-trehel", "ricart-agrawala", "lamport"])
def test_connections_cut_anywhere_lose_nothing(algorithm: str, loop: Loop) -> None:
    """Lamport's needs links in order, the token must not be lost, and a reply counted twice would let two in."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")

    async def main() -> None:
        rng = random.Random(seed)
        async with through_proxies("abc", seed, algorithm=algorithm) as (nodes, proxies):
            lock, semaphore = Exclusion(), Exclusion(most=2)
            cutting = asyncio.create_task(cut_now_and_then(proxies, rng))
            rounds = 0
            while sum(proxy.resets for proxy in proxies) <= 5:  # a fast machine is done before much is cut
                rounds += 1
                await asyncio.gather(
                    *(lock.visit(node, node.lock("x"), 60) for node in nodes for _ in range(2)),
                    *(semaphore.visit(node, node.semaphore("s", 2), 20) for node in nodes),
                )
            cutting.cancel()
            await asyncio.gather(cutting, return_exceptions=True)
            assert len(lock.fences) == 360 * rounds
            assert all(a < b for a, b in pairwise(lock.fences))
            await connected(*nodes)
            await eventually(lambda: all(not tcp(node).backlog(p) for node in nodes for p in tcp(node).peers))
            assert sum(node.stats.messages_sent for node in nodes) == sum(
                node.stats.messages_received for node in nodes
            )
            assert sum(tcp(node).reconnects for node in nodes) > 0
            assert_at_rest(nodes)

    run(main(), 55, loop)


def test_a_holder_does_not_notice_that_its_connections_break() -> None:
    async def main() -> None:
        async with through_proxies("ab", 1) as ((a, b), (proxy,)):
            async with a.lock("x") as hold:
                waiter = asyncio.create_task(b.lock("x").acquire())
                for _ in range(5):
                    proxy.reset()
                    await eventually(lambda: b.missing() == [] == a.missing())
                assert hold.valid
                assert not waiter.done()
            taken = await waiter
            assert taken
            assert taken.fence > hold.fence
            await taken.release()

    run(main())


def test_what_was_acknowledged_is_not_kept() -> None:
    async def main() -> None:
        async with through_proxies("ab", 1) as ((a, b), _):
            for node in (a, b) * 100:
                async with node.lock("x"):
                    pass
            await eventually(lambda: not tcp(a).backlog("b") and not tcp(b).backlog("a"))
            assert not tcp(a).peers["b"].backlog

    run(main())


def test_a_peer_that_does_not_read_makes_new_requests_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.net.engine.outgoing.HIGH_WATER", 2000)

    async def main() -> None:
        with ports("nobody") as nowhere:
            async with through_proxies("ab", 1, algorithm="lamport") as ((a, b), (proxy,)):
                await eventually(lambda: a.beginning.open)
                target, proxy.target = proxy.target, nowhere["nobody"]
                proxy.reset()
                await eventually(lambda: a.missing() == ["b"])
                tasks = [asyncio.create_task(a.lock(f"x{i}" * 50, timeout=0.5).acquire()) for i in range(50)]
                await eventually(lambda: tcp(a).backlog("b") > 2000)
                before = tcp(a).backlog("b")
                assert await a.lock("more", timeout=0.1).acquire() is None
                assert "lock:more" not in a.instances
                assert tcp(a).backlog("b") == before
                assert await asyncio.gather(*tasks) == [None] * 50
                proxy.target = target
                async with a.lock("more", timeout=10), b.lock("x1" * 50, timeout=10):
                    pass

    run(main())


# Late starters.


@pytest.mark.smoke
def test_a_late_starter_is_waited_for_and_named() -> None:
    async def main() -> None:
        with ports("a", "b", "c") as peers:
            async with Node("a", peers, algorithm="lamport") as a, Node("b", peers, algorithm="lamport") as b:
                await eventually(lambda: a.missing() == b.missing() == ["c"])
                with pytest.raises(AcquireTimeout, match="not seen yet: c"):
                    async with a.lock("x", timeout=0.05):
                        pass
                waiters = [asyncio.create_task(node.lock("x").acquire()) for node in (a, b)]
                await asyncio.sleep(1.5)
                assert not any(waiter.done() for waiter in waiters)
                async with Node("c", peers, algorithm="lamport") as c:
                    first = await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
                    for waiter in (*first[0], *first[1]):
                        hold = await waiter
                        assert hold
                        await hold.release()
                    async with c.lock("x", timeout=10):
                        pass

    run(main())


def test_a_restarted_peer_is_refused_and_the_others_go_on() -> None:
    """It has forgotten what it knew, a token perhaps: without a lease, to let it in could let two in."""

    async def main() -> None:
        with ports("a", "b", "c") as peers:
            async with Node("a", peers, lease=None) as a, Node("b", peers, lease=None) as b:
                c = await Node("c", peers, lease=None).start()
                await connected(a, b, c)
                for node in (c, a, b):
                    async with node.lock("x"):
                        pass
                await crash(c)
                await eventually(lambda: a.missing() == b.missing() == ["c"])
                with log_lines() as lines:
                    async with Node("c", peers, lease=None) as again:
                        await eventually(lambda: len(lines) >= 4)
                        assert all("'c' was started again" in line for line in lines)
                        assert sorted(line.split(":")[0] for line in lines) == ["a", "b", "c", "c"]
                        assert a.missing() == b.missing() == ["c"]
                        with pytest.raises(
                            AcquireTimeout, match=r"'c' was started again .* restart 'a', too"
                        ):
                            async with again.lock("x", timeout=0.1):
                                pass
                for node in (a, b):
                    async with node.lock("x", timeout=10):
                        pass

    run(main())


def test_a_peer_that_is_refused_is_one_line_however_often_it_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soloist.net.link.tcp.LAST_RETRY", 0.02)

    async def main() -> None:
        with ports("a", "b") as peers:
            async with Node("b", peers) as b:
                a = await Node("a", peers).start()
                await connected(a, b)
                await crash(a)
                await eventually(lambda: b.missing() == ["a"])
                with log_lines() as lines:
                    accepted = tcp(b).peers["a"].connections
                    made = []
                    monkeypatch.setattr(tcp(b), "made", lambda connection: made.append(connection))
                    async with Node("a", peers):
                        await eventually(lambda: len(made) >= 10)
                    assert sorted(line.split(":")[0] for line in lines) == ["a", "b"], lines
                    assert all("'a' was started again" in line for line in lines)
                    assert tcp(b).peers["a"].connections == accepted

    run(main())


def test_a_peer_that_refuses_is_called_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pauses are counted, not waited for."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def counted(delay: float) -> None:
        task = asyncio.current_task()
        if task and task.get_name() == "dial b":
            pauses.append(delay)
            delay = 0
        await sleep(delay)

    async def main() -> None:
        with ports("a", "b") as peers, log_lines():
            async with Node("b", peers) as b:
                a = await Node("a", peers).start()
                await connected(a, b)
                await crash(a)
                await eventually(lambda: b.missing() == ["a"])
                monkeypatch.setattr(asyncio, "sleep", counted)
                async with Node("a", peers):
                    await eventually(lambda: len(pauses) >= 10)

    run(main())
    assert pauses[0] == 0
    assert pauses == sorted(pauses)
    assert all(after >= 2 * before for before, after in pairwise(pauses[:6]))
    assert pauses[-1] == LAST_RETRY


def test_what_cannot_be_read_breaks_the_lock_it_is_about_and_nothing_else() -> None:
    """It used to be sent again without end, since nothing that came after it could be acknowledged."""

    async def main() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers) as a, Node("b", peers) as b:
                for node in (a, b):
                    for name in "xy":
                        async with node.lock(name, timeout=10):
                            pass
                async with a.lock("x", timeout=10):
                    waiting = asyncio.create_task(b.lock("x").acquire())
                    await eventually(lambda: b.instances["lock:x"].waiting)
                    bad: Any = 3.5
                    sent = Envelope("lock:x", 1, a.epoch, bad, 0, 0, msgspec.Raw(b"\xc0"))
                    tcp(a).peers["b"].send([sent], [])
                    with pytest.raises(LockError, match=r"'x' is broken: .* cannot be read"):
                        await waiting
                with pytest.raises(LockError, match=r"'x' is broken: .* cannot be read"):
                    await a.lock("x").acquire(timeout=5)
                for node in (a, b):
                    async with node.lock("y", timeout=10):
                        pass
                assert tcp(a).reconnects == tcp(b).reconnects == 0
        assert len(lines) == 3, "where it was read, and once for each end of the lock"
        assert all("cannot be read" in line for line in lines)

    run(main())


def test_a_peer_that_should_call_and_does_not_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be that only one of two can reach the other."""
    monkeypatch.setattr("soloist.net.link.tcp.PATIENCE_SECONDS", 0.05)

    async def main() -> None:
        with ports("a", "b", "nobody") as places:
            peers = {name: places[name] for name in "ab"}
            async with Node("a", peers | {"b": places["nobody"]}) as a, Node("b", peers) as b:
                await connected(a, b)
                for node in (a, b):
                    async with node.lock("x", timeout=10):
                        pass

    run(main())


# Ends.


@pytest.mark.smoke
@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_said_last_arrives_before_a_node_closes(loop: Loop) -> None:
    """A token passed on in the last moment must not be lost with the connection."""

    async def once(a: Node, b: Node) -> None:
        await connected(a, b)
        hold = await b.lock("x").acquire()
        assert hold
        heard = b.stats.messages_received
        waiter = asyncio.create_task(a.lock("x").acquire())
        await eventually(lambda: b.stats.messages_received > heard)
        await hold.release()
        await b.close()
        taken = await waiter
        assert taken
        await taken.release()

    async def main() -> None:
        for _ in range(10):
            with ports("a", "b") as peers:
                async with Node("a", peers) as a, Node("b", peers) as b:
                    await once(a, b)

    run(main(), loop=loop)


def test_closing_does_not_wait_long_for_a_peer_that_does_not_answer() -> None:
    async def main() -> None:
        async with through_proxies("ab", 1) as ((a, b), (proxy,)):
            proxy.refusing = True
            proxy.reset()
            await eventually(lambda: a.missing())
            task = asyncio.create_task(b.lock("x").acquire())
            await eventually(lambda: task.done() or tcp(b).backlog("a"), "b has it, or has asked a for it")
            async with asyncio.timeout(10):
                await a.close()
                await b.close()
            await asyncio.gather(task, return_exceptions=True)

    run(main())


@pytest.mark.smoke
def test_a_great_many_requests_in_one_turn_fit_into_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame has a limit, and what is said in one turn has none."""
    monkeypatch.setattr("soloist.net.engine.inquiry.ASK_SECONDS", 50)  # a busy machine needs more than one

    async def main() -> None:
        name = "n" * 900
        with ports("a", "b") as peers:
            nodes = [Node(each, peers, algorithm="ricart-agrawala") for each in peers]
            async with started(nodes) as (a, b):
                await connected(a, b)
                with log_lines() as lines:
                    count = MAX_FRAME // len(name) + 1000
                    locks = [a.lock(f"{name}{i}") for i in range(count)]
                    holds = await asyncio.gather(*(lock.acquire() for lock in locks))
                    assert all(holds)
                    assert len([view for view in await b.holders() if view.holding]) == count
                    for hold in holds:
                        assert hold
                        await hold.release()
                assert lines == []
                assert tcp(a).reconnects == 0

    run(main(), 55)


# Unix sockets, and places to listen at.


@pytest.mark.smoke
def test_peers_on_one_host_may_use_unix_sockets(tmp_path: Path) -> None:
    async def main() -> None:
        with ports("c") as far:
            peers = {"a": f"unix:{tmp_path}/a.sock", "b": f"unix:{tmp_path}/b.sock", **far}
            async with started([Node(name, peers, secret="s") for name in peers]) as nodes:
                await connected(*nodes)
                assert stat.S_ISSOCK(os.stat(tmp_path / "b.sock").st_mode)
                exclusion = Exclusion()
                await asyncio.gather(*(exclusion.visit(node, node.lock("x"), 50) for node in nodes))
        assert list(tmp_path.iterdir()) == []

    run(main())


def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))

    async def main() -> None:
        async with Node("a", {"a": f"unix:{path}"}) as node, node.lock("x", timeout=5):
            pass

    run(main())


def test_a_socket_in_use_and_a_file_are_left_alone(tmp_path: Path) -> None:
    path, file = tmp_path / "a.sock", tmp_path / "file"
    file.write_text("precious")

    async def main() -> None:
        async with Node("a", {"a": f"unix:{path}"}):
            with pytest.raises(UsageError, match="somebody listens there"):
                await Node("a", {"a": f"unix:{path}"}).start()
            assert path.exists()
        with pytest.raises(UsageError, match="is no socket"):
            await Node("a", {"a": f"unix:{file}"}).start()

    run(main())
    assert file.read_text() == "precious"


def test_a_port_in_use_is_named() -> None:
    async def main() -> None:
        with ports("a") as peers:
            async with Node("a", peers):
                with pytest.raises(UsageError, match=f"cannot listen at {peers['a']}"):
                    await Node("a", peers).start()

    run(main())


def test_a_socket_sends_at_once_and_asks_who_is_silent_and_connections_are_logged() -> None:
    async def main() -> None:
        with log_lines(logging.INFO) as lines, ports("a", "b") as peers:
            async with Node("a", peers) as a, Node("b", peers) as b:
                await connected(a, b)
                for node, peer in ((a, "b"), (b, "a")):
                    connection = tcp(node).peers[peer].connection
                    assert connection
                    assert connection.wire
                    sock = connection.wire.get_extra_info("socket")
                    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    if hasattr(socket, "TCP_USER_TIMEOUT"):
                        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
                    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                    if hasattr(socket, "TCP_KEEPIDLE"):  # two hours, unless it is told
                        idle = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
                        assert [sock.getsockopt(socket.IPPROTO_TCP, option) for option in idle] == [3, 2, 3]
            assert "a: connected to b" in lines
            assert "b: connected to a" in lines

    run(main())


def test_a_session_is_put_aside_and_taken_up_again_but_never_begun_twice() -> None:
    """A view may name an older incarnation of a peer than the one that is connected, until the next view comes."""

    async def go() -> None:
        async with tcp_cluster("ab") as (a, b):
            for node in (a, b, a, b):
                async with node.lock("x"):
                    pass
            transport = a.transport
            there = transport.incarnation("b")
            assert there
            transport.expect({"b": "an older one"})
            transport.expect({"b": there})
            for node in (a, b, a, b):
                async with node.lock("x", timeout=20):
                    pass

    run(go())


def test_a_warning_is_one_line_however_often_it_is_given() -> None:
    async def main() -> list[str]:
        async with tcp_cluster("a") as (node,):
            transport = node.transport
            assert isinstance(transport, TcpTransport)
            with log_lines() as lines:
                for number in range(5):
                    transport.warn("somebody without the secret called", f"127.0.0.1:{number}")
                transport.warn("something else")
        return lines

    assert run(main()) == [
        "a: somebody without the secret called (127.0.0.1:0)",
        "a: something else",
    ]
