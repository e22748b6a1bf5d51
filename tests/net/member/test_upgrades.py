"""A cluster is upgraded node by node: versions of the protocol, and the algorithms that a view names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import ConfigMismatch, MemoryHub, Node, cards
from soloist.net.cards import USUAL, bound, check_view
from soloist.net.link.versions import ENVIRONMENT, Versions, offered
from soloist.testing import eventually, memory_cluster, memory_nodes, ports, started
from soloist.views import Algorithm, Ballot, Lease, Proposer, View
from soloist.views import Node as Member
from soloist.views.view import newcomers
from tests.net.helpers import run

FOR_EVER = 600.0


class Cluster:
    """Three nodes over TCP in one process; each may be closed and started as another release."""

    def __init__(self, peers: dict[str, str], folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.peers, self.folder, self.patch = peers, folder, patch
        self.nodes: dict[str, Node] = {}

    async def start(self, name: str, versions: str = "", **options: Any) -> Node:
        if before := self.nodes.pop(name, None):
            await before.close()
        self.patch.setenv(ENVIRONMENT, versions)
        data = self.folder / name
        node = Node(
            name, self.peers, lease=FOR_EVER, data_dir=data, shortcut=False, sentinel=False, **options
        )
        self.nodes[name] = await node.start()
        return node

    async def member(self, name: str) -> Node:
        """Once it is one, with all the others."""
        node = self.nodes[name]
        await eventually(
            lambda: node.beginning.open and all(each.epoch == node.epoch for each in self.nodes.values()),
            f"{name} is a member",
        )
        return node


@asynccontextmanager
async def cluster(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    with ports("a", "b", "c") as peers:
        found = Cluster(peers, folder, patch)
        try:
            yield found
        finally:
            await asyncio.gather(*(node.close() for node in found.nodes.values()))


async def refused(node: Node) -> str:
    with pytest.raises(ConfigMismatch) as error:
        await node.lock("x").acquire_or_raise(40)
    return str(error.value)


def test_the_version_is_raised_when_the_last_member_offers_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with cluster(tmp_path, monkeypatch) as found:
            for name in "abc":
                await found.start(name, "2..3")
            await found.member("a")
            assert found.nodes["a"].table.view.protocol == 3
            fences = []
            for name, protocol in (("c", 3), ("b", 3), ("a", 4)):
                await found.start(name, "3..4")
                node = await found.member(name)
                async with node.lock("x") as hold:
                    fences.append(hold.fence)
                assert {each.table.view.protocol for each in found.nodes.values()} == {protocol}
            assert fences == sorted(set(fences))
            old = await found.start("c", "2..3")
            assert "the cluster uses version 4 of the protocol, 'c' speaks versions 2 to 3" in await refused(
                old
            )
            assert await found.nodes["a"].lock("x").acquire_or_raise(None)

    run(go())


def test_without_a_version_in_common_both_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        nodes = memory_nodes("ab", lease=FOR_EVER)
        a, b = nodes
        a.beginning.who = msgspec.structs.replace(a.beginning.who, versions=Versions(1, 2))
        b.beginning.who = msgspec.structs.replace(b.beginning.who, versions=Versions(3, 5))
        async with started(nodes):
            for node in nodes:
                said = await refused(node)
                assert "versions 1 to 2" in said
                assert "versions 3 to 5" in said

    run(go())


@pytest.mark.parametrize("said", ["3", "4..3", "0..3", "a..b", "3..4..5"])
def test_a_range_that_is_none_is_one_line(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, said)
    with pytest.raises(UsageError, match=f"{ENVIRONMENT} must be a range of versions like 3..4, not"):
        offered()


def test_who_does_not_understand_the_members_is_no_newcomer_but_may_begin_where_nobody_is_left() -> None:
    old, new = Member("a", "1" * 32, "", 2, 3), Member("b", "2" * 32, "", 4, 5)
    view = View(epoch=1, voters=("v",), members=(old,), lease=Lease(2.0, margin=0.05), protocol=3)
    assert newcomers(view, [new]) == []
    proposer = Proposer(view=view, ballot=Ballot(1, "p"))
    assert proposer.understood([new], [old]) == []
    assert proposer.understood([new], []) == [new]
    assert proposer.understood([new, Member("c", "3" * 32, "", 3, 4)], []) != []


def test_a_newcomer_runs_what_the_view_says_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with cluster(tmp_path, monkeypatch) as found:
            for name in "abc":
                await found.start(name, algorithm="ricart-agrawala")
            await found.member("c")
            await found.start("c")
            c = await found.member("c")
            assert c.table.cards[0].name == "ricart-agrawala"
            assert [each.name for each in c.table.view.algorithms] == ["ricart-agrawala", "srimani-reddy"]
            async with c.lock("x"):
                pass
            other = await found.start("c", algorithm="lamport")
            assert "runs ricart-agrawala srimani-reddy, 'c' runs lamport srimani-reddy" in await refused(
                other
            )

    run(go())


def test_an_algorithm_of_another_source_is_another() -> None:
    async def go() -> None:
        nodes = memory_nodes("ab", lease=FOR_EVER)
        who = nodes[1].beginning.who
        assert all(who.digests)
        nodes[1].beginning.who = msgspec.structs.replace(who, digests=("other", who.digests[1]))
        async with started(nodes) as (a, b):
            for node in (a, b):
                assert "bulgannawar-vaidya of another source than" in await refused(node)

    run(go())


@pytest.mark.parametrize("lease", [None, FOR_EVER])
def test_who_was_told_nothing_runs_what_one_of_the_others_was_told(lease: float | None) -> None:
    async def go() -> None:
        hub, peers = MemoryHub(), dict.fromkeys("ab", "")
        nodes = [
            Node("a", peers, transport=hub.transport("a"), lease=lease),
            Node("b", peers, transport=hub.transport("b"), lease=lease, algorithm="lamport"),
        ]
        async with started(nodes) as (a, b), a.lock("x"), b.lock("y"):
            assert [node.table.cards[0].name for node in (a, b)] == ["lamport", "lamport"]

    run(go())


def test_whom_nobody_told_anything_runs_the_usual() -> None:
    async def go() -> None:
        async with memory_cluster("ab") as (a, _), a.lock("x"):
            assert [card.name for card in a.table.cards] == list(USUAL)
            assert [each.name for each in a.table.view.algorithms] == list(USUAL)

    run(go())


EARLIER = ("naimi-trehel", "raymond-k")
"""What ran where nobody said, before."""


def of_an_earlier_release(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Node]) -> Node:
    with monkeypatch.context() as patch:
        patch.setattr(cards, "USUAL", EARLIER)
        return make()


@pytest.mark.parametrize("lease", [None, FOR_EVER])
@pytest.mark.parametrize("old", ["a", "b", "ab"])
def test_releases_with_other_defaults_that_begin_together_all_run_the_same(
    lease: float | None, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        hub, peers = MemoryHub(), dict.fromkeys("abc", "")

        def make(name: str) -> Node:
            return Node(name, peers, transport=hub.transport(name), lease=lease)

        nodes = [
            of_an_earlier_release(monkeypatch, partial(make, name)) if name in old else make(name)
            for name in peers
        ]
        async with started(nodes):
            for node in nodes:
                async with node.lock("x"), node.semaphore("s", 2, permits=2):
                    pass
            ran = {tuple(card.name for card in node.table.cards) for node in nodes}
            assert ran == {(max(EARLIER[0], USUAL[0]), max(EARLIER[1], USUAL[1]))}

    run(go())


def test_a_new_release_in_an_old_cluster_takes_what_that_runs_until_all_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with cluster(tmp_path, monkeypatch) as found:
            with monkeypatch.context() as patch:
                patch.setattr(cards, "USUAL", EARLIER)
                for name in "abc":
                    await found.start(name)
                await found.member("a")
            for name in "cba":  # one after the other
                await found.start(name)
                node = await found.member(name)
                assert tuple(card.name for card in node.table.cards) == EARLIER
                async with node.lock("x"):
                    pass

    run(go())


def test_another_source_of_what_two_defaults_come_to_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody was told anything; the older release has the default that both will run, of another source than ours."""

    async def go() -> None:
        hub, peers = MemoryHub(), dict.fromkeys("ab", "")

        def make(name: str) -> Node:
            return Node(name, peers, transport=hub.transport(name), lease=None)

        old, new = of_an_earlier_release(monkeypatch, partial(make, "a")), make("b")
        who = old.beginning.who
        old.beginning.who = msgspec.structs.replace(who, digests=("other", who.digests[1]))
        async with started([old, new]):
            assert "naimi-trehel of another source than" in await refused(new)

    run(go())


def test_a_view_that_runs_something_else_than_this_node_was_told_is_refused_in_words() -> None:
    (node,) = memory_nodes("a", algorithm="lamport")
    view = View(
        epoch=1,
        voters=("v",),
        members=(Member("a", "1" * 32),),
        lease=Lease(2.0, margin=0.05),
        algorithms=(Algorithm("maekawa"), Algorithm("raymond-k")),
    )
    with pytest.raises(ConfigMismatch, match="the cluster runs maekawa, but 'a' was told to run lamport"):
        check_view(node.beginning.who, view)
    (free,) = memory_nodes("a")
    check_view(free.beginning.who, view)
    assert bound(free.beginning.who, view).algorithm == "maekawa raymond-k"
