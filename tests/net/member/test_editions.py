"""A vote file that was put back, from whenever, is found out before it votes: real processes, and the rules alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from soloist.net.member.editions import Editions
from soloist.net.member.origin import DataDirectory
from soloist.net.member.parcel import Parcel
from soloist.net.member.votes import DiskVotes
from soloist.testing import Workers, until
from soloist.views import Ballot, Lease, Node, View, Voter
from soloist.views.messages import Accept, Fetch, Join, Prepare, Renew
from tests.net.member.test_disks import FOR_EVER, listen, logged
from tests.net.member.test_survival import fence_of

RESTORED = "which this one knows nothing of: it was restored"


@pytest.mark.parametrize("restarts", [0, 1], ids=["of the last run", "of the run before"])
def test_an_older_vote_file_that_is_put_back_votes_no_more(restarts: int) -> None:
    """Whatever was promised since is not in it."""
    with Workers("abc", lease=FOR_EVER, before=listen) as workers:
        before = fence_of(workers, "b", "x")
        votes, old = workers.folder / "b" / "votes", workers.folder / "old"
        shutil.copy(votes, old)
        for _ in range(restarts):
            workers.restart("b")
            assert fence_of(workers, "b", "y")
        workers.restart("c")  # a change of view: b promises, accepts and stores
        fence = fence_of(workers, "c", "z")
        workers.kill("b")
        shutil.copy(old, votes)
        workers.restart("b")
        said = until(
            lambda: [line for line in workers.do("b", logged) if "votes no more" in line], "it is found out"
        )
        assert RESTORED in said[0]
        after = fence_of(workers, "b", "x")  # it is a member all the same
        assert after > max(before, fence)


def test_the_same_file_put_back_is_as_good_as_the_original() -> None:
    with Workers("abc", lease=FOR_EVER, before=listen) as workers:
        fence_of(workers, "b", "x")
        workers.kill("b")
        votes, copy = workers.folder / "b" / "votes", workers.folder / "copy"
        shutil.copy(votes, copy)
        shutil.copy(copy, votes)
        workers.restart("b")
        fence_of(workers, "b", "y")
        workers.kill("a")
        workers.restart("a")  # without the vote of b or of a there was no majority for this
        assert fence_of(workers, "a", "z")
        assert not [line for line in workers.do("b", logged) if "votes no more" in line]


# The rules alone.


def votes_of(path: Path) -> DiskVotes:
    directory = DataDirectory(path, "c", "b")
    directory.open()
    return DiskVotes(directory)


def voter_of(votes: DiskVotes) -> Voter:
    members = tuple(Node(name, name + "1", "") for name in "abc")
    view = View(epoch=5, voters=("a#1", "b#1", "c#1"), members=members, lease=Lease(10.0))
    file = votes.file
    if file.view is None:
        votes.store(type(file)(cluster="c", voter="b#1", view=view, place=votes.place))
    voter = Voter.start(votes.file, votes.place, 0.0)
    for effect in voter.out:
        votes.store(effect.file)  # type: ignore[union-attr]
    voter.out.clear()
    return voter


def close(votes: DiskVotes) -> None:
    votes.close()
    votes.directory.close()


def parcel(peer: str, **seen: int) -> Parcel:
    return Parcel(peer, [], [], f"{peer}#1", 7, {key.replace("_", "#"): value for key, value in seen.items()})


def test_nothing_that_binds_is_answered_before_a_majority_has_said_what_it_has_seen(tmp_path: Path) -> None:
    first = votes_of(tmp_path)
    editions, voter = Editions(first, "b"), voter_of(first)
    assert not editions.withhold(voter, Renew("a1", 1, 5)), "it has never voted"
    seen = first.edition
    assert editions.shown("a", voter) == ("b#1", seen, {})
    close(first)

    second = votes_of(tmp_path)
    assert second.loaded == seen
    editions, voter = Editions(second, "b"), voter_of(second)
    prepare = Prepare(6, Ballot(1, "a1"), asked=True)
    assert voter.view
    for message in (Renew("a1", 1, 5), prepare, Accept(Ballot(1, "a1"), voter.view)):
        assert editions.withhold(voter, message)
    assert not editions.withhold(voter, Join(Node("d", "d1", ""))), "that binds nobody"
    assert not editions.withhold(voter, Fetch(4))
    assert editions.shown("a", voter) == ("", 0, {}), "nobody shall take it for its newest"
    editions.compare("d", parcel("d", b_1=seen), voter)
    assert editions.withhold(voter, prepare), "d is no voter"
    editions.compare("a", parcel("a", b_1=seen), voter)
    assert not editions.withhold(voter, prepare)
    assert editions.shown("a", voter) == ("b#1", second.edition, {"a#1": 7})
    editions.compare("c", parcel("c", b_1=second.edition), voter)
    assert voter.votes
    close(second)


@pytest.mark.parametrize("further", [-1, 0, 1])
def test_an_edition_of_another_run_is_found_out_wherever_it_lies(tmp_path: Path, further: int) -> None:
    """Above all of ours, below our first, or between."""
    votes = votes_of(tmp_path)
    voter_of(votes)
    close(votes)
    votes = votes_of(tmp_path)
    editions, voter = Editions(votes, "b"), voter_of(votes)
    seen = {-1: votes.loaded + 1, 0: votes.edition - 1, 1: votes.edition + 1}[further]
    editions.compare("a", parcel("a", b_1=seen), voter)
    assert RESTORED in voter.stopped
    assert not voter.votes
    close(votes)
