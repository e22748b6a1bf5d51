"""Whether there is a lease where nobody says: where there are voters enough to survive a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import MemoryHub, Node
from soloist.net.member.company import USUAL_LEASE
from soloist.net.service.config import parse
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import run, settled

TWO, THREE = dict.fromkeys("ab", ""), dict.fromkeys("abc", "")


def lease_of(**options: Any) -> float | None:
    return Node("a", lease="auto", transport=MemoryHub().transport("a"), **options).lease


@pytest.mark.parametrize(
    ("options", "lease"),
    [
        ({"peers": {"a": ""}}, None),
        ({"peers": TWO}, None),  # the majority of two is both
        ({"peers": THREE}, USUAL_LEASE),
        ({"peers": dict.fromkeys("abcdefghij", "")}, USUAL_LEASE),
        ({"peers": TWO, "voters": ["a"]}, USUAL_LEASE),  # whoever speaks of voters wants them to vote
        ({"peers": TWO, "voter_only": True}, USUAL_LEASE),
        ({"join": {"b": ""}}, USUAL_LEASE),  # only a cluster that votes can be joined
        ({"peers": TWO, "etcd": ["http://127.0.0.1:1"]}, USUAL_LEASE),
    ],
)
def test_with_whom_there_is_a_lease(options: dict[str, Any], lease: float | None) -> None:
    assert lease_of(**options) == lease


def test_two_nodes_and_a_third_that_only_votes_come_to_the_same_answer() -> None:
    async def main() -> None:
        hub = MemoryHub()
        nodes = [
            Node(name, THREE, lease="auto", voter_only=name == "c", transport=hub.transport(name))
            for name in THREE
        ]
        assert [node.lease for node in nodes] == [USUAL_LEASE] * 3
        a, b, c = nodes
        async with a, b, c, b.lock("x", timeout=30):
            await eventually(lambda: list(c.beginning.voters()) == list("abc"), "all vote")

    run(main())


def test_seconds_and_none_are_taken_as_they_are() -> None:
    assert Node("a", THREE, lease=3, transport=MemoryHub().transport("a")).lease == 3
    assert Node("a", THREE, lease=None, transport=MemoryHub().transport("a")).lease is None


@pytest.mark.parametrize("lease", ["none", "10", True, 0, -1, float("nan"), float("inf"), 0.4])
def test_anything_else_is_one_line(lease: Any) -> None:
    with pytest.raises(UsageError, match=r'lease must be a number of seconds, 0\.5 or more, "auto" or None'):
        Node("a", THREE, lease=lease, transport=MemoryHub().transport("a"))


def test_votes_are_kept_in_memory_where_nodes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    monkeypatch.setenv("HOME", "/dev/null")

    async def main() -> None:
        async with memory_cluster("abc", lease="auto") as (a, b, c):
            hold = await b.lock("x").acquire_or_raise(30)
            await c.close()
            await eventually(lambda: a.members == ["a", "b"], "c has left")
            assert hold.valid

    run(main())


def test_taking_a_lock_that_rests_here_again_needs_no_message() -> None:
    async def main() -> None:
        async with memory_cluster("abc", lease="auto") as nodes:
            async with nodes[0].lock("x", timeout=30):
                pass
            await settled(nodes)
            before = [node.stats.messages_sent for node in nodes]
            for _ in range(100):
                async with nodes[0].lock("x"):
                    pass
            assert [node.stats.messages_sent for node in nodes] == before

    run(main())


def test_without_a_place_for_votes_it_is_refused_and_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on without a lease: nobody would know before the first crash."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    monkeypatch.setenv("HOME", "/dev/null")
    peers = {name: f"127.0.0.1:{port}" for port, name in enumerate("abc", start=1)}
    with pytest.raises(UsageError) as caught:
        Node("a", peers, lease="auto")
    assert str(caught.value).startswith(
        "no data directory for 'a', and a lease needs one; give data_dir=, or lease=None to do without both ("
    )
    assert Node("a", peers, lease=None).lease is None
    two = {name: peers[name] for name in "ab"}
    assert Node("a", two, lease="auto").lease is None


FILE = """lease = {lease}
[nodes]
a = "127.0.0.1:7401"
b = "127.0.0.1:7402"
"""


@pytest.mark.parametrize(("word", "lease"), [('"auto"', "auto"), ('"none"', None), ("2", 2.0), ("0.5", 0.5)])
def test_in_a_file(word: str, lease: Any) -> None:
    assert parse(FILE.format(lease=word), Path("cluster.toml")).lease == lease


def test_in_a_file_voters_that_only_vote_count(tmp_path: Path) -> None:
    text = FILE.format(lease='"auto"')
    assert parse(text, tmp_path / "cluster.toml").node("a").lease is None
    text = f'data_dir = "{{name}}"\n{text}v = {{ address = "127.0.0.1:7403", voter_only = true }}\n'
    config = parse(text, tmp_path / "cluster.toml")
    assert [config.node(name).lease for name in "abv"] == [USUAL_LEASE] * 3


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ('"never"', """should be a number of seconds, "auto" or "none", not 'never'"""),
        ("0.1", "should be at least 0.5, not 0.1"),
        ("true", "should be a number such as 0.5 or text in quotes, not true or false"),
    ],
)
def test_what_is_wrong_in_a_file(word: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(FILE.format(lease=word), Path("cluster.toml"))
    assert str(caught.value) == f"cluster.toml:1: lease: {words}"


def test_with_etcd_there_is_always_one() -> None:
    etcd = {"etcd": ["http://127.0.0.1:1"]}
    with pytest.raises(UsageError, match="with etcd there is always a lease"):
        Node("a", TWO, lease=None, transport=MemoryHub().transport("a"), **etcd)  # type: ignore[arg-type]
    text = 'etcd = ["http://127.0.0.1:1"]\n' + FILE.format(lease='"none"')
    with pytest.raises(UsageError, match=r"cluster.toml:2: lease: with etcd there is always a lease"):
        parse(text, Path("cluster.toml"))


def test_nobody_need_ask_for_it(tmp_path: Path) -> None:
    assert Node("a", THREE, transport=MemoryHub().transport("a")).lease == USUAL_LEASE
    assert Node("a", TWO, transport=MemoryHub().transport("a")).lease is None
    text = FILE.format(lease=0).partition("\n")[2]
    assert parse(text, tmp_path / "cluster.toml").lease == "auto"
