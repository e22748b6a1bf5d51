"""Sessions of clients elsewhere: cut connections, silence, another node; and those of this host, which end at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from soloist.net import AcquireTimeout, LockLost, Node, NodeClosed, connect, connect_sync
from soloist.net.client import contact
from soloist.net.client.client import Client
from soloist.net.client.line import Line, dial
from soloist.net.link.security import address
from soloist.net.service.client_port import ClientPort
from soloist.net.service.control import ControlServer
from soloist.net.service.door import opened
from soloist.testing import FaultProxy, eventually, memory_cluster, ports, until
from tests.net.helpers import assert_at_rest, log_lines, run, settled, stop
from tests.net.service.daemons import cluster, held

LEASE = 1.0


@asynccontextmanager
async def served(
    *at: str, lease: float = LEASE
) -> AsyncIterator[tuple[list[Node], list[ControlServer], list[str]]]:
    """Nodes a and b in memory, and ports for clients at these."""
    async with AsyncExitStack() as stack:
        addresses = stack.enter_context(ports(*at))
        nodes = await stack.enter_async_context(memory_cluster("ab"))
        servers = []
        for node in [node for node in nodes if node.name in at]:
            server = ControlServer(node, "t", {})
            stack.push_async_callback(server.close)
            server.enter_by(await opened(server, ClientPort(address(addresses[node.name]), lease)))
            servers.append(server)
        yield nodes, servers, [addresses[name] for name in at]


@asynccontextmanager
async def proxied(where: str) -> AsyncIterator[tuple[FaultProxy, str]]:
    """A proxy before an address, and its own. What a test that fails left open would fail another one, long afterwards."""
    proxy = FaultProxy(where)
    try:
        yield proxy, await proxy.start()
    finally:
        await proxy.close()


def cut(client: Client) -> None:
    """The connection of its loop ends, without a word."""
    assert client.contact.line
    client.contact.line.transport.abort()


def test_a_cut_connection_costs_no_hold_and_no_place_in_the_queue() -> None:
    async def scenario() -> None:
        async with served("a", lease=60) as (nodes, (server,), (where,)):
            async with connect(f"soloist://{where}") as client, connect(f"soloist://{where}") as other:
                taken = await other.lock("y").acquire_or_raise(None)
                async with client.lock("x") as hold, client.semaphore("s", 3, permits=2) as several:
                    waiting = asyncio.create_task(client.lock("y").acquire_or_raise(None))
                    await eventually(lambda: any(each.requests.waiting for each in server.sessions.values()))
                    for _ in range(3):
                        line = client.contact.line
                        cut(client)
                        await eventually(
                            lambda line=line: client.contact.line not in (None, line), "it is back"
                        )  # type: ignore[misc]
                        assert hold.valid
                        assert several.valid
                        assert await other.lock("x").acquire(timeout=0.01) is None
                    assert not waiting.done()
                    await taken.release()
                    await (await waiting).release()
                async with other.lock("x", timeout=5) as later:
                    assert later.fence > hold.fence
            await eventually(lambda: not server.sessions)
            await settled(nodes)
            assert_at_rest(nodes)

    with log_lines():
        run(scenario())


def test_what_was_released_meanwhile_is_released_there_too() -> None:
    async def scenario() -> None:
        async with (
            served("a", lease=60) as (_, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            hold = await client.lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("x").acquire_or_raise(None))
            await eventually(lambda: any(each.requests.waiting for each in server.sessions.values()))
            cut(client)
            asked.cancel()
            await hold.release()
            async with client.lock("x", timeout=10) as later:
                assert later.fence > hold.fence

    with log_lines():
        run(scenario())


def test_what_was_released_after_the_hello_is_released_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is being made, and its hello has said what the client has: that is so no more when it is welcome."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            taken = await nodes[0].lock("y").acquire_or_raise(None)
            hold = await client.lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("y").acquire_or_raise(None))
            await eventually(lambda: any(each.requests.waiting for each in server.sessions.values()))

            async def gives_up_meanwhile(*call: Any) -> Any:
                found = await dial(*call)
                await hold.release()
                asked.cancel()
                await asyncio.wait({asked})
                return found

            monkeypatch.setattr(contact, "dial", gives_up_meanwhile)
            cut(client)
            async with nodes[1].lock("x", timeout=10) as later:
                assert later.fence > hold.fence
            await taken.release()
            async with nodes[1].lock("y", timeout=10):
                pass

    with log_lines():
        run(scenario())


def test_who_is_cancelled_when_it_has_just_been_welcome_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with served("a", lease=60) as (_, (server,), (where,)):
            starting = asyncio.create_task(connect(f"soloist://{where}").start())
            greeted = Line._greeted

            def welcome(line: Line, body: memoryview) -> None:
                greeted(line, body)
                if line.welcomed.done():
                    starting.cancel()

            monkeypatch.setattr(Line, "_greeted", welcome)
            with pytest.raises(asyncio.CancelledError):
                await starting
            await eventually(lambda: not any(door.visits for door in server.doors), "nobody is there", 10)

    with log_lines():
        run(scenario())


def test_a_client_that_is_silent_for_longer_than_its_session_loses_what_it_held() -> None:
    async def scenario() -> None:
        async with served("a") as (nodes, _, (where,)):
            client = connect(f"soloist://{where}")
            await client.start()
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            contact = client.contact
            assert contact._renewal
            contact.closed = True  # it dials no more
            contact._renewal.close()
            cut(client)
            assert hold.valid
            async with nodes[1].lock("x", timeout=30) as later:  # though nobody said that it is free
                assert not hold.valid
                assert later.fence > hold.fence
            with pytest.raises(LockLost):
                hold.check()
            contact.closed = False
            await client.close()

    with log_lines():
        run(scenario())


def test_through_another_node_nothing_is_kept_and_work_goes_on() -> None:
    async def scenario() -> None:
        async with (
            served("a", "b", lease=60) as (_, servers, (first, second)),
            connect(f"soloist://{first},{second}") as client,
        ):
            assert client.node == "a"
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            wanted = asyncio.create_task(client.lock("x", on_lost="flag").acquire_or_raise(None))
            await eventually(lambda: any(each.requests.waiting for each in servers[0].sessions.values()))
            await servers[0].close()
            async with asyncio.timeout(20):
                await hold.lost.wait()
                later = await wanted
            assert client.node == "b"
            assert "knows nothing of it" in hold.why
            assert later.fence > hold.fence
            await later.release()

    with log_lines():
        run(scenario())


def test_from_a_node_that_hangs_who_waits_goes_on_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """It hangs before anything was held: so there is no session that could be over."""
    monkeypatch.setattr("soloist.net.client.contact.USELESS_SECONDS", 0.3)
    monkeypatch.setattr("soloist.net.client.line.GREETING_SECONDS", 0.3)

    async def scenario() -> None:
        async with (
            served("a", "b", lease=60) as (_, _, (first, second)),
            proxied(first) as (proxy, between),
            connect(f"soloist://{between},{second}") as client,
        ):
            assert client.node == "a"
            proxy.stop()
            async with client.lock("x"):
                assert client.node == "b"

    with log_lines():
        run(scenario())


def test_from_a_node_that_lets_nobody_in_who_waits_goes_on_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has no lease, says so, and grants what nobody may hold."""
    monkeypatch.setattr("soloist.net.client.contact.USELESS_SECONDS", 0.3)

    async def scenario() -> None:
        async with served("a", "b", lease=60) as (_, servers, (first, second)):
            servers[0].left = lambda: 0.0  # type: ignore[method-assign]
            async with connect(f"soloist://{first},{second}") as client:
                assert client.node == "a"
                waiting = [asyncio.create_task(client.lock(name).acquire_or_raise(None)) for name in "xy"]
                await eventually(lambda: len(client.desk.unsure) == 2, "they are granted")
                holds = await asyncio.gather(*waiting)
                assert client.node == "b"
                assert all(hold.valid for hold in holds)

    with log_lines():
        run(scenario())


