"""Nodes whose membership is agreed upon in a real etcd of three members, some of which are lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import TLS, ConfigMismatch, Etcd, Hold, MemoryHub, Node, NoQuorum
from soloist.net.engine.ticket import FENCE_BITS
from soloist.net.member.etcd.chair import ETCD
from soloist.net.member.etcd.store import Store
from soloist.net.service.keys import make_keys
from soloist.testing import eventually, ports
from tests.net.helpers import run

from .etcds import Etcds, needs_etcd

pytestmark = needs_etcd

SHORT = 2
LONG = 60
"""Far longer than etcd needs to find another leader, on any machine."""
SECONDS = 120

Make = Callable[..., Awaitable[Node]]


@asynccontextmanager
async def nodes(etcds: Etcds, cluster: str, **common: Any) -> AsyncIterator[Make]:
    """Starts nodes of one cluster, `ab` unless told otherwise, in one hub; they are closed at the end."""
    hub, made = MemoryHub(), []

    async def make(name: str, names: str = "ab", **options: Any) -> Node:
        peers = dict.fromkeys(names, "127.0.0.1:7400")
        given = {"cluster": cluster, "etcd": etcds.endpoints, **common, **options}
        node = Node(name, peers, transport=hub.transport(name), **given)
        made.append(node)
        return await node.start()

    try:
        yield make
    finally:
        await asyncio.gather(*(node.close() for node in made))


async def both(make: Make) -> tuple[Node, Node]:
    a, b = await make("a"), await make("b")
    await eventually(lambda: together(a, b), "both are members")
    return a, b


def together(*nodes: Node) -> bool:
    """Whether all are in one view, and nobody else."""
    names = sorted(node.name for node in nodes)
    epochs = {node.epoch for node in nodes}
    return len(epochs) == 1 and 0 not in epochs and all(node.members == names for node in nodes)


async def inside(node: Node, lock: str, **options: Any) -> Hold:
    hold = await node.lock(lock).acquire(**options)
    assert hold
    return hold


async def renewed(node: Node) -> None:
    """Until something that was sent from now on has been acknowledged."""
    council: Any = node.beginning.council  # type: ignore[attr-defined]
    now = council.clock()

    def so() -> bool:
        council.renew_at = 0.0
        return council.member.worth.get(ETCD, 0.0) > now + council.lease.at_member

    await eventually(so, "the lease is renewed")


def test_two_nodes_survive_each_other(etcds: Etcds, cluster: str) -> None:
    async def main() -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a, b = await both(make)
            kept = await inside(a, "kept")
            async with b.lock("wanted") as gone:
                pass
            await b.close()
            await eventually(lambda: a.members == ["a"], "b has left")
            assert kept.valid
            async with a.lock("wanted") as hold:
                assert hold.fence >> FENCE_BITS > gone.fence >> FENCE_BITS
            again = await make("b")
            assert await again.lock("kept").acquire(timeout=0.1) is None
            kept.release_now()
            async with again.lock("kept") as hold:
                assert hold.fence > kept.fence

    run(main(), SECONDS)


def test_a_stranger_joins_and_leaves(etcds: Etcds, cluster: str) -> None:
    """It is told of one member only, and of `etcd`; nobody was told of it."""

    async def main() -> None:
        given: dict[str, Any] = {"cluster": cluster, "etcd": etcds.endpoints, "lease": LONG}
        with TemporaryDirectory() as folder, ports("a", "b", "d") as where:
            peers = {name: where[name] for name in "ab"}
            a, b = (Node(name, peers, data_dir=Path(folder, name), **given) for name in peers)
            seed = {"a": where["a"]}
            d = Node("d", join=seed, listen=where["d"], data_dir=Path(folder, "d"), **given)
            async with a, b:
                kept = await inside(b, "kept")
                async with d, d.lock("x", timeout=60):
                    await eventually(lambda: together(a, b, d), "all are members")
                    assert kept.valid
                    assert await d.lock("kept").acquire(timeout=0.1) is None
                await eventually(lambda: together(a, b), "d has left")
                assert kept.valid

    run(main(), SECONDS)


def test_a_lock_is_broken(etcds: Etcds, cluster: str) -> None:
    async def main() -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a, b = await both(make)
            hold, kept = await inside(b, "wanted"), await inside(b, "kept")
            found = await a.break_lock("wanted")
            assert [(taken.node, taken.fence) for taken in found.held] == [("b", hold.fence)]
            assert "broken" in hold.why
            async with a.lock("wanted") as later:
                assert later.epoch >= found.epoch > hold.epoch
            assert kept.valid
            assert (await b.break_lock("wanted")).held == ()

    run(main(), SECONDS)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_one_etcd_member_is_lost(etcds: Etcds, cluster: str, how: str) -> None:
    """The leader, no less."""

    async def main() -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a, b = await both(make)
            epoch = a.epoch
            hold = await inside(a, "orders")
            await asyncio.to_thread(etcds.await_all)  # tests before this one have lost some, too
            leader = await asyncio.to_thread(etcds.leader)
            back = partial(etcds.start, leader) if how == "killed" else partial(etcds.resume, leader)
            (etcds.kill if how == "killed" else etcds.pause)(leader)
            try:
                await asyncio.gather(renewed(a), renewed(b))
                assert hold.valid
                assert await b.lock("orders").acquire(timeout=0.1) is None
                assert a.epoch == b.epoch == epoch
                hold.release_now()
                assert (await inside(b, "orders")).fence > hold.fence
            finally:
                back()

    run(main(), SECONDS)


def test_without_a_majority_of_etcd(etcds: Etcds, cluster: str) -> None:
    async def main() -> None:
        async with nodes(etcds, cluster, lease=SHORT) as make:
            a, b = await both(make)
            fences = [(await inside(node, node.name)).fence for node in (a, b)]
            etcds.kill(0)
            etcds.kill(1)
            try:
                await eventually(lambda: not a.holds and not b.holds, "both have lost what they held")
                with pytest.raises(NoQuorum) as told:
                    await a.lock("orders").acquire()
                assert all(endpoint in str(told.value) for endpoint in etcds.endpoints[:2]), told.value
                assert all(endpoint in b.trouble() for endpoint in etcds.endpoints[:2]), b.trouble()
                assert [a.beginning.voters()[each] for each in etcds.endpoints[:2]] == [False, False]
            finally:
                etcds.start(0)
            async with asyncio.timeout(SECONDS):
                while True:
                    try:
                        hold = await inside(b, "a")
                        break
                    except NoQuorum:  # as long as there is none
                        await asyncio.sleep(0.05)
            assert hold.fence > max(fences)
            etcds.start(1)

    run(main(), SECONDS)


def test_etcd_that_was_never_there(cluster: str) -> None:
    async def main() -> None:
        hub = MemoryHub()
        etcd = ["http://127.0.0.1:1"]
        async with Node(
            "a", {"a": ""}, transport=hub.transport("a"), cluster=cluster, etcd=etcd, lease=SHORT
        ) as node:
            with pytest.raises(NoQuorum, match=r"http://127\.0\.0\.1:1: Connection refused"):
                await node.lock("x").acquire()

    run(main(), SECONDS)


def test_a_cluster_that_ended_goes_on_where_it_was(etcds: Etcds, cluster: str) -> None:
    async def main() -> None:
        fences = []
        for name in "aba":
            async with nodes(etcds, cluster) as make:
                node = await make(name)
                assert node.lease == 10
                fences.append((await inside(node, "orders")).fence)
        epochs = [fence >> FENCE_BITS for fence in fences]
        assert epochs == [epochs[0], epochs[0] + 1, epochs[0] + 2]

    run(main(), SECONDS)


def test_an_entry_that_was_removed_ends_its_incarnation(etcds: Etcds, cluster: str) -> None:
    """As if its lease had run out: it comes back as another, and what it held is lost."""

    async def main() -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a, b = await both(make)
            hold = await inside(a, "orders")
            who = a.beginning.who.incarnation
            await asyncio.to_thread(Store(etcds.client(), cluster).remove, who)
            later = await inside(b, "orders")
            assert later.fence >> FENCE_BITS > hold.fence >> FENCE_BITS
            assert not hold.valid
            await eventually(lambda: together(a, b), "it is back")
            assert a.beginning.who.incarnation != who

    run(main(), SECONDS)


def test_a_request_that_was_done_although_nobody_was_told(etcds: Etcds, cluster: str) -> None:
    """Then our entry has another revision than we know: no reason to give anything up."""

    async def main() -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a = await make("a", "a")
            hold, store = await inside(a, "orders"), Store(etcds.client(), cluster)
            seen, who = await asyncio.to_thread(store.read), a.beginning.who.incarnation
            await asyncio.to_thread(store.renew, seen.entries[who], seen.revisions[who], LONG)
            await renewed(a)
            assert hold.valid
            assert a.beginning.who.incarnation == who
            council: Any = a.beginning.council  # type: ignore[attr-defined]
            assert {*council.desk.client.descriptors()} <= {*a.descriptors()}

    run(main(), SECONDS)


def test_one_without_etcd_and_other_leases_do_not_fit(etcds: Etcds, cluster: str) -> None:
    async def main(other: dict[str, Any], says: str) -> None:
        async with nodes(etcds, cluster, lease=LONG) as make:
            a = await make("a")
            await inside(a, "orders")
            b = await make("b", **other)
            with pytest.raises(ConfigMismatch, match=says):
                await b.lock("orders").acquire()
            assert a.members == ["a"]

    run(main({"etcd": None}, "'a' runs with etcd, 'b' runs without etcd"), SECONDS)
    run(main({"lease": LONG + 1}, "with a lease of 6[01] s"), SECONDS)


def test_certificates(tmp_path: Path, cluster: str) -> None:
    make_keys(tmp_path, ["localhost", "node"])
    make_keys(tmp_path / "other", ["node"])
    strange = TLS(
        str(tmp_path / "other/node.pem"), str(tmp_path / "ca.pem"), str(tmp_path / "other/node.key")
    )

    async def main(etcds: Etcds) -> None:
        async with nodes(etcds, cluster, lease=SHORT) as make:
            known = await make("a", "a", etcd=Etcd(tuple(etcds.endpoints), etcds.tls))
            assert (await inside(known, "orders")).valid
            stranger = await make("b", "b", etcd=Etcd(tuple(etcds.endpoints), strange))
            with pytest.raises(NoQuorum, match=f"{etcds.endpoints[0]}: TLS: "):
                await stranger.lock("orders").acquire()

    with Etcds(1, tmp_path) as etcds:
        run(main(etcds), SECONDS)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"lease": 2.5}, "lease must be a whole number of seconds with etcd, 2 or more; not 2.5"),
        ({"lease": 1}, "lease must be a whole number of seconds with etcd, 2 or more; not 1"),
        ({"etcd": "http://127.0.0.1:2379"}, "etcd must be a list of URLs"),
        ({"etcd": []}, "etcd must be a list of URLs"),
        ({"etcd": ["127.0.0.1:2379"]}, "'127.0.0.1:2379' is no endpoint"),
        ({"etcd": ["http://127.0.0.1"]}, "is no endpoint of etcd; give a list of URLs like"),
        ({"etcd": ["https://127.0.0.1:2379"]}, "https need certificates"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Node(
            "a",
            {"a": ""},
            transport=MemoryHub().transport("a"),
            **{"etcd": ["http://127.0.0.1:2379"], **options},
        )
