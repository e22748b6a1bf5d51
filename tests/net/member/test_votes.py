"""The vote file: there after any crash, whole or known to be bad; and a disk that fails ends the voting."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from soloist.core import UsageError
from soloist.net import AcquireTimeout
from soloist.net import Node as RealNode
from soloist.net.member import home, votes
from soloist.net.member.home import default_directory
from soloist.net.member.origin import DataDirectory
from soloist.net.member.place import Place
from soloist.net.member.votes import POINTS, CannotStore, DiskVotes, MemoryVotes, Votes
from soloist.testing import eventually, ports, started
from soloist.views.effects import Store, VoteFile
from soloist.views.messages import Renew
from soloist.views.view import Ballot, Lease, Node, View, Vote
from soloist.views.voter import Voter
from tests.net.helpers import log_lines, run

PEERS = {"a": "127.0.0.1:7401", "b": "127.0.0.1:7402"}


@contextmanager
def opened(
    path: Path,
    peers: dict[str, str] | None = PEERS,
    source: str = "one.toml",
    cluster: str = "t",
    node: str = "a",
) -> Iterator[DiskVotes]:
    directory = DataDirectory(path, cluster, node)
    directory.open()
    kept = DiskVotes(directory, peers, source)
    try:
        yield kept
    finally:
        kept.close()
        directory.close()


def view(epoch: int, members: int = 2) -> View:
    return View(
        epoch=epoch,
        voters=("a#1", "b#1"),
        members=tuple(Node(f"n{i}", f"{i:032x}", f"10.0.0.{i}:7400") for i in range(members)),
        lease=Lease(2.0, margin=0.05),
    )


def full(file: VoteFile) -> VoteFile:
    """Something in every field."""
    ballot = Ballot(3, "n1")
    return msgspec.structs.replace(
        file, view=view(7), ballot=ballot, accepted=Vote(ballot, view(8)), banned=("0" * 32,), start=4
    )


def test_what_was_stored_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "d"
    with opened(path) as kept:
        assert kept.file.view is None
        assert kept.file.start == 0
        assert not kept.bad
        stored = full(kept.file)
        kept.store(stored)
        assert (kept.stores, kept.seconds > 0) == (1, True)
    with opened(path) as again:
        assert not again.bad
        assert again.file == msgspec.structs.replace(stored, place=again.place)
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()} == {0o600}
    assert {file.name for file in path.iterdir()} == {"epoch.json", "lock", "votes"}


def test_one_that_was_never_stored_is_another_voter_each_time(tmp_path: Path) -> None:
    """Else one that has lost its file would be taken for the one that promised something."""
    ids = []
    for _ in range(3):
        with opened(tmp_path) as kept:
            ids.append(kept.file.voter)
    assert len(set(ids)) == 3


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in the header": lambda content: content[:20],
    "cut in the body": lambda content: content[:-1],
    "longer": lambda content: content + b" ",
    "one bit": lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
    "zeros": lambda content: bytes(len(content)),
    "no text": lambda content: b"\xff\xfe" * 100,
    "another version": lambda content: content.replace(b"votes 1", b"votes 2", 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_bad_and_is_not_written_over(tmp_path: Path, damage: str) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    file = tmp_path / "votes"
    file.write_bytes(garbled := DAMAGE[damage](file.read_bytes()))
    with opened(tmp_path) as kept:
        assert kept.bad == f"{file} is damaged"
        assert kept.file.view is None
        with pytest.raises(CannotStore, match="is damaged"):
            kept.store(full(kept.file))
    assert file.read_bytes() == garbled


def test_every_cut_and_every_bit_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    content = (tmp_path / "votes").read_bytes()
    assert votes._decode(content)
    assert not any(votes._decode(content[:end]) for end in range(len(content)))
    for at in range(len(content)):
        assert not votes._decode(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])


def test_a_whole_file_of_nonsense_is_bad(tmp_path: Path) -> None:
    """Its checksum is right, and what it says could never be: a view without voters, or nothing that we know."""
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    file = tmp_path / "votes"
    good = file.read_bytes().partition(b"\n")[2]
    for body in (good.replace(b'["a#1","b#1"]', b"[]"), b"[]", good.replace(b'"start":4', b'"start":"x"')):
        assert body != good
        file.write_bytes(f"{votes.HEADER} {votes._checksum(body)}\n".encode() + body)
        with opened(tmp_path) as kept:
            assert kept.bad.endswith("is damaged")


def test_a_file_that_cannot_be_read_is_bad(tmp_path: Path) -> None:
    (tmp_path / "votes").mkdir(parents=True)
    files = len(os.listdir("/dev/fd"))
    with opened(tmp_path) as kept:
        assert "Is a directory" in kept.bad
    assert len(os.listdir("/dev/fd")) == files, "and nothing stays open"


def test_whoever_has_a_bad_file_can_be_a_voter_to_be(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
        before = kept.file.voter
    (tmp_path / "votes").write_bytes(b"x")
    with opened(tmp_path) as kept:
        kept.begin_anew()
        assert not kept.bad
        assert kept.file.voter != before
        kept.store(kept.file)
    assert (tmp_path / "votes.bad").read_bytes() == b"x"
    with opened(tmp_path) as kept:
        assert not kept.bad
        assert kept.file.view is None


def test_nothing_is_put_in_place_before_it_is_on_disk_and_the_directory_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process shows nothing of this: what it wrote is in the system's memory."""
    calls: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        found = os.fstat(descriptor)
        calls.append("sync directory" if stat.S_ISDIR(found.st_mode) else f"sync {found.st_size > 100}")
        sync(descriptor)

    def replaced(*args: str, **options: int) -> None:
        calls.append(f"replace {args[1]}")
        replace(*args, **options)

    with opened(tmp_path) as kept:
        monkeypatch.setattr("os.fsync", synced)
        monkeypatch.setattr("os.replace", replaced)
        kept.store(full(kept.file))
        calls.append("said")
    assert calls == ["sync True", "replace votes", "sync directory", "said"]


