"""The port for clients: who gets in, with what, and what becomes of those who should not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import TLS, AcquireTimeout, Client, Node, NodeClosed, connect
from soloist.net.client import operator
from soloist.net.client.renewal import Renewal
from soloist.net.link.security import address
from soloist.net.link.wire import encode, frame
from soloist.net.service.client_port import ClientPort
from soloist.net.service.control import ControlServer
from soloist.net.service.dialogue import VERSION, Acquire, Hello, Release
from soloist.net.service.door import opened
from soloist.net.service.keys import make_keys
from soloist.net.service.rights import Limits
from soloist.net.service.visit import FRAMES_A_TURN
from soloist.testing import eventually, memory_cluster, ports
from tests.net.client.test_session import cut
from tests.net.helpers import assert_at_rest, log_lines, run

SECRET = b"open sesame"


@asynccontextmanager
async def served(
    limits: Limits | None = None, names: str = "ab", **said: Any
) -> AsyncIterator[tuple[list[Node], ControlServer, str]]:
    """Nodes in memory, and a port for clients at the first."""
    with ports("clients") as addresses:
        where = addresses["clients"]
        async with memory_cluster(names) as nodes:
            server = ControlServer(nodes[0], "t", {})
            door = await opened(server, ClientPort(address(where), said.pop("lease", 10.0), **said), limits)
            server.enter_by(door)
            try:
                yield nodes, server, where
            finally:
                await server.close()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "client.secret"
    path.write_bytes(SECRET + b"\n")
    return path


def test_a_client_with_the_secret_has_locks_and_their_rules(secret_file: Path) -> None:
    async def scenario() -> None:
        async with served(secret_file=secret_file) as (nodes, server, where):
            async with connect(f"soloist://{where}", secret=secret_file.read_text()) as client:
                async with client.lock("x", timeout=5) as hold:
                    assert hold.valid
                    assert 0 < client.contact.session.left() <= 10
                    with pytest.raises(AcquireTimeout):
                        async with nodes[1].lock("x", timeout=0.02):
                            pass
                async with nodes[1].lock("x", timeout=5) as later:
                    assert later.fence > hold.fence
                with pytest.raises(UsageError, match="to break a lock is for the operator"):
                    await client.break_lock("x")
            await eventually(lambda: not server.sessions, "its goodbye has ended its session")
            assert_at_rest(nodes)

    run(scenario())


@pytest.mark.parametrize(
    ("secret", "why"), [(b"wrong", "is not the one of this node"), (None, "wants a client's secret")]
)
def test_without_the_secret_nobody_gets_in(secret: bytes | None, why: str, secret_file: Path) -> None:
    async def scenario() -> None:
        async with served(secret_file=secret_file) as (_, server, where):
            with pytest.raises(NodeClosed, match=why):
                await connect(f"soloist://{where}", secret=secret).start()
            assert not server.sessions

    with log_lines():
        run(scenario())


def test_a_node_that_does_not_know_the_secret_itself_is_not_believed() -> None:
    """It takes any proof, and gives one that it has made up."""

    async def scenario() -> None:
        async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(frame(encode({"type": "challenge", "nonce": b"0" * 16})))
            await reader.read(1000)
            known = {"version": VERSION, "cluster": "t", "node": "a", "pid": 1, "code": b"0" * 32}
            writer.write(frame(encode({"type": "welcome", **known})))
            await reader.read(1000)
            writer.close()
            over.set()

        over = asyncio.Event()

        server = await asyncio.start_server(pretend, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NodeClosed, match="does not know the client's secret itself"):
            await connect(f"soloist://127.0.0.1:{port}", secret=SECRET).start()
        await over.wait()
        server.close()

    run(scenario())


def test_clients_by_name_have_secrets_and_patterns_of_their_own(secret_file: Path) -> None:
    async def scenario() -> None:
        known = {"shop": (secret_file, ("orders/*",))}
        async with served(known=known, allow=()) as (nodes, _, where):
            with pytest.raises(NodeClosed, match="no client is called 'stranger' here"):
                await connect(f"soloist://stranger@{where}", secret=SECRET).start()
            async with connect(f"soloist://shop@{where}", secret=SECRET) as shop:
                async with shop.lock("orders/7", timeout=5):
                    pass
                for use in (shop.lock("stock").acquire(), shop.inspect("stock")):
                    with pytest.raises(UsageError, match=r"may not use 'stock': it is allowed orders/\*"):
                        await use
                async with nodes[0].lock("stock"), shop.lock("orders/8"):
                    assert [view.lock for view in await shop.holders()] == ["lock:orders/8"]

    with log_lines():
        run(scenario())


def test_certificates_name_clients_and_make_no_members(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    make_keys(tmp_path, ["a"], clients=["shop"])
    authority = str(tmp_path / "ca.pem")

    def tls(name: str) -> TLS:
        return TLS(str(tmp_path / f"{name}.pem"), authority, str(tmp_path / f"{name}.key"))

    async def scenario() -> None:
        known = {"shop": (None, ("orders/*",))}
        async with served(tls=tls("a"), known=known) as (_, _, where):
            url = f"soloist+tls://{where}"
            async with connect(url, tls=tls("client-shop")) as shop:
                async with shop.lock("orders/7", timeout=5) as hold:
                    assert hold.valid
                with pytest.raises(UsageError, match="client 'shop' may not use 'stock'"):
                    await shop.lock("stock").acquire()
            with pytest.raises(NodeClosed, match="its certificate names no client"):
                await connect(url, tls=tls("a")).start()
            with pytest.raises(NodeClosed):
                await connect(f"soloist://{where}").start()
        async with served(tls=tls("client-shop")) as (_, _, where):
            with pytest.raises(NodeClosed, match="TLS"):  # a client's certificate is good for no node
                await connect(f"soloist+tls://{where}", tls=tls("client-shop")).start()

    with log_lines():
        run(scenario())


def test_nobody_goes_on_in_the_session_of_another_client(tmp_path: Path) -> None:
    """Whoever has learned its number: it is no secret to who may read the memory of a node."""

    async def scenario() -> None:
        for name in ("shop", "till"):
            (tmp_path / name).write_text(name)
        known = {name: (tmp_path / name, ("*",)) for name in ("shop", "till")}
        async with (
            served(known=known) as (_, server, where),
            connect(f"soloist://shop@{where}", secret="shop") as shop,
        ):
            hold = await shop.lock("x").acquire_or_raise(None)
            till = connect(f"soloist://till@{where}", secret="till")
            (till.contact._place,) = till.target.places
            session = till.contact.session
            session.key, session.node, session.turn = shop.contact.session.key, "a", 5
            with pytest.raises(NodeClosed, match="belongs to another client"):
                await till.start()
            renewal = Renewal(session, address(where), till.contact.who, None, lambda: None)
            with pytest.raises(NodeClosed, match="there is no such session"):
                await asyncio.to_thread(renewal._converse)
            renewal.close()
            assert hold.valid
            assert len(server.sessions) == 1
            await hold.release()

    with log_lines():
        run(scenario())


def test_who_never_gets_through_tls_is_a_stranger_like_others(tmp_path: Path) -> None:
    """asyncio says nothing of them; each has one of the node's files."""
    pytest.importorskip("cryptography")
    make_keys(tmp_path, ["a"], clients=["shop"])
    authority = str(tmp_path / "ca.pem")
    node, client = (
        TLS(str(tmp_path / f"{name}.pem"), authority, str(tmp_path / f"{name}.key"))
        for name in ("a", "client-shop")
    )

    async def scenario() -> None:
        async with served(Limits(strangers=4), tls=node) as (_, server, where):
            host, _, port = where.rpartition(":")
            silent = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
            turned_away = [asyncio.create_task(reader.read()) for reader, _ in silent]
            await eventually(lambda: sum(task.done() for task in turned_away) == 16, "all but the last")
            assert len(server.doors[0].strangers) == 4
            async with connect(f"soloist+tls://{where}", tls=client) as shop, shop.lock("x", timeout=20):
                assert len(server.doors[0].strangers) <= 4
            for task, (_, writer) in zip(turned_away, silent, strict=True):
                task.cancel()
                writer.close()


