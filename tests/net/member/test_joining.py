"""Nodes that join a cluster which is there, and leave it: real processes over TCP, and nodes in memory.

Where nothing may depend on out-waiting anybody the lease is ten minutes, far beyond every watchdog.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout, ConfigMismatch, MemoryHub, Node
from soloist.net.engine.ticket import FENCE_BITS
from soloist.net.link.tcp import TcpTransport
from soloist.net.member.council import Council
from soloist.net.member.membership import Membership
from soloist.testing import Contend, Worker, Workers, eventually, ports, started, until
from tests.net.helpers import log_lines, run

FOR_EVER = 600.0
SECONDS = 120
"""Nothing takes that long; a test that waits for it has failed."""
PEERS = dict.fromkeys("abc", "")


# In one process.


def memory(hub: MemoryHub, name: str, peers: dict[str, str] | None = PEERS, **options: Any) -> Node:
    return Node(name, peers, transport=hub.transport(name), **{"lease": FOR_EVER, **options})


def test_a_newcomer_is_taken_in_and_what_is_held_goes_on() -> None:
    async def go() -> None:
        hub = MemoryHub()
        async with started([memory(hub, name) for name in "abc"]) as (a, b, _):
            held = await b.lock("x").acquire_or_raise(None)
            async with memory(hub, "d", None, join={"a": ""}) as d:
                assert await d.lock("x").acquire(timeout=0.1) is None
                await held.release()
                hold = await d.lock("x").acquire_or_raise(None)
                assert hold.fence > held.fence
                assert d.members == a.members == list("abcd")
            await eventually(lambda: a.members == b.members == list("abc"), "d has left")
            assert (await a.lock("x").acquire_or_raise(None)).fence > hold.fence

    run(go(), SECONDS)


def test_who_is_there_first_waits_for_the_beginning_and_says_so() -> None:
    async def go() -> None:
        hub = MemoryHub()
        async with memory(hub, "d", None, join={"a": ""}) as d, memory(hub, "a"):
            await eventually(lambda: "has not begun yet" in d.trouble(), "it says why it waits")
            async with started([memory(hub, name) for name in "bc"]) as (b, _):
                assert await d.lock("x").acquire_or_raise(None)
                assert b.members == list("abcd")

    run(go(), SECONDS)


def test_who_leaves_before_it_is_a_member_is_not_taken_in() -> None:
    async def go() -> None:
        hub = MemoryHub()
        async with started([memory(hub, name) for name in "ab"]) as (a, b):
            d = await memory(hub, "d", None, join={"a": ""}, lease=FOR_EVER).start()
            assert "not a member yet" in d.trouble()
            await d.close()
            async with memory(hub, "c"):
                await eventually(lambda: a.epoch and a.members == b.members == list("abc"), "it has begun")
                async with memory(hub, "e", None, join={"b": ""}) as e:
                    await eventually(lambda: e.members == list("abce"), "e is in, and d is not")

    run(go(), SECONDS)


def test_newcomers_with_another_lease_or_algorithm_are_told() -> None:
    async def go() -> None:
        hub = MemoryHub()
        async with started([memory(hub, name) for name in "abc"]):
            for options in ({"lease": 5.0}, {"algorithm": "raymond-tree"}):
                async with memory(hub, "d", None, join={"a": ""}, **options) as d:
                    with pytest.raises(ConfigMismatch, match="'d' and 'a' do not fit"):
                        await d.lock("x").acquire_or_raise(10)

    run(go(), SECONDS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give peers= to begin a cluster, or join= to join one"),
        ({"peers": {"d": "h:1"}, "join": {"a": "h:2"}}, "give peers= or join=, not both"),
        ({"join": {"a": "h:2"}}, "join= needs address="),
        ({"join": {}, "listen": "h:1"}, "join= names members that are there"),
        ({"join": {"d": "h:2"}, "listen": "h:1"}, "other than 'd'"),
        ({"join": {"a": "h:2"}, "listen": "0.0.0.0:7400"}, "listen='0.0.0.0:7400' is no address that others"),
        ({"join": {"a": "h:2"}, "address": "[::]:7400"}, "address='[::]:7400' is no address that others"),
        ({"join": {"a": "nowhere"}, "listen": "h:1"}, "'nowhere' should read HOST:PORT"),
        ({"join": {"a": "h:2"}, "listen": "h:1"}, "h:1 is not on this host: give tls= or secret="),
        ({"peers": {"d": "h:1"}, "address": "h:2"}, "address= goes with join="),
        ({"peers": {"d": "h:1"}, "voters": ["x"]}, "voters= names 'x', which is not among the peers"),
        ({"peers": {"d": "h:1"}, "voters": "d"}, "voters= is a list of names"),
        ({"peers": {"d": "h:1"}, "voters": []}, "voters= names nobody"),
        ({"peers": {"d": "h:1"}, "voters": ["d"], "lease": None}, "voters= needs a lease"),
        ({"join": {"a": "h:2"}, "listen": "h:1", "voters": ["d"]}, "voters= goes with peers="),
        ({"peers": {"d": "h:1"}, "voter_only": True, "lease": None}, "voter_only= needs a lease"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as found:
        Node("d", **{"lease": 10.0, "data_dir": tmp_path, **options})
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_a_seed_that_cannot_be_reached_is_named_by_status_and_timeouts(tmp_path: Path) -> None:
    async def go() -> None:
        with ports("a", "d") as where:
            node = Node("d", join={"a": where["a"]}, listen=where["d"], lease=10, data_dir=tmp_path)
            async with node:
                await eventually(lambda: "refused" in node.trouble(), "it has been tried")
                assert f"nobody answers: a ({where['a']}: Connection refused)" in node.trouble()
                with pytest.raises(AcquireTimeout, match="this node is not a member yet: nobody answers: a"):
                    await node.lock("x").acquire_or_raise(0.05)

    run(go(), SECONDS)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_addresses_of_every_kind(host: str, tmp_path: Path) -> None:
    """IPv4, IPv6, and names; one listens everywhere, and says by which name it is found."""

    async def go() -> None:
        with ports("a", "b") as where:
            a, b = (f"{host}:{where[name].rpartition(':')[2]}" for name in "ab")
            anywhere = a.replace(host, "[::]" if host == "[::1]" else "0.0.0.0")
            more: dict[str, Any] = {"lease": FOR_EVER, "secret": "s"}
            one = Node("a", {"a": a}, listen=anywhere, data_dir=tmp_path / "a", **more)
            two = Node("b", join={"a": a}, listen=b, data_dir=tmp_path / "b", **more)
            async with one, two:
                assert await two.lock("x").acquire_or_raise(None)
                assert one.members == ["a", "b"]
                assert one.beginning.roster
                assert one.beginning.roster.roll() == {"a": (a, "member, votes"), "b": (b, "member")}

    run(go(), SECONDS)


def test_who_has_left_is_not_called_any_more(tmp_path: Path) -> None:
    async def go() -> None:
        with ports(*"abcd") as where:
            peers = {name: where[name] for name in "abc"}
            nodes = [Node(n, peers, lease=FOR_EVER, data_dir=tmp_path / n) for n in peers]
            async with started(nodes) as (a, _, c):
                async with Node(
                    "d", join={"c": where["c"]}, listen=where["d"], lease=FOR_EVER, data_dir=tmp_path / "d"
                ) as d:
                    await d.lock("x").acquire_or_raise(None)
                    await eventually(lambda: "d" in called(a) & council(a).pulse.peers(), "a has met d")
                await eventually(lambda: a.members == list("abc") and "d" not in called(a), "d is forgotten")
                await eventually(lambda: "c" in council(a).pulse.peers(), "a would hear c's goodbye")
                await c.close()  # a voter, and told of by its user
                await eventually(lambda: a.members == list("ab") and called(a) == {"b"}, "so is c")
                assert (a.missing(), a.trouble()) == ([], "")
                async with Node("c", peers, lease=FOR_EVER, data_dir=tmp_path / "c") as c:
                    assert await c.lock("x").acquire_or_raise(None)
                    await eventually(lambda: called(a) == {"b", "c"}, "c is back")

    run(go(), SECONDS)


def test_of_two_with_one_name_the_second_is_told(tmp_path: Path) -> None:
    async def go() -> None:
        with ports("a", "d", "e") as where:
            a = Node("a", {"a": where["a"]}, lease=FOR_EVER, data_dir=tmp_path / "a")

            def newcomer(place: str) -> Node:
                seeds = {"a": where["a"]}
                return Node("d", join=seeds, listen=where[place], lease=FOR_EVER, data_dir=tmp_path / place)

            async with a, newcomer("d") as d:
                hold = await d.lock("x").acquire_or_raise(None)
                async with newcomer("e") as other:
                    words = f"another node is called 'd', at {where['d']}"
                    await eventually(lambda: words in other.trouble(), "the second knows")
                    assert hold.valid
                    assert d.missing() == []
                assert a.members == ["a", "d"]

    run(go(), SECONDS)


def council(node: Node) -> Council:
    assert isinstance(node.beginning, Membership)
    return node.beginning.council


def called(node: Node) -> set[str]:
    """Those whom it dials whenever they are not there."""
    assert isinstance(node.transport, TcpTransport)
    return {peer.name for peer in node.transport.peers.values() if peer.dialling}


# Real processes.


async def members(worker: Worker) -> tuple[list[str], str]:
    return worker.node.members, worker.node.trouble()


def fence_of(workers: Workers, name: str, lock: str) -> int:
    fence = workers.grab(name, lock)[lock]
    assert isinstance(fence, int), fence
    return fence


@contextmanager
def crew(names: str = "abc", **options: Any) -> Iterator[tuple[Workers, dict[str, Any]]]:
    """Workers, and what a newcomer d is to be told who knows one of them."""
    with ports("d") as own, Workers(names, **options) as workers:
        assert workers._peers
        seed = names[-1]
        yield workers, {"join": {seed: workers._peers(seed)[seed]}, "listen": own["d"]}


def test_join_leave_and_join_again() -> None:
    with crew(lease=FOR_EVER) as (workers, told):
        before = fence_of(workers, "a", "x")
        workers.hire("d", **told)
        workers.hear("d")
        other = fence_of(workers, "d", "y")
        assert other >> FENCE_BITS > before >> FENCE_BITS
        assert str(workers.grab("d", "x", timeout=0.2)["x"]).startswith("AcquireTimeout")
        workers.end("d")
        assert (last := fence_of(workers, "b", "y")) > other
        until(lambda: workers.do("a", members) == (list("abc"), ""), "nobody misses d")
        workers.free("b", "y")
        workers.restart("d")
        assert fence_of(workers, "d", "y") > last
        assert not [each for found in workers.findings().values() for each in found.problems]


def test_a_newcomer_that_was_killed_while_it_held_joins_again() -> None:
    """Started again on its data it proves that it was dead."""
    with crew(lease=FOR_EVER, sentinel=False) as (workers, told):
        workers.hire("d", **told)
        workers.hear("d")
        killed = fence_of(workers, "d", "x")
        workers.restart("d")
        assert fence_of(workers, "b", "x") > killed
        assert fence_of(workers, "d", "y") > killed
        assert not [each for found in workers.findings().values() for each in found.problems]


def test_all_that_began_leave_to_those_who_came() -> None:
    """Whoever is there works on as long as a majority of the voters can be asked."""
    with crew("ab", lease=FOR_EVER) as (workers, told):
        workers.hire("d", **told)
        workers.hear("d")
        workers.begin(Contend("x", entries=None, inside=0.001), ["a", "b", "d"])
        seen = workers.count()
        until(lambda: workers.count() > seen + 50, "they contend")
        workers.halt(["a", "b"])
        workers.end("a")
        workers.restart("a")
        workers.begin(Contend("x", entries=20), ["a"])
        workers.hear("a")
        workers.halt(["d"])
        assert not [each for found in workers.findings().values() for each in found.problems]


# Another peers map.


def test_a_node_with_other_peers_is_warned_of_once_on_both_sides(tmp_path: Path) -> None:
    async def go() -> None:
        with ports(*"abcd") as where, log_lines() as lines:
            old, new = ({name: where[name] for name in names} for names in ("abc", "abcd"))

            def node(name: str, peers: dict[str, str]) -> Node:
                return Node(name, peers, lease=FOR_EVER, data_dir=tmp_path / name)

            async with started([node(name, old) for name in "abc"]) as (a, b, c):
                held = await a.lock("x").acquire_or_raise(None)
                await c.close()
                async with started([node("c", new), node("d", new)]) as (c, d):
                    await eventually(lambda: d.epoch and c.members == list("abcd"), "both are in")
                    assert await d.lock("x").acquire(timeout=0.1) is None
                    await held.release()
                    assert (await d.lock("x").acquire_or_raise(None)).fence > held.fence
                    assert b.members == list("abcd")
            said = [line for line in lines if "different peers" in line]
            for one, other in ("ac", "ca", "bc", "cb", "ad", "da"):
                low, high = sorted((one, other))
                words = f"{one}: different peers: {high!r} alone counts 'd'; who is a member is decided by"
                assert len([line for line in said if words in line]) == 1, (low, said)
            assert not [line for line in lines if "is no good" in line]

    run(go(), SECONDS)


def test_a_half_finished_roll_out_lets_nobody_in_beside_another() -> None:
    """Three nodes; another map swaps one of them for two that are new. It gets as far as two of the four."""
    with ports(*"de") as fresh, Workers("abc", lease=FOR_EVER) as workers:
        assert workers._peers
        old = dict(workers._peers("a"))
        new = {name: where for name, where in {**old, **fresh}.items() if name != "b"}
        fences = [fence_of(workers, "b", "x")]
        job = Contend("busy", entries=None, inside=0.002)
        workers.begin(job, ["b", "c"])
        workers.kill("a")
        for name in "ade":
            workers.hire(name, peers=new)
        for name in "ade":
            workers.hear(name)
            assert str(workers.grab(name, "x", timeout=0.3)["x"]).startswith("AcquireTimeout")
        workers.begin(job, ["a", "d", "e"])
        seen = workers.count()
        until(lambda: workers.count() > seen + 100, "all go on")
        workers.halt(list("abcde"))
        workers.free("b", "x")
        for name in "daec":
            fences.append(fence_of(workers, name, "x"))
            workers.free(name, "x")
        assert fences == sorted(set(fences))
        assert not [each for found in workers.findings().values() for each in found.problems]
        assert os.path.exists(workers.folder / "a" / "votes")


# Rolling restarts.


def test_a_rolling_restart_under_load() -> None:
    """Each in turn says goodbye, is started again and joins, while all contend: nobody is inside with another, fences
    grow, and everybody gets in again."""
    job = Contend("busy", entries=None, inside=0.001)
    with Workers("abc", lease=FOR_EVER) as workers:
        workers.begin(job)
        fences = []
        for name in "abc":
            seen = workers.count()
            until(lambda seen=seen: workers.count() > seen + 10, "all go on")
            workers.halt([name])
            workers.end(name)
            workers.restart(name)
            fences.append(fence_of(workers, name, "own"))
            workers.free(name, "own")
            workers.begin(job, [name])
        workers.halt()
        assert fences == sorted(set(fences))
        found = workers.findings()
        assert not [each for one in found.values() for each in one.problems]
