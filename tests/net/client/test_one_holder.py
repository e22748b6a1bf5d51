"""While a client's hold is valid nobody else has a valid one: addresses that lead to several nodes, what comes late, nodes that end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.net import LockLost, MemoryHub, Node, NodeClosed, connect
from soloist.net.client import contact
from soloist.net.client.greeting import Credentials, Greeting
from soloist.net.client.line import dial
from soloist.net.link.security import address
from soloist.net.link.wire import Frames
from soloist.net.losses import LEASE_OVER
from soloist.net.service.client_port import ClientPort
from soloist.net.service.control import ControlServer
from soloist.net.service.dialogue import Hello, decode_greeting
from soloist.net.service.door import opened
from soloist.testing import crash, eventually, memory_cluster, memory_nodes, ports
from tests.net.client.test_session import LEASE, cut, served
from tests.net.helpers import log_lines, run


class Balancer:
    """One address for several nodes, as a service of Kubernetes is: whoever calls may get any of them."""

    def __init__(self, line: str, pulse: str) -> None:
        self.line, self.pulse = line, pulse

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(65536)
        hello = decode_greeting(next(iter(Frames().feed(first))))
        assert isinstance(hello, Hello)
        where = address(self.pulse if hello.pulse else self.line)
        there, on = await asyncio.open_connection(where.host, where.port)
        on.write(first)
        await asyncio.gather(_pass_on(reader, on), _pass_on(there, writer))

    @classmethod
    @asynccontextmanager
    async def at(cls, where: str, line: str, pulse: str) -> AsyncIterator[Balancer]:
        balancer, here = cls(line, pulse), address(where)
        server = await asyncio.start_server(balancer.connected, here.host, here.port)
        try:
            yield balancer
        finally:
            server.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


def test_only_the_node_that_has_the_hold_can_renew_it() -> None:
    """The connection of the loop comes to another node, that of the renewals to the one before, which knows the session, too."""

    async def scenario() -> None:
        with ports("s") as found:
            async with (
                served("a", "b") as (nodes, servers, (first, second)),
                Balancer.at(found["s"], first, first) as balancer,
                connect(f"soloist://{found['s']}") as client,
            ):
                await (await client.lock("x").acquire_or_raise(None)).release()
                balancer.line = second
                cut(client)
                await eventually(lambda: client.node == "b", "it is at b")
                asked = asyncio.create_task(client.lock("y", on_lost="flag").acquire_or_raise(None))
                await eventually(lambda: any(each.holds for each in servers[1].sessions.values()))
                async with nodes[1].lock("y", timeout=30):  # b has not heard of that client for a lease
                    assert not asked.done() or asked.exception() or not asked.result().valid
                asked.cancel()
                balancer.pulse = second
                async with client.lock("y", timeout=30) as hold:
                    assert hold.valid

    with log_lines():
        run(scenario())


def test_a_new_session_is_good_only_once_its_own_node_has_said_so() -> None:
    async def scenario() -> None:
        with ports("s") as found:
            async with (
                served("a", "b", lease=60) as (_, servers, (first, second)),
                Balancer.at(found["s"], first, first) as balancer,
                connect(f"soloist://{found['s']}") as client,
            ):
                hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
                assert client.contact.session.begun
                servers[1].silent = True  # it acknowledges nothing
                balancer.line = balancer.pulse = second
                cut(client)
                await eventually(lambda: client.node == "b", "it is at b")
                assert not hold.valid
                assert not client.contact.session.begun
                servers[1].silent = False

    with log_lines():
        run(scenario())


def test_a_hello_that_comes_late_takes_nothing_away() -> None:
    async def scenario() -> None:
        async with (
            served("a", lease=60) as (_, (server,), (where,)),
            connect(f"soloist://{where}") as client,
            connect(f"soloist://{where}") as other,
        ):
            line = client.contact.line
            cut(client)
            await eventually(lambda: client.contact.line not in (None, line), "it is back")
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            late = Greeting(Credentials("late"), "there", client.contact.session.key, turn=1)
            here = address(where)
            reader, writer = await asyncio.open_connection(here.host, here.port)
            writer.write(late.hello())
            answer = next(iter(Frames().feed(await reader.read(65536))))
            with pytest.raises(NodeClosed, match="over a later connection"):
                late.heard(answer)
            writer.close()
            assert hold.valid
            assert await other.lock("x").acquire(timeout=0.05) is None
            assert any(each.holds for each in server.sessions.values())

    with log_lines():
        run(scenario())


def test_a_loss_of_which_nobody_was_there_to_hear_is_told_again() -> None:
    """Or it would believe that it holds what an operator has given to somebody else."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            (session,) = server.sessions.values()
            visit, session.visit = session.visit, None  # cut, and neither has found out
            nodes[0].lose("lock:x", hold.fence, "it was broken")
            session.visit = visit
            await asyncio.sleep(0)
            assert hold.valid
            cut(client)
            await eventually(lambda: not hold.valid, "it hears of that when it is back")
            assert "it was broken" in hold.why

    with log_lines():
        run(scenario())