def test_behind_one_address_there_may_be_several_nodes() -> None:
    """As with a balancer, or a name with several addresses: what one of them acknowledges says nothing of another's grants."""

    async def scenario() -> None:
        async with (
            served("a", "b") as (nodes, servers, (first, second)),
            proxied(first) as (balancer, between),
            connect(f"soloist://{between}") as client,
        ):
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            waiting = asyncio.create_task(client.lock("x").acquire_or_raise(None))
            await eventually(lambda: any(each.requests.waiting for each in servers[0].sessions.values()))
            balancer.target = second
            cut(client)  # the connection for renewals stays where it was
            await hold.lost.wait()
            later = await waiting
            assert client.node == "b"
            assert later.fence > hold.fence
            assert await nodes[0].lock("x").acquire(timeout=3 * LEASE) is None, "b goes on to hear of it"
            assert later.valid
            balancer.target = first
            cut(client)  # a may still have a session of it, and must not take it for this one
            await eventually(lambda: client.node == "a" and client.contact.line)
            assert not later.valid
            async with client.lock("x", timeout=30) as last:
                assert last.fence > later.fence

    with log_lines():
        run(scenario(), seconds=60)


def test_a_timeout_is_one_where_nothing_that_is_granted_is_worth_anything() -> None:
    async def scenario() -> None:
        async with served("a") as (_, (server,), (where,)), connect(f"soloist://{where}") as client:
            server.left = lambda: 0.0  # type: ignore[method-assign]
            with pytest.raises(AcquireTimeout, match=r"not granted within .* its node has no lease"):
                await client.lock("x").acquire_or_raise(0.05)
            await eventually(lambda: not any(each.holds for each in server.sessions.values()), "given back")

    with log_lines():
        run(scenario())