# Copies.


def test_a_copied_directory_is_bad(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as kept:
        kept.store(full(kept.file))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with opened(tmp_path / "two") as copy:
        assert "is a copy: it was written in another directory" in copy.bad
    (tmp_path / "one").rename(tmp_path / "three")
    with opened(tmp_path / "three") as moved:
        assert not moved.bad, "there is still only one"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"machine": "m"}, "another machine"),
        ({"filesystem": 1}, "another file system"),
        ({"device": 1}, "another file system"),
        ({"inode": 1}, "another directory"),
        ({"device": 1, "boot": "b"}, ""),  # device numbers are dealt anew
        ({"boot": "b"}, ""),
    ],
)
def test_what_makes_another_place(tmp_path: Path, change: dict[str, int | str], words: str) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    here = Place.of(descriptor)
    os.close(descriptor)
    why = here.differs(msgspec.structs.replace(here, **change))
    assert words in why
    assert bool(words) == bool(why)


def test_a_file_from_another_machine_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    monkeypatch.setattr("soloist.net.member.place.machine_id", lambda: "another")
    with opened(tmp_path) as kept:
        assert "it was written on another machine" in kept.bad


def test_a_file_for_other_peers_is_bad_and_names_both_sources(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    with opened(tmp_path, {**PEERS, "c": "127.0.0.1:7403"}, "two.toml") as kept:
        assert not kept.bad, "some have come; the view decides"
    others = {"a": "127.0.0.1:7401", "b": "127.0.0.1:7502", "c": "127.0.0.1:7403"}
    with opened(tmp_path, others, "two.toml") as kept:
        assert "the peers of one.toml (a 127.0.0.1:7401, b 127.0.0.1:7402), " in kept.bad
        assert "not for those of two.toml (a 127.0.0.1:7401, b 127.0.0.1:7502, c 127.0.0.1:7403)" in kept.bad
    with opened(tmp_path, {"a": "127.0.0.1:7401"}) as kept:
        assert kept.bad.endswith(
            "the peers (a 127.0.0.1:7401, b 127.0.0.1:7402), not for those (a 127.0.0.1:7401)"
        ), "one source need not be named twice"
    with opened(tmp_path, None) as kept:
        assert not kept.bad, "nobody asked"
        kept.store(kept.file)
    with opened(tmp_path, PEERS) as kept:
        assert not kept.bad, "and what was written for whom is not forgotten"


def test_a_file_of_another_node_or_cluster_is_bad(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    for cluster, node in (("u", "a"), ("t", "b")):
        (tmp_path / "epoch.json").unlink()  # it would refuse before us
        with opened(tmp_path, cluster=cluster, node=node) as kept:
            assert f"belongs to 'a' of cluster 't', not to {node!r} of {cluster!r}" in kept.bad


def run_voter(kept: Votes, seen: int = 0) -> Voter:
    """A voter starts on the file, stores what it wants stored, and hears a member that has seen this start of it."""
    voter = Voter.start(kept.file, kept.place, 0.0)
    voter.receive("0" * 32, Renew("0" * 32, 1, 7, start=seen), 0.1)
    for effect in voter.out:
        if isinstance(effect, Store):
            kept.store(effect.file)
    return voter


def test_an_older_file_put_back_is_found_out_by_its_start_number(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        kept.store(full(kept.file))
    backup = (tmp_path / "votes").read_bytes()
    starts = []
    for _ in range(2):
        with opened(tmp_path) as kept:
            voter = run_voter(kept, max(starts, default=0))
            assert not voter.stopped
            starts.append(kept.file.start)
    assert starts == [5, 6]
    (tmp_path / "votes").write_bytes(backup)
    with opened(tmp_path) as kept:
        assert not kept.bad, "it lies where it was written"
        assert "start 6 of this voter was seen, but its file says 5" in run_voter(kept, 6).stopped


def test_votes_in_memory_last_from_one_voter_to_the_next() -> None:
    kept = MemoryVotes("t", "a")
    assert kept.file.voter != MemoryVotes("t", "a").file.voter
    kept.store(full(kept.file))
    assert not run_voter(kept, 4).stopped
    assert not run_voter(kept, 5).stopped
    assert kept.file.start == 6
    kept.bad = "as a test wants it"
    with pytest.raises(CannotStore):
        kept.store(kept.file)
    kept.begin_anew()
    kept.store(kept.file)
    assert kept.file.view is None


# Disks that fail.


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_once_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    with opened(tmp_path) as kept:
        kept.store(first := full(kept.file))
        with monkeypatch.context() as broken:
            broken.setattr(f"os.{call}", failing(number))
            with pytest.raises(CannotStore, match=f"votes cannot be written: {os.strerror(number)}"):
                kept.store(msgspec.structs.replace(first, start=5))
        with pytest.raises(CannotStore, match=os.strerror(number)):
            kept.store(first)
        assert kept.file == first
    assert not (tmp_path / "votes.new").exists()
    with opened(tmp_path) as kept:
        assert not kept.bad, "what was stored before is still there"
        assert kept.file.start == 4


def test_a_sync_of_the_directory_that_fails_is_a_store_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            failing(errno.EIO)()
        real(descriptor)

    with opened(tmp_path) as kept:
        monkeypatch.setattr("os.fsync", only_files)
        with pytest.raises(CannotStore, match="Input/output error"):
            kept.store(kept.file)
        monkeypatch.undo()


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """As far as this process goes: files may not become larger than they are."""
    with opened(tmp_path) as kept:
        kept.store(first := full(kept.file))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with pytest.raises(CannotStore, match="File too large"):
                kept.store(msgspec.structs.replace(first, view=view(9, 100)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        with pytest.raises(CannotStore, match="File too large"):
            kept.store(first)
    with opened(tmp_path) as kept:
        assert kept.file.view == view(7)


def test_what_does_not_read_as_it_was_written_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as kept:
        monkeypatch.setattr(kept, "_content", lambda: b"something else")
        with pytest.raises(CannotStore, match="does not read as it was written"):
            kept.store(kept.file)


def test_a_directory_that_is_taken_away_ends_the_voting(tmp_path: Path) -> None:
    with opened(tmp_path / "d") as kept:
        kept.store(kept.file)
        shutil.rmtree(tmp_path / "d")
        with opened(tmp_path / "d") as other:  # the lock of the file that was removed keeps nobody out
            other.store(other.file)
            with pytest.raises(CannotStore, match="No such file"):
                kept.store(kept.file)
    with opened(tmp_path / "e") as kept:
        (tmp_path / "e" / "lock").unlink()
        with opened(tmp_path / "e"), pytest.raises(CannotStore, match="its lock file was replaced"):
            kept.store(kept.file)


def test_after_closing_nothing_is_stored(tmp_path: Path) -> None:
    with opened(tmp_path) as kept:
        assert len(kept.descriptors()) == 1
    assert kept.descriptors() == []
    with pytest.raises(CannotStore, match="is closed"):
        kept.store(kept.file)


# Processes.

DYING = """
import os, signal, sys
from pathlib import Path
import msgspec
from soloist.net.member.votes import DiskVotes
from tests.net.member.test_votes import opened, view

path, point, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with opened(path) as kept:
    def reached(here):
        if here == point and kept.file.start == count:
            os.kill(os.getpid(), signal.SIGKILL)
    kept.reached = reached
    while True:
        kept.store(msgspec.structs.replace(kept.file, start=kept.file.start + 1, view=view(kept.file.start + 1)))
        print(kept.file.start, flush=True)
"""


@pytest.mark.parametrize("point", POINTS)
def test_killed_in_the_middle_of_a_store_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, point: str
) -> None:
    words = [sys.executable, "-c", DYING, str(tmp_path), point, "3"]
    died = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    said = [int(line) for line in died.stdout.split()]
    with opened(tmp_path) as kept:
        assert not kept.bad
        assert kept.file.view == view(kept.file.start)
        assert kept.file.start == (4 if point == "renamed" else 3)
        assert kept.file.start >= said[-1]
        kept.store(full(kept.file))
    assert not (tmp_path / "votes.new").exists()


def test_killed_anywhere_nothing_that_was_said_is_forgotten(tmp_path: Path) -> None:
    """At moments that nobody chose."""
    last = 0
    for _ in range(3):
        words = [sys.executable, "-c", DYING, str(tmp_path), "never", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as storing:
            assert storing.stdout
            for line in storing.stdout:
                last = int(line)
                if last % 7 == 5:
                    storing.kill()
        with opened(tmp_path) as kept:
            assert not kept.bad
            assert last <= kept.file.start <= last + 1
            assert kept.file.view == view(kept.file.start)


def test_two_processes_at_once(tmp_path: Path) -> None:
    words = [sys.executable, "-c", DYING, str(tmp_path), "never", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as storing:
        assert storing.stdout
        assert storing.stdout.readline()
        with pytest.raises(UsageError, match="is in use by another node"), opened(tmp_path):
            pass
        storing.kill()


# Where it is, if nobody says.


def test_the_first_place_that_is_offered_and_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/service:{tmp_path}/more")
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/desktop")
    monkeypatch.setenv("HOME", f"{tmp_path}/home")
    wanted = ("service", "desktop", "home/.local/state")
    for base, variable in zip(wanted, ("STATE_DIRECTORY", "XDG_STATE_HOME", None), strict=True):
        assert default_directory("t", base) == tmp_path / base / "soloist" / "t" / home._segment(base)
        assert stat.S_IMODE((tmp_path / base / "soloist/t" / home._segment(base)).stat().st_mode) == 0o700
        if variable:
            monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_STATE_HOME", "relative/ones/do/not/count")
    assert default_directory("t", "a") == tmp_path / "home/.local/state/soloist/t/a"


def test_data_that_is_there_already_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    first = default_directory("t", "a")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new"))
    assert default_directory("t", "a") == first
    assert default_directory("t", "b") == tmp_path / "new/soloist/t/b"


def test_no_place_at_all_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/file")
    monkeypatch.setenv("HOME", f"{tmp_path}/file/home")
    with pytest.raises(UsageError) as caught:
        default_directory("t", "a")
    assert str(caught.value).startswith(
        "no data directory for 'a', and a lease needs one; give data_dir=, or lease=None to do without both ("
    )
    assert str(caught.value).count("Not a directory") == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "ü", "a%2Fb", "...", "C:"])
def test_every_name_is_one_part_of_a_path(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    path = default_directory("t", name)
    assert path.resolve().parent == (tmp_path / "soloist" / "t").resolve()
    assert default_directory("t", "a%2Fb") != default_directory("t", "a/b")


@pytest.mark.parametrize("bad", ["b", "ab", "abc"])
def test_a_cluster_does_not_begin_while_a_vote_file_is_bad(tmp_path: Path, bad: str) -> None:
    """Those who have lost theirs may have promised something, and the one that is bad may say so."""

    async def main() -> None:
        for name in bad:
            (tmp_path / name).mkdir()
            (tmp_path / name / "votes").write_bytes(b"x")
        with ports("a", "b", "c") as peers, log_lines() as lines:
            nodes = [RealNode(name, peers, lease=10.0, data_dir=tmp_path / name) for name in peers]
            why = f"the vote file of {', '.join(bad)} is no good"
            async with started(nodes):
                await eventually(lambda: all(why in node.trouble() for node in nodes))
                with pytest.raises(AcquireTimeout, match=why):
                    async with nodes[0].lock("x", timeout=0.1):
                        pass
            assert len([line for line in lines if "does not vote" in line]) == len(bad)
            assert len([line for line in lines if why in line]) == 3

            for name in bad:
                (tmp_path / name / "votes").unlink()
            again = [RealNode(name, peers, lease=10.0, data_dir=tmp_path / name) for name in peers]
            async with started(again), again[0].lock("x", timeout=20):
                pass

    run(main())