def test_what_is_lost_before_it_could_be_held_is_asked_for_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            server, left = ControlServer(node, "t", {}), 0.0
            server.bounded, server.left = lambda: True, lambda: left  # type: ignore[method-assign]
            await server.start(tmp_path / "s")
            async with connect(f"unix:{tmp_path / 's'}") as client:
                early = asyncio.create_task(client.lock("x").acquire_or_raise(None))
                await eventually(lambda: client.desk.granted, "the node grants it")
                (session,) = server.sessions.values()
                lost = next(iter(session.requests.holds.values())).fence
                node.lose("lock:x", lost, LEASE_OVER)
                left = 60.0
                hold = await early
                assert hold.valid
                assert hold.fence > lost
            await server.close()

    with log_lines():
        run(scenario())


@pytest.mark.parametrize("leased", [True, False])
def test_a_client_on_the_host_knows_that_its_node_has_hung_up_though_its_loop_has_not_turned(
    tmp_path: Path, leased: bool
) -> None:
    """The node lets go at that moment. With a lease it may have acknowledged a renewal just before."""

    async def scenario() -> None:
        async with memory_cluster("a") as (node,):
            server = ControlServer(node, "t", {})
            server.bounded, server.left = lambda: leased, lambda: 60.0  # type: ignore[method-assign]
            await server.start(tmp_path / "s")
            async with connect(f"unix:{tmp_path / 's'}") as client:
                hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
                (session,) = server.sessions.values()
                assert hold.valid
                session.end()
                assert not node.lock("x").locked()
                assert not hold.valid
            await server.close()

    with log_lines():
        run(scenario())


def test_nor_does_it_matter_who_lets_it_go_first(tmp_path: Path) -> None:
    """Whoever is let in by the end of a connection finds that its client knows."""

    async def scenario() -> None:
        found: list[bool] = []
        async with memory_cluster("a") as (node,):
            server = ControlServer(node, "t", {})
            await server.start(tmp_path / "s")
            async with connect(f"unix:{tmp_path / 's'}") as client:
                hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
                (session,) = server.sessions.values()
                released = session.requests.holds[next(iter(session.requests.holds))].release_now

                def look() -> None:
                    found.append(hold.valid)
                    released()

                next(iter(session.requests.holds.values())).release_now = look  # type: ignore[method-assign]
                assert session.visit
                session.visit.hang_up()
                await eventually(lambda: found, "it is released")
            await server.close()
        assert found == [False]

    with log_lines():
        run(scenario())


def test_a_node_that_is_told_to_hurry_waits_for_those_who_still_believe_that_they_hold_something() -> None:
    """A second Ctrl-C: nobody gets time to finish, but a lock is not passed on while a client takes it for its own."""

    async def scenario() -> None:
        async with served("a") as (_, (server,), (where,)):
            client = connect(f"soloist://{where}")
            await client.start()
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            client.contact.closed = True  # what it hears changes nothing
            cut(client)
            hurried = asyncio.Event()
            hurried.set()
            await server.drain(1000, hurried)
            assert not hold.valid
            client.contact.closed = False
            await client.close()

    with log_lines():
        run(scenario())


def test_after_a_kill_a_cluster_that_remembers_nothing_outwaits_the_clients_of_the_process_before() -> None:
    """Without a lease, or with no vote file, nobody else would."""

    async def scenario() -> None:
        with ports("p") as found:
            port = ClientPort(address(found["p"]), 2 * LEASE)
            node = memory_nodes("a")[0]
            server = ControlServer(await node.start(), "t", {})
            server.enter_by(await opened(server, port))
            client = connect(f"soloist://{found['p']}")
            await client.start()
            hold = await client.lock("x", on_lost="flag").acquire_or_raise(None)
            client.contact.closed = True  # it is cut off, and does not find out
            cut(client)
            server.silent = True
            await crash(node)
            again = memory_nodes("a")[0]
            again.serve_others(port.terms.at_voter)
            async with again:
                assert "clients of the process before may hold locks" in again.trouble()
                async with again.lock("x", timeout=30):
                    assert not hold.valid
            client.contact.closed = False
            await client.close()
            await server.close()

    with log_lines():
        run(scenario())


