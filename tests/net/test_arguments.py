"""What callers may get wrong is said to them, at once, and never gets to a peer."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, Node, NodeClosed, SyncNode, connect
from soloist.net.client.operator import operate
from soloist.net.link.wire import Envelope
from soloist.net.service.control import ControlServer
from soloist.testing import connected, eventually, memory_cluster, memory_nodes, ports, tcp_cluster
from tests.net.helpers import begun, log_lines, run
from tests.net.service.clients import take

NAN = float("nan")

WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bytes for a name": (lambda node: node.lock(b"x"), "name must be a str, not b'x'"),
    "a number for a name": (lambda node: node.rlock(7), "name must be a str, not 7"),
    "no name": (lambda node: node.lock(""), "needs a name"),
    "half a character": (lambda node: node.lock("\ud800"), "UTF-8"),
    "bytes for one of several names": (lambda node: node.locks("x", b"y"), "name must be a str, not b'y'"),
    "bytes for a note": (lambda node: node.lock("x", note=b"n"), "note must be a str, not b'n'"),
    "a list for a note": (lambda node: node.lock("x", note=["n"]), r"note must be a str, not \['n'\]"),
    "a dict for a note": (lambda node: node.semaphore("x", 2, note={}), "note must be a str, not {}"),
    "half a character for a note": (lambda node: node.lock("x", note="\udfff"), "UTF-8"),
    "a long note": (lambda node: node.lock("x", note="n" * 1001), "at most 1000"),
    "true for a value": (lambda node: node.semaphore("g", True), "whole number, not True"),
    "a float for a value": (lambda node: node.semaphore("g", 3.0), r"whole number, not 3\.0"),
    "a word for a value": (lambda node: node.semaphore("g", "3"), "whole number, not '3'"),
    "true for permits": (lambda node: node.semaphore("g", 3, permits=True), "whole number, not True"),
    "a float for permits": (lambda node: node.semaphore("g", 3, permits=2.0), r"whole number, not 2\.0"),
    "a large value": (lambda node: node.semaphore("g", 10_001), "at most 1000 among 2 nodes, not 10001"),
    "a huge value": (lambda node: node.semaphore("g", 2**70), "at most 1000 among 2 nodes"),
    "no number for a timeout": (lambda node: node.lock("x", timeout=NAN), "number of seconds, not nan"),
    "a word for a timeout": (lambda node: node.lock("x", timeout="1"), "number of seconds, not '1'"),
    "true for a timeout": (lambda node: node.lock("x", timeout=True), "number of seconds, not True"),
    "a negative timeout": (lambda node: node.locks("x", timeout=-1), "must not be negative"),
    "no number for all of several": (lambda node: node.locks("x", "y", timeout=NAN), "number of seconds"),
    "a limit that no clock has": (
        lambda node: node.lock("x", max_hold=10**400),
        "max_hold must be a number of seconds above 0",
    ),
    "another way to be told": (lambda node: node.lock("x", on_lost="shout"), "on_lost"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_refused_in_one_line(wrong: str) -> None:
    use, why = WRONG[wrong]
    node, _ = memory_nodes("ab")
    with pytest.raises(UsageError, match=why) as refused:
        use(node)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", WRONG)
def test_threads_are_told_the_same(wrong: str) -> None:
    use, why = WRONG[wrong]
    with ports("a", "b") as peers, SyncNode("a", peers) as node, pytest.raises(UsageError, match=why):
        use(node)


@pytest.mark.parametrize(
    "timeout", [NAN, "1", True, -1, 10**400], ids=["nan", "word", "true", "negative", "huge"]
)
def test_a_timeout_is_looked_at_wherever_it_is_given(timeout: Any) -> None:
    async def main() -> None:
        async with memory_cluster("a") as (node,):
            for lock in (node.lock("x"), node.rlock("y"), node.semaphore("s", 2)):
                with pytest.raises(UsageError, match="timeout must"):
                    await lock.acquire(timeout=timeout)
            async with node.rlock("y") as hold:
                with pytest.raises(UsageError, match="timeout must"):
                    await node.rlock("y").acquire(timeout=timeout)
                hold.check()

    run(main())
    with ports("a") as peers, SyncNode("a", peers) as node, pytest.raises(UsageError, match="timeout must"):
        node.lock("x").acquire(timeout=timeout)


PEERS = {"a": "127.0.0.1:1"}

UNTOLD: dict[str, tuple[Callable[[], Any], str]] = {
    "bytes for a node": (lambda: Node(b"a", PEERS), "a node's name must be a str, not b'a'"),  # type: ignore[arg-type]
    "no node": (lambda: Node("", {"": "127.0.0.1:1"}), "a node's name must not be empty"),
    "half a character": (lambda: Node("\ud800", {"\ud800": "127.0.0.1:1"}), "UTF-8"),
    "a list of peers": (lambda: Node("a", ["a", "b"]), r"peers must be a dict of names and addresses like"),  # type: ignore[arg-type]
    "a number for an address": (lambda: Node("a", {"a": 7400}), "address of 'a' in peers must be a str"),  # type: ignore[dict-item]
    "a pair for an address": (lambda: Node("a", {"a": ("h", 1)}), "address of 'a' in peers must be a str"),  # type: ignore[dict-item]
    "a number among the peers": (lambda: Node("a", {**PEERS, 5: "h:1"}), "a name in peers must be a str, not 5"),  # type: ignore[dict-item]
    "a list to join": (lambda: Node("a", join=["b"], listen="h:1"), "join must be a dict"),  # type: ignore[arg-type]
    "a port to listen at": (lambda: Node("a", PEERS, listen=7400), "listen must be a str, not 7400"),  # type: ignore[arg-type]
    "numbers that vote": (lambda: Node("a", PEERS, voters=[5]), r"voters= is a list of names, not \[5\]"),  # type: ignore[list-item]
    "a number that votes": (lambda: Node("a", PEERS, voters=5), "voters= is a list of names, not 5"),  # type: ignore[arg-type]
    "a number to run": (lambda: Node("a", PEERS, algorithm=5), "algorithm must be a str, not 5"),  # type: ignore[arg-type]
    "bytes for a cluster": (lambda: Node("a", PEERS, cluster=b"c"), "cluster must be a str, not b'c'"),  # type: ignore[arg-type]
    "a path for TLS": (lambda: Node("a", PEERS, tls="a.pem"), "tls must be TLS"),  # type: ignore[arg-type]
    "a number for a secret": (lambda: Node("a", PEERS, secret=4711), "secret must be a str or bytes, not of type int"),  # type: ignore[arg-type]
    "a list for a directory": (lambda: Node("a", PEERS, data_dir=["d"]), "data_dir must be the path of a directory"),  # type: ignore[arg-type]
    "a word for locality": (lambda: Node("a", PEERS, locality="x"), "locality must be a whole number, not 'x'"),  # type: ignore[arg-type]
    "a number for etcd": (lambda: Node("a", PEERS, etcd=5), "etcd must be a list of URLs"),  # type: ignore[arg-type]
    "no transport": (lambda: Node("a", PEERS, transport="tcp"), "transport must be a Transport"),  # type: ignore[arg-type]
    "a number for a URL": (lambda: connect(5), "a URL must be a str or a path, not 5"),  # type: ignore[arg-type]
    "bytes for a URL": (lambda: connect(b"unix:/x"), "a URL must be a str or a path, not b'unix:/x'"),  # type: ignore[arg-type]
    "a node in memory without a name": (lambda: connect("memory:"), "'memory:' names no node"),
    "a number for a program": (lambda: connect("soloist://h:1", program=5), "program must be a str, not 5"),  # type: ignore[arg-type]
    "a list for a secret": (lambda: connect("soloist://h:1", secret=["s"]), "secret must be a str or bytes, not of type list"),  # type: ignore[arg-type]
    "a path for a client's TLS": (lambda: connect("soloist+tls://h:1", tls="a.pem"), "tls must be TLS"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("wrong", UNTOLD)
def test_what_a_node_or_a_client_cannot_be_made_of_is_refused_in_one_line(wrong: str) -> None:
    make, why = UNTOLD[wrong]
    with pytest.raises(UsageError, match=why) as refused:
        make()
    assert "\n" not in str(refused.value)
    assert "4711" not in str(refused.value), "a secret was shown"


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


@pytest.mark.parametrize("timeout", [1, Fraction(1, 2), np.float32(2), float("inf"), 1e300])
def test_what_means_the_same_is_taken_for_it(timeout: Any) -> None:
    """Numbers of other kinds, waits beyond all clocks, and strings that are something else as well."""

    async def main() -> None:
        async with tcp_cluster("ab") as (a, b):
            assert a.semaphore("g", np.int64(3)).instance_name == "semaphore:g"  # type: ignore[arg-type]
            async with a.semaphore("g", np.int64(3), permits=np.uint8(2)) as hold:  # type: ignore[arg-type]
                async with b.semaphore("g", 3, timeout=5):
                    assert await b.semaphore("g", 3).acquire(timeout=0) is None
                hold.check()
            assert a.lock(Colour.RED).instance_name == "lock:red"
            async with a.lock(Colour.RED, note=Colour.RED, timeout=timeout):
                [view] = (await b.inspect("red")).holders
                assert view.note == "red"

    run(main())


def test_wrong_arguments_leave_links_and_plain_locks_alone() -> None:
    """What was made with them once must not come back for others: `True`, `1.0` and 1 are one key to a cache."""

    async def main() -> None:
        async with tcp_cluster("ab") as nodes:
            a, b = nodes
            for value in (True, 1.0, 3.0, b"x", np.float64(2)):
                for use in (a.semaphore, b.semaphore):
                    with pytest.raises(UsageError):
                        use("g", value)  # type: ignore[arg-type]
            for note in (b"n", ["n"], {"n": 1}, 7):
                with pytest.raises(UsageError):
                    a.lock("x", note=note)  # type: ignore[arg-type]
            with pytest.raises(UsageError):
                await a.inspect(b"x")  # type: ignore[arg-type]
            for name in ("x", "y", "z"):
                for node in nodes:
                    async with node.lock(name, timeout=5), node.semaphore(name, 1, timeout=5):
                        assert not (await a.inspect(name)).unreachable
            assert [getattr(node.transport, "reconnects", 0) for node in nodes] == [0, 0]

    run(main())


# The largest semaphore.


def test_the_largest_semaphore_works_and_peers_cannot_ask_for_a_larger_one() -> None:
    async def main() -> None:
        async with memory_cluster("ab", semaphore_algorithm="partitioned") as (a, b):
            assert a.table.most_permits == 1000
            async with a.semaphore("g", 1000), b.semaphore("g", 1000):
                pass
            with log_lines() as lines:
                asking = Envelope("semaphore:huge", 1001, a.epoch, 0, 0, 1001, b"\x92\xa7Request\x01")  # type: ignore[arg-type]
                a.outgoing.sends.append((1, asking))
                a.outgoing.flush_soon()
                await eventually(lambda: lines, "it is refused")
            assert "1000 is the most" in lines[0]
            assert "semaphore:huge" not in b.instances

    run(main())


def test_the_more_nodes_the_smaller_the_largest_semaphore() -> None:
    largest = [
        memory_nodes([f"n{number}" for number in range(nodes)])[0].table.most_permits for nodes in (1, 4, 50)
    ]
    assert largest == [2000, 500, 40]


def test_a_client_of_a_daemon_is_refused_what_is_too_large(tmp_path: Path) -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (node, _):
            server = ControlServer(node, "test", {})
            await server.start(tmp_path / "socket")
            try:
                async with operate(tmp_path / "socket") as client:
                    with pytest.raises(UsageError, match="at most 1000 among 2 nodes, not 30000"):
                        await take(client, "g", value=30_000)
                    with pytest.raises(UsageError, match="number of seconds"):
                        await take(client, "g", timeout=NAN)
                    hold = await take(client, "g", value=2, timeout=5)
                    await hold.release()
            finally:
                await server.close()

    run(main())


# Several at once.


def test_a_try_of_several_gets_free_locks_wherever_they_rest() -> None:
    async def main() -> None:
        async with memory_cluster() as nodes:
            await begun(*nodes)
            names = [f"x{number}" for number in range(12)]  # their tokens start at all nodes
            for node in nodes:
                async with node.locks(*names, timeout=0) as holds:
                    assert sorted(holds) == sorted(names)
            async with nodes[1].lock("x3"):
                with pytest.raises(AcquireTimeout, match="x3") as taken:
                    async with nodes[0].locks("x3", "x1", timeout=0):
                        pytest.fail("one of them was taken")
                assert taken.value.name == "x3"
                async with nodes[2].lock("x1", timeout=5):
                    pass  # none was kept

    run(main())


def test_a_wait_for_several_says_which_did_not_come() -> None:
    async def main() -> None:
        async with memory_cluster() as (a, b, _), b.lock("y"):
            for names, why in (
                (("x", "y"), "x, y were wanted: 'y' was not granted"),
                (("y",), "'y' was"),
            ):
                with pytest.raises(AcquireTimeout, match=why) as late:
                    async with a.locks(*names, timeout=0.5):
                        pytest.fail("one of them was taken")
                assert late.value.name == "y"

    run(main())


def test_threads_try_several_alike() -> None:
    with ports("a", "b") as peers, SyncNode("a", peers) as a, SyncNode("b", peers) as b:
        run(connected(a.node, b.node))
        names = [f"x{number}" for number in range(12)]
        for node in (a, b, a):
            with node.locks(*names, timeout=0) as holds:
                assert sorted(holds) == sorted(names)
        with b.lock("x3"):
            with pytest.raises(AcquireTimeout) as taken, a.locks("x1", "x3", timeout=0):
                pytest.fail("one of them was taken")
            assert taken.value.name == "x3"


# Loops.


def test_a_node_is_used_in_the_loop_that_it_was_started_in() -> None:
    async def main() -> None:
        async with memory_cluster("ab") as (a, _):
            hold = await a.lock("held").acquire()
            assert hold

            async def elsewhere(use: Callable[[], Any]) -> None:
                with pytest.raises(UsageError, match="belongs to another event loop"):
                    await use()

            free, lock, several = a.lock("x"), a.lock("held"), a.locks("x", "y")
            uses: list[Callable[[], Any]] = [
                free.acquire,
                lambda: lock.acquire(timeout=1),
                lambda: free.acquire(timeout=0),
                a.rlock("x").acquire,
                a.semaphore("s", 2, permits=2).acquire,
                several.__aenter__,
                hold.release,
                lambda: a.inspect("x"),
                a.holders,
                a.close,
            ]
            for use in uses:
                await asyncio.to_thread(asyncio.run, elsewhere(use))
            hold.check()
            await hold.release()
            async with free:
                pass

    run(main())


def test_a_node_whose_loop_is_closed_says_so() -> None:
    async def begin() -> Node:
        (node,) = memory_nodes("a")
        await node.start()
        async with node.lock("x"):
            return node

    node = asyncio.run(begin())

    async def later() -> None:
        for use in (node.lock("x").acquire, node.rlock("x").acquire, node.holders):
            with pytest.raises(NodeClosed, match="loop of node 'a' is closed"):
                await use()
        await node.close()
        with pytest.raises(NodeClosed, match="is closed"):
            await node.lock("x").acquire()

    run(later())