def test_a_first_renewal_may_take_its_time() -> None:
    """Over a slow link: each word takes longer than the pause between two renewals."""

    async def scenario() -> None:
        async with served("a", lease=10) as (_, _, (where,)), proxied(where) as (proxy, between):
            proxy.delay(0.3)
            async with connect(f"soloist://{between}") as client, client.lock("x", timeout=20) as hold:
                assert hold.valid

    with log_lines():
        run(scenario())


def test_with_a_node_that_has_forgotten_it_a_session_begins_anew() -> None:
    """It may be another process, with another lease: what the old one has acknowledged counts no more."""

    async def scenario() -> None:
        async with served("a", lease=60) as (_, (server,), (where,)), connect(f"soloist://{where}") as client:
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            before = client.contact.session
            assert before.begun
            (there,) = server.sessions.values()
            there.end()
            await hold.lost.wait()
            assert "has it no more" in hold.why
            await eventually(lambda: client.contact.session is not before)
            async with client.lock("x") as later:
                assert later.fence > hold.fence

    with log_lines():
        run(scenario())


POLITE = """
    import sys, time, soloist
    with soloist.connect_sync(sys.argv[1]) as client, client.lock("x", timeout=60) as hold:
        last = asked = time.monotonic()
        print("holds", flush=True)  # from now on it may be stopped, even before it has looked once
        while hold.valid:
            last, asked = asked, time.monotonic()
        print(last, flush=True)
        client.lock("y", timeout=60).acquire()
        print("again", flush=True)
        time.sleep(1000)
"""