def test_where_nobody_was_before_nobody_is_waited_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        for outwaits in (False, True):
            transport = MemoryHub().transport("a")
            node = Node("a", {"a": ""}, lease=None, data_dir=tmp_path / "a", transport=transport)
            node.serve_others(3600)
            async with node:
                assert node.beginning.open is not outwaits
                assert (node.beginning.outwaits > time.monotonic()) is outwaits

    run(scenario())


def test_what_the_process_before_was_counts_and_not_what_the_next_one_is(tmp_path: Path) -> None:
    """It may be given shorter sessions, or serve nobody: clients of the one before go on believing what that one said."""

    async def scenario() -> None:
        for serves, outwaits, proof in ((3600, False, False), (60, True, False), (None, True, False)):
            transport = MemoryHub().transport("a")
            node = Node("a", {"a": ""}, lease=None, data_dir=tmp_path / "a", transport=transport)
            if serves is not None:
                node.serve_others(serves)
            async with node:
                assert (node.beginning.outwaits > time.monotonic() + 1800) is outwaits
                assert bool(node.beginning.who.previous) is proof
                assert node.beginning.open is not outwaits

    run(scenario())


def test_who_served_nobody_is_proved_to_have_ended_by_the_next_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        for serves, proved in ((True, False), (False, False), (False, True)):
            node = Node(
                "a", {"a": ""}, lease=None, data_dir=tmp_path / "a", transport=MemoryHub().transport("a")
            )
            if serves:
                node.serve_others()
            async with node:
                assert bool(node.beginning.who.previous) is proved

    run(scenario())


def test_what_is_held_elsewhere_is_good_no_longer_than_the_nodes_own_lease() -> None:
    """S2, over the port: the session may last, but the node's peers wait no longer than for the node."""

    async def scenario() -> None:
        async with served("a", lease=60) as (_, (server,), (where,)):
            server.left = lambda: 5.0  # type: ignore[method-assign]
            async with connect(f"soloist://{where}") as client, client.lock("x", timeout=20) as hold:
                assert hold.valid
                assert client.contact.session.left() <= 5.0

    with log_lines():
        run(scenario())


def test_a_body_that_ends_after_its_session_learns_that_though_nobody_has_told_it() -> None:
    async def scenario() -> None:
        async with served("a", lease=60) as (_, _, (where,)), connect(f"soloist://{where}") as client:
            with pytest.raises(LockLost):
                async with client.lock("x", timeout=20):
                    client.contact.session.ended = True

    with log_lines():
        run(scenario())


def test_a_grant_that_was_read_after_the_end_of_its_session_lets_nobody_in() -> None:
    """As after a pause: the grant has waited in the socket for so long that somebody else may be inside. It is asked for again."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            taken = await nodes[1].lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("x").acquire_or_raise(None))
            mine = client.contact
            await eventually(
                lambda: mine.session.begun and any(each.requests.waiting for each in server.sessions.values())
            )
            session, renewal = mine.session, mine._renewal
            assert renewal
            renewal.close()
            late = session.clock() + 3600
            session.clock = lambda: late
            await taken.release()
            await eventually(lambda: client.desk.granted, "the grant has been read")
            assert not asked.done() or asked.result().valid
            mine._heard_of(session)  # as the thread has it said
            async with asyncio.timeout(20):
                hold = await asked
            assert hold.valid
            await hold.release()

    with log_lines():
        run(scenario())


def test_what_was_lost_before_its_client_has_heard_of_the_grant_is_not_granted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The grant went out over a connection that was cut, and was broken before the client is back: that one asks anew."""

    async def scenario() -> None:
        async with (
            served("a", lease=60) as (nodes, (server,), (where,)),
            connect(f"soloist://{where}") as client,
        ):
            taken = await nodes[0].lock("x").acquire_or_raise(None)
            asked = asyncio.create_task(client.lock("x").acquire_or_raise(None))
            await eventually(lambda: any(each.requests.waiting for each in server.sessions.values()))
            (session,) = server.sessions.values()
            back = asyncio.Event()

            async def later(*call: Any) -> Any:
                await back.wait()
                return await dial(*call)

            monkeypatch.setattr(contact, "dial", later)
            cut(client)
            await eventually(lambda: session.visit is None, "it is away")
            await taken.release()
            await eventually(lambda: session.requests.holds, "it is granted all the same")
            (hold,) = session.requests.holds.values()
            nodes[0].lose("lock:x", hold.fence, "it was broken")
            async with nodes[1].lock("x", timeout=10):
                back.set()
                await eventually(lambda: session.visit is not None and client.contact.line)
                await eventually(lambda: asked.done() or session.requests.waiting, "it waits, or has it")
                assert not asked.done() or not asked.result().valid
            async with asyncio.timeout(10):
                assert (await asked).valid

    with log_lines():
        run(scenario())
