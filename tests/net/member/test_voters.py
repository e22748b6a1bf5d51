"""Who votes: those who were chosen, those who do nothing else, and how that is changed while the cluster works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import ConfigMismatch, MemoryHub, Node
from soloist.net.link.pulses import Pulses
from soloist.net.member import membership as membership_module
from soloist.net.member.canvass import MOST_DOUBTS, Canvass
from soloist.net.member.company import elect
from soloist.net.member.electing import change_voters
from soloist.net.member.hearing import Hearing
from soloist.net.member.membership import Membership
from soloist.net.member.wish import Wish, unwise
from soloist.testing import Contend, Worker, Workers, crash, eventually, ports, started, until
from soloist.views import Lease, View, VoteFile, Voter
from soloist.views.proposer import VoterChange
from tests.net.helpers import run

FOR_EVER = 600.0
SECONDS = 120
"""Nothing takes that long; a test that waits for it has failed."""


def membership(node: Node) -> Membership:
    assert isinstance(node.beginning, Membership)
    return node.beginning


def voters(node: Node) -> dict[str, bool]:
    return membership(node).voters()


def memory(names: str, only: str = "", **options: Any) -> list[Node]:
    """Nodes in one process; those in `only` do nothing but vote."""
    hub, peers = MemoryHub(), dict.fromkeys(names, "")
    given: dict[str, Any] = {"lease": FOR_EVER, **options}
    return [
        Node(name, peers, transport=hub.transport(name), voter_only=name in only, **given) for name in names
    ]


async def begun(*nodes: Node) -> None:
    await eventually(lambda: all(node.epoch and voters(node) for node in nodes), "it has begun")


def test_who_votes_in_the_first_view() -> None:
    assert elect("abcdefghi", (), ()) == list("abcdefg")
    assert elect("abcdefghi", (), "i") == list("abcdefi")
    assert elect("abcdefghi", "bh", ()) == ["b", "h"]
    assert elect("abcdefghi", "bh", "i") == ["b", "h", "i"]


def test_those_who_were_chosen_vote() -> None:
    async def go() -> None:
        async with started(memory("abcd", voters=["b", "c", "d"])) as (a, b, c, d):
            await begun(a, b, c, d)
            assert voters(a) == voters(d) == dict.fromkeys("bcd", True)

    run(go(), SECONDS)


def test_before_there_is_a_view_all_must_choose_the_same() -> None:
    """Each makes the first view by itself: they must not make two."""

    async def go() -> None:
        hub, peers = MemoryHub(), dict.fromkeys("ab", "")
        chosen: dict[str, Any] = {"a": {}, "b": {"voters": ["b"]}}
        nodes = [
            Node(name, peers, transport=hub.transport(name), lease=FOR_EVER, **more)
            for name, more in chosen.items()
        ]
        async with started(nodes):
            for node in nodes:
                with pytest.raises(ConfigMismatch, match="'b' has the voters b"):
                    await node.lock("x").acquire_or_raise(10)

    run(go(), SECONDS)


def test_a_third_that_only_votes() -> None:
    """Two nodes survive the end of one, with the vote of a third that has no locks."""

    async def go() -> None:
        async with started(memory("abv", only="v")) as (a, b, v):
            hold = await b.lock("x").acquire_or_raise(None)
            await begun(v)
            assert a.members == b.members == v.members == ["a", "b"]
            assert voters(v) == voters(a) == dict.fromkeys("abv", True)
            assert (v.trouble(), v.missing()) == ("", [])
            with pytest.raises(UsageError, match="'v' only votes"):
                v.lock("x")
            assert (await v.inspect("x")).holders[0].fence == hold.fence
            await crash(b, a, v)
            assert (await a.lock("x").acquire_or_raise(None)).fence > hold.fence
            await eventually(lambda: v.members == ["a"], "v knows")

    run(go(), SECONDS)


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_holder_that_never_hears_a_new_voter_does_not_stay_behind(both_ways: bool) -> None:
    """Those who voted before go on to acknowledge it in the view that it is in. But for the new voter it falls silent, also if
    only the answers are lost; and once that is reason for a change, nobody acknowledges who is behind."""

    def deaf(node: Node, *to: str) -> None:
        council = membership(node).council
        say = council._say_to
        council._say_to = lambda peer, *what: None if peer in to else say(peer, *what)  # type: ignore[method-assign]

    async def go() -> None:
        async with started(memory("abv", only="v", voters=["a"], lease=0.5)) as (a, b, v):
            await begun(a, b, v)
            await change_voters(a.beginning, "remove", "v")
            deaf(v, "b")
            if both_ways:
                deaf(b, "v")
            hold = await b.lock("x").acquire_or_raise(10)
            await change_voters(a.beginning, "add", "v")
            assert (await a.lock("x").acquire_or_raise(30)).fence > hold.fence
            assert not hold.valid
            assert b.epoch == a.epoch

    run(go(), SECONDS)


def test_all_only_vote() -> None:
    async def go() -> None:
        async with started(memory("ab", only="ab")) as (a, _):
            await eventually(lambda: "at least one must have locks" in a.trouble(), "it says so")

    run(go(), SECONDS)


def test_one_voter_more_and_one_less() -> None:
    async def go() -> None:
        async with started(memory("abcd", voters=["a", "b", "c"])) as (a, b, c, d):
            held = await a.lock("x").acquire_or_raise(None)
            await begun(a, b, c, d)
            assert await change_voters(d.beginning, "add", "d") > held.fence >> 40  # asked of itself
            await eventually(lambda: list(voters(a)) == list("abcd"), "d votes")
            await change_voters(b.beginning, "remove", "a")  # asked of another
            await eventually(lambda: list(voters(a)) == list("bcd"), "a votes no more")
            assert held.valid
            assert a.members == list("abcd")
            await change_voters(a.beginning, "remove", "b")  # asked of one that does not vote
            await eventually(lambda: list(voters(d)) == list("cd"), "b votes no more")
            await held.release()
            assert (await b.lock("x").acquire_or_raise(None)).fence > held.fence

    run(go(), SECONDS)


def test_a_voter_that_was_added_counts() -> None:
    """Of two that vote both are needed; of three, two are enough."""

    async def go() -> None:
        async with started(memory("abc", voters=["a", "b"])) as (a, b, c):
            await begun(a, b, c)
            await change_voters(a.beginning, "add", "c")
            held = await b.lock("x").acquire_or_raise(None)
            await crash(b, a, c)
            assert (await a.lock("x").acquire_or_raise(None)).fence > held.fence

    run(go(), SECONDS)


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("add", "a", "'a' is a voter already"),
        ("add", "z", "'z' is not heard here"),
        ("remove", "z", "'z' is no voter; these are: a, b, c"),
        ("remove", "a", "of the 2 voters that there would be 1 are heard, and 2 are needed"),
    ],
)
def test_changes_that_make_no_sense_are_refused_in_one_line(kind: Any, name: str, words: str) -> None:
    async def go() -> None:
        nodes = memory("abcd", voters=["a", "b", "c"])
        async with started(nodes) as (a, b, _, d):
            await begun(*nodes)
            await crash(nodes[2], a, b, d)
            await eventually(lambda: not voters(a)["c"], "c is not heard")
            with pytest.raises(UsageError) as found:
                await change_voters((b if name == "a" else a).beginning, kind, name)
            assert words in str(found.value)

    run(go(), SECONDS)


def test_two_that_leave_at_once_do_not_take_the_majority_along() -> None:
    """What made sense when it was asked for is looked at again in the view that it would change."""
    view = View(epoch=7, voters=("a#1", "b#1", "c#1", "d#1"), members=(), lease=Lease(10))
    hearing, told = Hearing("b"), []
    for peer in "ac":  # d is dead
        hearing.heard(peer, ["b"], 0.0, f"{peer}#1")
    canvass = Canvass(hearing)
    voter = Voter(file=VoteFile(cluster="x", voter="b#1", view=view))
    wish = Wish(VoterChange("remove", "b#1"), told.append)
    canvass.pursue(wish)
    canvass.consider(voter, view, "b-incarnation", 0.0)
    assert canvass.proposer
    assert canvass.proposer.change == wish.change
    without_a = msgspec.structs.replace(view, epoch=8, voters=("b#1", "c#1", "d#1"))
    voter.file = msgspec.structs.replace(voter.file, view=without_a)
    for tries in range(MOST_DOUBTS):  # who votes may not have said so yet
        assert not told, tries
        canvass.proposer = None
        canvass.consider(voter, without_a, "b-incarnation", 1.0)
    assert told == [
        "of the 2 voters that there would be 1 are heard, and 2 are needed: nobody would be let in any more"
    ]
    assert canvass.wish is None
    assert canvass.proposer
    assert canvass.proposer.change is None


def test_a_voter_that_has_stopped_is_not_heard() -> None:
    view = View(epoch=7, voters=("a#1", "b#1", "c#1"), members=(), lease=Lease(10))
    assert "1 are heard" in unwise(VoterChange("remove", "a#1"), view, {"a#1", "b#1", ""})
    assert not unwise(VoterChange("remove", "a#1"), view, {"b#1", "c#1"})
    assert not unwise(VoterChange("add", "d#1"), view, {"b#1", "c#1"})
    alone = msgspec.structs.replace(view, voters=("a#1",))
    assert "is the last voter" in unwise(VoterChange("remove", "a#1"), alone, {"a#1"})


def test_of_two_changes_of_voters_one_is_told_to_wait() -> None:
    told: dict[str, list[str]] = {"first": [], "second": []}
    first, second = (Wish(VoterChange("remove", "a#1"), said.append) for said in told.values())
    canvass = Canvass(Hearing("b"))
    canvass.pursue(first)
    canvass.pursue(second)
    assert told == {
        "first": [],
        "second": ["another change of voters is under way; they change one at a time"],
    }
    canvass.give_up(second)
    assert canvass.wish is first
    canvass.give_up(first)
    assert canvass.wish is None


def test_who_only_votes_is_bound_to_what_the_members_run() -> None:
    async def go() -> None:
        a, b, v = memory("abv", only="v")
        async with started([a, b, v]):
            await begun(a, b, v)
            await eventually(lambda: membership(v).who.named == (True, True), "it goes by the view")
            assert membership(v).who.algorithm == membership(a).who.algorithm

    run(go(), SECONDS)


def test_the_last_voter_stays() -> None:
    async def go() -> None:
        async with started(memory("ab", voters=["a"])) as (a, b):
            await begun(a, b)
            with pytest.raises(UsageError, match="is the last voter and cannot be removed"):
                await change_voters(b.beginning, "remove", "a")

    run(go(), SECONDS)


def test_without_a_lease_nobody_votes() -> None:
    async def go() -> None:
        async with started(memory("ab", lease=None)) as (a, _):
            with pytest.raises(UsageError, match="nobody votes here"):
                await change_voters(a.beginning, "add", "b")

    run(go(), SECONDS)


def test_a_voter_that_has_lost_its_disk_is_replaced(tmp_path: Path) -> None:
    """Its node is heard, but has another vote file than the view names: it does not count as a voter that is there."""

    async def go() -> None:
        with ports(*"abc") as peers:

            def node(name: str, directory: str = "") -> Node:
                return Node(name, peers, lease=FOR_EVER, data_dir=tmp_path / (directory or name))

            a, b, c = nodes = [node(name) for name in "abc"]
            async with started(nodes):
                await begun(*nodes)
                await c.close()
                async with node("c", "new disk") as c:
                    await c.lock("x").acquire_or_raise(None)
                    await eventually(lambda: voters(a) == {"a": True, "b": True, "c": False}, "c has no vote")
                    assert "then `--add-voter c`" in c.trouble()
                    with pytest.raises(UsageError, match="first `soloist members --remove-voter c`"):
                        await change_voters(a.beginning, "add", "c")
                    await change_voters(a.beginning, "remove", "c")
                    await change_voters(a.beginning, "add", "c")
                    await eventually(lambda: voters(b) == dict.fromkeys("abc", True), "it has one")

    run(go(), SECONDS)


def test_a_goodbye_waits_for_the_connection_that_it_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node is closed when the cluster has just begun: its links are there, and those for renewals are not yet."""
    dial = Pulses._dial

    async def go() -> None:
        may_dial = asyncio.Event()

        async def later(self: Pulses, peer: Any) -> None:
            await may_dial.wait()
            await dial(self, peer)

        monkeypatch.setattr(Pulses, "_dial", later)
        with ports(*"abc") as peers:
            a, b, c = nodes = [Node(name, peers, lease=FOR_EVER, data_dir=tmp_path / name) for name in "abc"]
            async with started(nodes):
                await begun(*nodes)
                closing = asyncio.create_task(c.close())
                await eventually(lambda: membership(c).ended, "it is being closed")
                may_dial.set()
                await closing
                await eventually(lambda: a.members == b.members == ["a", "b"], "c has left")

    run(go(), SECONDS)