@asynccontextmanager
async def polite(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(POLITE), url, stdout=PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("how", ["client paused", "cut", "cut one way", "reset"])
def test_no_two_believe_that_they_hold_it_whatever_is_paused_or_cut(how: str) -> None:
    """A client in a process of its own, elsewhere by a proxy: from then on a member gets the lock, and not before."""

    async def scenario() -> None:
        async with (
            served("a") as (nodes, _, (where,)),
            proxied(where) as (proxy, between),
            polite(f"soloist://{between}") as process,
        ):
            assert process.stdout
            assert await process.stdout.readline() == b"holds\n"
            if how == "client paused":
                process.send_signal(signal.SIGSTOP)
            elif how == "reset":
                proxy.refusing = True
                proxy.reset()
            else:
                proxy.stop(*(["back"] if how == "cut one way" else []))  # type: ignore[list-item]
            async with nodes[1].lock("x", timeout=60):
                had = time.monotonic()
                process.send_signal(signal.SIGCONT)
                last = float(await process.stdout.readline())
                assert last <= had
            proxy.heal()
            assert await process.stdout.readline() == b"again\n"

    with log_lines():
        run(scenario(), seconds=120)


def test_a_node_that_stops_waits_for_those_whom_it_cannot_reach() -> None:
    async def scenario() -> None:
        async with served("a") as (_, (server,), (where,)):
            client = connect(f"soloist://{where}")
            await client.start()
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            client.contact.closed = True  # what it hears changes nothing
            cut(client)
            await server.drain(0.01)
            assert not hold.valid
            client.contact.closed = False
            await client.close()

    with log_lines():
        run(scenario())


HOLDER = """
    import sys, time, soloist
    with soloist.connect_sync(sys.argv[1]) as client, client.lock("x") as hold:
        print("holds", flush=True)
        while hold.valid:
            time.sleep(0.01)
        print("lost", flush=True)
        time.sleep(1000)
"""


def holder(url: str) -> Popen[bytes]:
    process = Popen([sys.executable, "-c", textwrap.dedent(HOLDER), url], stdout=PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"holds\n"
    return process


def test_of_a_client_on_the_host_that_is_killed_nothing_stays_behind() -> None:
    with cluster("a", "b") as found:
        client = holder(f"unix:{found.directory / 't-a.sock'}")
        client.kill()
        with connect_sync(f"{found.directory / 'cluster.toml'}#b") as other, other.lock("x", timeout=30):
            pass
        stop(client)


def test_a_daemon_that_is_killed_or_stopped_leaves_no_client_that_believes_it_holds() -> None:
    """With a lease: stopped, the daemon is out-waited, and its client finds out by the clock before that."""
    more = 'lease = 2\ndata_dir = "data-{name}"\n'
    with cluster("a", "b", "c", more=more) as found:
        clients = [holder(f"unix:{found.directory / f't-{name}.sock'}") for name in "a"]
        os.kill(found.daemons["a"].pid, signal.SIGSTOP)
        with connect_sync(f"unix:{found.directory / 't-b.sock'}") as other, other.lock("x", timeout=40):
            assert clients[0].stdout
            assert clients[0].stdout.readline() == b"lost\n"
        os.kill(found.daemons["a"].pid, signal.SIGCONT)
        killed = holder(f"unix:{found.directory / 't-b.sock'}")
        found.daemons["b"].kill()
        assert killed.stdout
        assert killed.stdout.readline() == b"lost\n"
        with connect_sync(f"unix:{found.directory / 't-c.sock'}") as other, other.lock("x", timeout=40):
            assert other.holders()
        stop(*clients, killed)


def test_without_patience_those_who_wait_are_told_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            server = ControlServer(node, "t", {})
            await server.start(tmp_path / "s")
            async with Client(f"unix:{tmp_path / 's'}", patience=0) as client, node.lock("x"):
                waiting = asyncio.create_task(client.lock("x").acquire())
                await eventually(lambda: any(each.requests.waiting for each in server.sessions.values()))
                await server.close()
                with pytest.raises(NodeClosed, match="is gone"):
                    await waiting

    with log_lines():
        run(scenario())


def test_who_waits_outlasts_a_node_without_a_lease(tmp_path: Path) -> None:
    """Nothing may be held while the node has none, at first or in between; but nobody is sent away."""

    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            server, left = ControlServer(node, "t", {}), 0.0
            server.bounded, server.left = lambda: True, lambda: left  # type: ignore[method-assign]
            await server.start(tmp_path / "s")
            async with Client(f"unix:{tmp_path / 's'}", patience=0) as client:
                early = asyncio.create_task(client.lock("x").acquire_or_raise(None))
                session = client.contact.session
                await eventually(lambda: client.desk.granted, "the node grants it")
                await eventually(lambda: session._state.number > 2, "it is not worth anything")
                assert not early.done()
                left = 1.0
                hold = await early
                assert hold.valid
                late = asyncio.create_task(client.lock("x").acquire_or_raise(None))
                await eventually(lambda: len(client.desk.wanted) == 1, "somebody waits")
                left = 0.0
                await eventually(lambda: client.contact.session is not session, "its session is over")
                left = 60.0
                assert (await late).valid
                assert not hold.valid
                assert client.contact.line
            await server.close()

    with log_lines():
        run(scenario())


def test_processes_that_use_it_come_to_their_end(tmp_path: Path) -> None:
    with cluster("a") as found:
        client = holder(f"unix:{found.directory / 't-a.sock'}")
        assert held(found, "x")
        client.terminate()
        client.wait()
        until(lambda: not held(found, "x"), "it is free")
        stop(client)


def test_a_thread_that_is_told_to_let_go_does() -> None:
    """As a task does: else its node, which is being stopped, waits for it."""

    async def scenario() -> None:
        async with served("a", lease=60) as (nodes, (server,), (where,)):
            entered, checked = threading.Event(), threading.Event()

            def work() -> None:
                with connect_sync(f"soloist://{where}") as client:
                    with suppress(LockLost), client.lock("x") as hold:
                        entered.set()
                        assert hold.lost.wait(20)
                    checked.wait(20)

            working = asyncio.create_task(asyncio.to_thread(work))
            await eventually(entered.is_set)
            (session,) = server.sessions.values()
            session.evict("its node is being stopped")
            try:
                await eventually(lambda: not session.requests.holds, "it has let go", 10)
                async with nodes[1].lock("x", timeout=5):
                    pass
            finally:
                checked.set()
                await working

    with log_lines():
        run(scenario())
