"""Where fences begin: by the clock, and above whatever a data directory knows of."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from soloist.core import UsageError
from soloist.net import MemoryHub, Node
from soloist.net.engine.instance import FENCE_BITS
from soloist.net.member.origin import MAX_EPOCH, DataDirectory, by_clock, epoch_of
from soloist.testing import ports
from tests.net.helpers import log_lines, run, split

JANUARY = 1704067200_000
"""The beginning of 2024, as the clock has it."""


def test_the_epoch_is_the_minutes_since_2024() -> None:
    """The first of them has number 1: by 0 a node says that it has no epoch yet."""
    assert epoch_of(by_clock(JANUARY + 59_999)) == 1
    assert epoch_of(by_clock(JANUARY + 60_000)) == 2
    assert by_clock(JANUARY) == by_clock(0) == 1 << FENCE_BITS
    assert epoch_of(by_clock(10**18)) == MAX_EPOCH
    assert MAX_EPOCH << FENCE_BITS < 2**63


def test_who_has_a_directory_for_a_moment_changes_nothing_that_it_says_of_the_process_before(
    tmp_path: Path,
) -> None:
    for began in (True, False, True):
        data = DataDirectory(tmp_path, "t", "a")
        data.incarnation = "1234" if began else ""
        data.serves, data.outlives = began, 60.0 if began else 0.0
        data.open()
        assert data.outlived == (0.0 if data.new else 60.0)
        assert data.previous == ""
        if not began:
            data.store(7)
        data.close()


def test_a_start_in_the_same_minute_begins_above_all_that_was_entered_before() -> None:
    """Even if a million entries per second were made in the meantime."""
    moments = [JANUARY + 3_600_000 + passed for passed in (0, 1, 2, 500, 59_998, 59_999, 60_000)]
    for before, after in pairwise(moments):
        assert by_clock(before) + (after - before) * 1000 < by_clock(after)
    counter = by_clock(JANUARY + 59_999) % (1 << FENCE_BITS)
    assert counter < 1 << FENCE_BITS - 2, "and leaves room for a trillion entries"


def test_a_data_directory_knows_the_epoch_and_belongs_to_one(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there"
    first = DataDirectory(path, "t", "a")
    assert first.open() == 1 << FENCE_BITS
    with pytest.raises(UsageError, match="is in use by another node"):
        DataDirectory(path, "t", "a").open()
    first.store(7)
    first.close()
    again = DataDirectory(path, "t", "a")
    assert again.open() == 8 << FENCE_BITS
    again.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()} == {0o600}
    assert {file.name for file in path.iterdir()} == {"epoch.json", "lock"}
    for cluster, node in (("t", "b"), ("u", "a")):
        with pytest.raises(UsageError, match="belongs to node 'a' of cluster 't'"):
            DataDirectory(path, cluster, node).open()
    (path / "epoch.json").write_bytes(b'{"cluster":"t"')
    with pytest.raises(UsageError, match="is damaged"):
        DataDirectory(path, "t", "a").open()


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"data_dir: .*file/x cannot be used: Not a directory"):
        DataDirectory(tmp_path / "file" / "x", "t", "a").open()
    beside = tmp_path / "y" / "epoch.new"
    beside.mkdir(parents=True)  # so that no file can be written there, not even by root
    data = DataDirectory(tmp_path / "y", "t", "a")
    with pytest.raises(UsageError, match=r"data_dir: .*y cannot be used: Is a directory"):
        data.open()
    beside.rmdir()
    data.open()
    data.close()


async def one_fence(data_dir: Path | None) -> int:
    node = Node("a", {"a": ""}, transport=MemoryHub().transport("a"), data_dir=data_dir)
    async with node, node.lock("x") as hold:
        return hold.fence


def test_a_clock_that_is_set_back_is_made_up_for_by_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fences = [run(one_fence(tmp_path))]
    monkeypatch.setattr("time.time_ns", lambda: JANUARY * 1_000_000)
    fences += [run(one_fence(tmp_path)), run(one_fence(tmp_path))]
    assert [after > before for before, after in pairwise(fences)] == [True, True]
    assert [epoch_of(after) - epoch_of(before) for before, after in pairwise(fences)] == [1, 1]
    assert run(one_fence(None)) < fences[0], "without one, it is not"


@pytest.mark.parametrize("lease", [None, 10.0])
def test_a_cluster_begins_where_the_clock_was_never_set(
    lease: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on boards without a battery, which wake up in 1970."""
    monkeypatch.setattr("time.time_ns", lambda: 0)

    async def main() -> None:
        hub = MemoryHub()
        nodes = [
            Node(name, dict.fromkeys("ab", ""), transport=hub.transport(name), lease=lease) for name in "ab"
        ]
        async with nodes[0], nodes[1], nodes[1].lock("x", timeout=20) as hold:
            assert epoch_of(hold.fence) == 1

    run(main())


def test_nobody_is_let_in_before_the_epoch_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, os.strerror(28))

    async def main() -> None:
        node = Node("a", {"a": ""}, transport=MemoryHub().transport("a"), data_dir=tmp_path)
        opened = DataDirectory.open
        monkeypatch.setattr(
            DataDirectory, "open", lambda self: (opened(self), monkeypatch.setattr("os.fsync", full))[0]
        )
        async with node:
            assert await node.lock("x").acquire(timeout=0.05) is None
            assert "No space left on device" in node.trouble()

    with log_lines() as lines:
        run(main())
    assert ["No space left on device" in line for line in lines] == [True]


def test_a_forked_child_keeps_neither_the_directory_nor_the_sockets(tmp_path: Path) -> None:
    """Else the node would seem alive to its peers, and its directory taken, when it has long been killed."""
    program = """
import asyncio, json, os, sys
from soloist import Node

async def main():
    peers = {"a": f"127.0.0.1:{sys.argv[2]}"}
    async with Node("a", peers, data_dir=sys.argv[1]) as node:
        numbers = node.descriptors()
        assert len(numbers) >= 3, numbers
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writer, json.dumps([os.readlink(f"/proc/self/fd/{n}") for n in numbers]).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(os.read(reader, 10000).decode())
        async with node.lock("x"):
            print("and the parent goes on")

asyncio.run(main())
"""
    with ports("a") as peers:
        words = [sys.executable, "-c", program, str(tmp_path), str(split(peers, "a")[1])]
        out = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert out.returncode == 0, out.stderr
    links, goes_on = out.stdout.splitlines()
    assert set(json.loads(links)) == {"/dev/null"}
    assert goes_on