def test_a_goodbye_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are links and never a connection for renewals, a node can be closed all the same."""
    monkeypatch.setattr(membership_module, "FAREWELL_SECONDS", 0.01)

    async def never(self: Pulses, peer: Any) -> None:
        """Does not call."""

    monkeypatch.setattr(Pulses, "_dial", never)

    async def go() -> None:
        with ports(*"abc") as peers:
            nodes = [Node(name, peers, lease=FOR_EVER, data_dir=tmp_path / name) for name in "abc"]
            async with started(nodes):
                await begun(*nodes)
                assert nodes[0].transport.connected()

    run(go(), SECONDS)


# Real processes.


async def change(worker: Worker, kind: Any, name: str) -> int:
    return await change_voters(worker.node.beginning, kind, name)


async def who_votes(worker: Worker) -> list[str]:
    return sorted(worker.node.beginning.voters())


def test_two_nodes_and_a_voter_are_killed_and_changed_in_turn() -> None:
    """Under load: one of two is killed, then the third is replaced by a newcomer that votes as well."""
    with ports("d", "v") as own, Workers("ab", lease=FOR_EVER) as workers:
        assert workers._peers
        seed = {"a": workers._peers("a")["a"]}
        workers.hire("v", join=seed, listen=own["v"], voter_only=True)
        workers.hire("d", join=seed, listen=own["d"])
        workers.hear("v")
        workers.hear("d")
        workers.begin(Contend("x", entries=None, inside=0.001), ["b", "d"])
        for name in "vd":
            until(lambda name=name: _added(workers, name), f"{name} votes")
        assert workers.do("a", who_votes) == list("abdv")
        workers.do("a", change, "remove", "b")
        workers.kill("b")
        workers.restart("b")  # it remembers that it votes no more
        workers.kill("v")
        workers.restart("v")
        seen = workers.count()
        until(lambda: workers.count() > seen + 20, "d goes on")
        workers.halt(["d"])
        assert isinstance(workers.grab("b", "y")["y"], int)
        assert workers.do("b", who_votes) == list("adv")
        assert not [each for found in workers.findings().values() for each in found.problems]


def _added(workers: Workers, name: str) -> bool:
    """It may not be connected yet with the one that is asked."""
    return bool(workers.do("a", try_to_add, name))


async def try_to_add(worker: Worker, name: str) -> int:
    try:
        return await change_voters(worker.node.beginning, "add", name)
    except UsageError:
        return 0
