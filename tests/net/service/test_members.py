"""`soloist members`, `join`, `leave` and `init`: daemons as processes, and what a file may say of who votes and who joins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from soloist.cli import main
from soloist.core import UsageError
from soloist.net import NodeClosed
from soloist.net.client import operator
from soloist.net.client.operator import operate
from soloist.net.engine.ticket import FENCE_BITS
from soloist.net.member.anew import begin_anew
from soloist.net.member.origin import DataDirectory
from soloist.net.member.votes import DiskVotes
from soloist.net.service.config import load, parse
from soloist.net.service.dialogue import Status
from soloist.testing import ports, until
from soloist.views import Lease, Node, View
from tests.net.helpers import run
from tests.net.service.daemons import Cluster, cluster

MORE = 'lease = 60\ndata_dir = "data-{name}"\n'
PATH = Path("cluster.toml")


def status(found: Cluster, node: str = "a") -> Status | None:
    """As its daemon says, if there is one."""

    async def ask() -> Status:
        async with operate(found.directory / f"t-{node}.sock") as client:
            return await operator.status(client)

    try:
        return run(ask())
    except NodeClosed:
        return None


def roles(found: Cluster) -> dict[str, str]:
    said = status(found)
    return {each.name: each.role for each in said.members} if said and said.epoch else {}


def test_a_daemon_joins_votes_and_leaves() -> None:
    with ports("d") as own, cluster("a", "b", more=MORE) as found:
        until(lambda: roles(found) == dict.fromkeys("ab", "member, votes"), "it has begun")
        newcomer = found.start("join", "--name", "d", "--address", own["d"], "--grace", "0.1")
        until(lambda: roles(found).get("d") == "member", "d is a member")
        code, out, err = found.say("run", "x", "--name", "d", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        assert (code, err) == (0, "")
        said = status(found)
        assert said
        assert int(out) >> FENCE_BITS == said.epoch
        added = found.json("members", "--name", "a", "--add-voter", "d")
        assert {each["name"]: each["role"] for each in added["members"]} == dict.fromkeys(
            "abd", "member, votes"
        )
        assert added["voters"] == dict.fromkeys("abd", True)
        code, _, err = found.say("members", "--name", "b", "--add-voter", "d")
        assert (code, err) == (2, "soloist: 'd' is a voter already\n")
        code, out, err = found.say("members", "--name", "d")
        assert (code, err) == (0, "")
        assert "voters a, b, d: 1 may still fail" in out
        assert own["d"] in out
        assert found.say("leave", "--name", "d")[:2] == (0, "d is leaving\n")
        code, _, err = found.finish(newcomer)
        assert code == 0, err
        until(lambda: roles(found) == dict.fromkeys("ab", "member, votes"), "d has left")
        last = status(found)
        assert last
        assert (last.trouble, last.voters) == ("", {"a": True, "b": True})


def test_a_voter_of_the_file_has_no_locks() -> None:
    with ports(*"abv") as where, cluster("a", start=False) as found:
        text = f'cluster = "t"\n{MORE}[nodes]\na = "{where["a"]}"\nb = "{where["b"]}"\n'
        (found.directory / "cluster.toml").write_text(
            f'{text}v = {{ address = "{where["v"]}", voter_only = true }}\n'
        )
        for name in "abv":
            found.daemon(name, "--grace", "0.1")
        found.ready(*"abv")
        begun = {"a": "member, votes", "b": "member, votes", "v": "votes"}
        until(lambda: roles(found) == begun, "it has begun")
        code, _, err = found.say("run", "x", "--name", "v", "--", "true")
        assert (code, err) == (
            2,
            "soloist: node 'v' only votes (voter_only): it has no locks; use another node\n",
        )
        fence = found.hold("x", "--name", "b").fence  # type: ignore[attr-defined]
        found.daemons["b"].terminate()  # its client is told to let go
        code, out, err = found.say("run", "x", "--name", "a", "--", "sh", "-c", "echo $SOLOIST_FENCE")
        assert (code, err) == (0, "")
        assert int(out) > fence


# Without daemons.


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("members --add-voter a --remove-voter b", "give --add-voter or --remove-voter, not both"),
        ("join --name d --join a", "--join should read NODE=HOST:PORT, not 'a'"),
        ("join --name d --join a=x --address h:1", "nodes.d.join.a: address 'x' should read"),
        ("join --name a --address 127.0.0.1:9", "names no other node; give --join"),
        ("join --name d --listen 0.0.0.0:9", "0.0.0.0:9 is no address that others could call"),
        ("join --name d", "cluster.toml does not name d; say where others find it: --address HOST:PORT"),
        ("init --name x --epoch 5", "unknown node 'x'"),
        ("init --name a --epoch -1", "--epoch must be 0 or more"),
        ("leave", "no node of cluster.toml runs here"),
    ],
)
def test_bad_usage_is_one_line(line: str, words: str, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    PATH.write_text(f'insecure = true\n{MORE}[nodes]\na = "127.0.0.1:7401"\n')
    assert main(line.split()) in (1, 2)
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


TOP = 'insecure = true\nlease = 10\n[nodes]\na = "127.0.0.1:7401"\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('d = { address = "h:1", join = ["x"] }', "cluster.toml:5: nodes.d.join: unknown node 'x'"),
        ('d = { address = "h:1", join = [] }', "nodes.d.join: should name nodes that are there"),
        (
            'd = { address = "h:1", join = ["d"] }',
            "nodes.d.join: should name nodes that are there, other than d",
        ),
        ('d = { address = "h:1", join = { z = "y" } }', "nodes.d.join.z: address 'y' should read HOST:PORT"),
        ('d = { address = "h:1", join = { z = 1 } }', "nodes.d.join.z: should be text in quotes"),
        ('d = { address = "h:1", join = 3 }', "nodes.d.join: should be"),
        ('d = { address = "h:1", listen = "x" }', "nodes.d.listen: address 'x' should read HOST:PORT"),
        (
            'd = { address = "0.0.0.0:1", join = ["a"] }',
            "nodes.d.address: 0.0.0.0:1 is no address that others",
        ),
        ('d = { address = "h:1", join = ["a"], voter = true }', "by `soloist members --add-voter d`"),
        ('d = { address = "h:1", voter = 1 }', "nodes.d.voter: should be true or false"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(line: str, words: str) -> None:
    with pytest.raises(UsageError) as found:
        parse(TOP + line, PATH)
    assert words in str(found.value)
    assert str(found.value).startswith("cluster.toml:5: ")


@pytest.mark.parametrize("key", ["voter = true", "voter_only = true"])
def test_without_a_lease_nobody_is_chosen_to_vote(key: str) -> None:
    with pytest.raises(UsageError, match=r"cluster.toml:5: .* needs a lease"):
        parse(TOP.replace("lease = 10\n", 'lease = "none"\n') + f'd = {{ address = "h:1", {key} }}', PATH)


def test_who_joins_is_not_among_those_who_begin(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(
        f'data_dir = "{{name}}"\nsecret_file = "s"\n{TOP}b = {{ address = "127.0.0.1:7402", voter = true }}\n'
        'd = { address = "d.example:7400", listen = "0.0.0.0:7400", join = ["a", "b"] }\n'
    )
    (tmp_path / "s").write_text("secret")
    config = load(path)
    assert config.node("a").members == ["a", "b"]
    assert config.member("d").join == {"a": "127.0.0.1:7401", "b": "127.0.0.1:7402"}
    d = config.node("d")
    assert d.members == ["d"]
    assert str(d.transport.listen) == "0.0.0.0:7400"  # type: ignore[attr-defined]
    same = load(path, {"e": {"address": "h:1", "join": {"a": "127.0.0.1:7401"}}})
    assert same.member("e").control.name == "soloist-e.sock"
    assert config.guest("e").control == same.member("e").control


# All disks are lost.


def stored(directory: Path) -> tuple[int, str]:
    """The fence below those of the next beginning, as an epoch, and the id of the vote file."""
    data = DataDirectory(directory, "t", "a")
    try:
        above = data.open() >> FENCE_BITS
        votes = DiskVotes(data)
        votes.close()
        return above, votes.file.voter
    finally:
        data.close()


def with_view(directory: Path, epoch: int) -> None:
    data = DataDirectory(directory, "t", "a")
    data.open()
    votes = DiskVotes(data, {"a": "h:1"})
    view = View(epoch=epoch, voters=(votes.file.voter,), members=(Node("a", "i"),), lease=Lease(10.0))
    votes.store(type(votes.file)(cluster="t", voter=votes.file.voter, view=view))
    votes.close()
    data.close()


def test_init_forgets_votes_and_never_goes_back(tmp_path: Path) -> None:
    with_view(tmp_path, 7)
    _, before = stored(tmp_path)
    with pytest.raises(UsageError, match="--epoch must be 7 or more"):
        begin_anew(DataDirectory(tmp_path, "t", "a"), 6)
    assert stored(tmp_path)[1] == before
    begin_anew(DataDirectory(tmp_path, "t", "a"), 9)
    above, after = stored(tmp_path)
    assert above == 10
    assert after != before
    assert os.path.exists(tmp_path / "votes.bad")
    begin_anew(DataDirectory(tmp_path, "t", "a"), 9)  # twice is as good as once


def test_a_node_that_runs_is_not_initialised(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path, "t", "a")
    data.open()
    try:
        with pytest.raises(UsageError, match="is in use by another node"):
            begin_anew(DataDirectory(tmp_path, "t", "a"), 9)
    finally:
        data.close()


def test_a_damaged_file_keeps_a_cluster_from_beginning_until_the_line_that_is_named_was_run() -> None:
    with cluster("a", "b", start=False, more=MORE) as found:
        data = found.directory / "data-b"
        data.mkdir()
        (data / "votes").write_text("what is this?")
        for name in "ab":
            found.daemon(name)
        found.ready(*"ab")
        said = until(lambda: _named_line(found), "a says what to do")
        found.daemons["b"].terminate()
        found.daemons["b"].wait()
        code, out, err = found.say(*said.split()[1:])
        assert (code, err) == (0, "")
        assert "b has forgotten its votes" in out
        found.daemon("b")
        until(lambda: roles(found) == dict.fromkeys("ab", "member, votes"), "it has begun")
        now = status(found)
        assert now
        assert now.epoch > int(said.split()[-1])


def _named_line(found: Cluster) -> str:
    said = status(found)
    trouble = said.trouble if said else ""
    return trouble.partition("`")[2].partition("`")[0] if "is no good" in trouble else ""