def test_a_client_s_certificate_makes_nobody_a_member(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    make_keys(tmp_path, ["a"], clients=["b"])

    def tls(name: str) -> TLS:
        return TLS(*(str(tmp_path / file) for file in (f"{name}.pem", "ca.pem", f"{name}.key")))

    async def scenario() -> None:
        with ports("a", "b") as peers, log_lines() as lines:
            async with Node("a", peers, tls=tls("a")) as a, Node("b", peers, tls=tls("client-b")):
                refused = "it calls itself 'b', its certificate says nothing"
                await eventually(lambda: any(refused in line for line in lines), "b has called a")
                await eventually(
                    lambda: any("unsuitable certificate" in line for line in lines), "a has called b"
                )
                assert a.missing() == ["b"]

    run(scenario())


def test_a_client_of_which_no_secret_is_known_is_told_so(secret_file: Path) -> None:
    async def scenario() -> None:
        known = {"shop": (None, ("*",))}
        async with served(secret_file=secret_file, known=known) as (_, _, where):
            with pytest.raises(NodeClosed, match="client 'shop' has no secret here"):
                await connect(f"soloist://shop@{where}", secret=SECRET).start()

    with log_lines():
        run(scenario())


def test_a_lease_that_nobody_can_give_is_refused_in_words() -> None:
    async def scenario() -> None:
        async with served() as (_, server, where):
            with pytest.raises(NodeClosed, match=r"lease must be a number of seconds, 0\.5 or more"):
                await connect(f"soloist://{where}", lease=0.01).start()
            assert not server.sessions

    with log_lines():
        run(scenario())


def by_name(secret_file: Path, *names: str) -> dict[str, tuple[Path, tuple[str, ...]]]:
    return dict.fromkeys(names, (secret_file, ("*",)))


def test_limits_are_said(secret_file: Path) -> None:
    limits = Limits(connections=6, strangers=2, waiting=2, holds=3)

    async def scenario() -> None:
        known = by_name(secret_file, "one", "other")
        async with served(limits, known=known) as (_, server, where):
            url = f"soloist://other@{where}"
            async with (
                connect(f"soloist://one@{where}", secret=SECRET) as client,
                connect(url, secret=SECRET) as other,
            ):
                holds = [await client.lock(f"x{number}").acquire() for number in range(3)]
                with pytest.raises(
                    UsageError, match="hold 3 locks at a time, and client 'one' has reached that"
                ):
                    await client.lock("x3").acquire()
                waiting = [asyncio.create_task(other.lock("x0").acquire()) for _ in range(2)]
                account = server.doors[0].accounts["client 'other'"]
                await eventually(lambda: account.waiting == 2)
                with pytest.raises(UsageError, match="have 2 requests that wait, and client 'other' has"):
                    await other.lock("x1").acquire()
                with pytest.raises(UsageError, match="have 2 requests that wait, and client 'other' has"):
                    await other.inspect("x1")
                for task in waiting:
                    task.cancel()
                await eventually(lambda: account.waiting == 0)
                async with connect(url, secret=SECRET), connect(url, secret=SECRET):
                    await eventually(lambda: len(server.doors[0].visits) == 6, "with those for renewals")
                    with pytest.raises(NodeClosed, match="serves 6 connections"):
                        await connect(url, secret=SECRET).start()
                assert all(hold and hold.valid for hold in holds)
            await eventually(lambda: not server.doors[0].visits)
            assert all(each.nothing(epoch=-1) for each in server.doors[0].accounts.values())

    with log_lines():
        run(scenario())


def test_who_has_much_and_has_been_at_work_for_long_says_so_in_one_frame() -> None:
    """In numbers of their own, a thousand million requests later, they would not fit in."""

    async def scenario() -> None:
        async with (
            served(limits=Limits(frame=1024), lease=60) as (nodes, server, where),
            connect(f"soloist://{where}") as client,
        ):
            client.desk.next = count(10**9).__next__
            holds = [await client.lock(f"x{number}").acquire_or_raise(None) for number in range(200)]
            taken = await nodes[0].lock("y").acquire_or_raise(None)
            waiting = [asyncio.create_task(client.lock("y").acquire_or_raise(None)) for _ in range(100)]
            (session,) = server.sessions.values()
            await eventually(lambda: len(session.requests.waiting) == len(waiting))
            line = client.contact.line
            cut(client)
            await eventually(lambda: client.contact.line not in (None, line), "it is back")
            assert all(hold.valid for hold in holds)
            assert len(session.requests.waiting) == len(waiting)
            await taken.release()
            for each in waiting:
                await (await each).release()

    with log_lines():
        run(scenario())


def test_one_client_leaves_room_for_others(secret_file: Path) -> None:
    """However many connections it opens, over which it holds and wants as much as it can."""
    limits = Limits(share=2, waiting=2, holds=2, names=3)

    async def scenario() -> None:
        async with served(limits, known=by_name(secret_file, "many", "few")) as (_, _, where):
            url = f"soloist://many@{where}"
            async with AsyncExitStack() as stack:
                first = await stack.enter_async_context(connect(url, secret=SECRET))
                await first.lock("x").acquire_or_raise(None)
                second = await stack.enter_async_context(connect(url, secret=SECRET))
                with pytest.raises(NodeClosed, match="may have 2 connections, and client 'many' has"):
                    await connect(url, secret=SECRET).start()
                await second.contact.close()
                second = await stack.enter_async_context(connect(url, secret=SECRET))
                async with first.lock("y"):
                    with pytest.raises(UsageError, match="may hold 2 locks"):
                        await second.lock("z").acquire()
                async with first.lock("z"):
                    pass
                with pytest.raises(UsageError, match="bring in 3 names until a change of view"):
                    await first.lock("one more").acquire()
                async with first.lock("z"):  # it is there already
                    pass
                async with connect(f"soloist://few@{where}", secret=SECRET) as few, few.lock("one more"):
                    pass

    with log_lines():
        run(scenario())


def test_who_never_begins_tls_is_counted_and_has_to_go(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    make_keys(tmp_path, ["a"], clients=["shop"])

    def tls(name: str) -> TLS:
        return TLS(*(str(tmp_path / file) for file in (f"{name}.pem", "ca.pem", f"{name}.key")))

    async def scenario() -> None:
        async with served(Limits(strangers=3), tls=tls("a")) as (_, server, where):
            host, _, port = where.rpartition(":")
            silent = [await asyncio.open_connection(host, int(port)) for _ in range(8)]
            for reader, _ in silent[:5]:
                assert await reader.read() == b""
            assert len(server.doors[0].visits) == len(server.doors[0].strangers) == 3
            async with connect(f"soloist+tls://{where}", tls=tls("client-shop")) as client, client.lock("x"):
                assert len(server.doors[0].strangers) == 2, "the oldest made room"
            for _, writer in silent:
                writer.close()
            await eventually(lambda: not server.doors[0].visits)

    with log_lines():
        run(scenario())


def test_who_sends_much_at_once_lets_others_have_their_turn() -> None:
    async def scenario() -> None:
        async with served() as (_, server, where), connect(f"soloist://{where}") as other:
            await other.lock("x").acquire()  # its session has begun
            host, _, port = where.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(frame(encode(Hello(VERSION, session=b"s" * 16))))
            await eventually(lambda: b"s" * 16 in server.sessions)
            session, turn, handled = server.sessions[b"s" * 16], 0, Counter[int]()

            async def others() -> None:
                nonlocal turn
                while True:
                    turn += 1
                    await asyncio.sleep(0)

            session.requests.release = lambda number: handled.update([turn])  # type: ignore[method-assign]
            task = asyncio.create_task(others())
            writer.write(b"".join(frame(encode(Release(number))) for number in range(5000)))
            await eventually(lambda: handled.total() == 5000, "it gets all that it asked for")
            assert max(handled.values()) <= FRAMES_A_TURN
            async with other.lock("y"):
                task.cancel()
            writer.close()

    with log_lines():
        run(scenario())


def test_what_is_withdrawn_before_it_was_begun_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with served() as (nodes, server, where):
            async with connect(f"soloist://{where}") as client:
                await client.inspect("x")
                (session,) = server.sessions.values()
                asked = Acquire(1000, "s", 3, 2)
                client.contact.write(frame(encode(asked)) + frame(encode(Release(1000))))
                await client.inspect("x")
                assert session.requests.live() == ()
                assert session.account.waiting == 0
                await server.drain(0.01)
            assert_at_rest(nodes)

    with log_lines():
        run(scenario())


def test_how_a_node_is_is_for_its_operator() -> None:
    async def scenario() -> None:
        async with served() as (_, _, where), connect(f"soloist://{where}") as client:
            with pytest.raises(UsageError, match="to see how a node is is for the operator"):
                await operator.status(client)

    run(scenario())


def test_a_hand_over_between_clients_of_a_node_costs_no_message_between_nodes() -> None:
    async def scenario() -> None:
        async with served() as (nodes, _, where):
            url = f"soloist://{where}"
            async with connect(url) as one, connect(url) as other:
                turns: list[str] = []

                async def work(client: Client, name: str) -> None:
                    for _ in range(20):
                        async with client.lock("x"):
                            turns.append(name)
                            await asyncio.sleep(0)

                await work(one, "before")
                sent = [node.stats.messages_sent for node in nodes]
                await asyncio.gather(work(one, "one"), work(other, "other"))
                assert [node.stats.messages_sent for node in nodes] == sent
                changes = sum(a != b for a, b in pairwise(turns))
                assert changes > 20, "they took turns"

    run(scenario())


def test_a_number_that_is_used_again_at_once_is_another_request() -> None:
    """The first one is granted and withdrawn before anybody was told, and its number asks for something else."""

    async def scenario() -> None:
        async with served() as (nodes, server, where):
            async with connect(f"soloist://{where}"):
                first, second = [await nodes[0].lock(name).acquire_or_raise(None) for name in "xy"]
                (session,) = server.sessions.values()
                session.say = lambda reply: None  # type: ignore[method-assign]
                session.requests.acquire(Acquire(5, "x"))
                first.release_now()
                session.requests.release(5)
                session.requests.acquire(Acquire(5, "y"))
                await second.release()
                await eventually(lambda: session.requests.holds, "it has what it asked for last")
                assert session.requests.holds[5].name == "y"
                assert session.account.waiting == 0
            for name in "xy":
                async with nodes[1].lock(name, timeout=5):
                    pass
            assert_at_rest(nodes)

    with log_lines():
        run(scenario())
