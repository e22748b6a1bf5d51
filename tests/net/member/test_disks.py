"""Data directories at run time: full, damaged, copied, of another cluster, used twice; and births that a crash interrupts."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from soloist.core import UsageError
from soloist.net import Node
from soloist.net.member.beginning import Beginning
from soloist.net.member.council import Council
from soloist.net.member.membership import Membership
from soloist.testing import Worker, Workers, ports, until
from tests.net.helpers import run
from tests.net.member.test_survival import fence_of

FOR_EVER = 600.0
LEASE = 2.0


class Lines(logging.Handler):
    """What this process has logged."""

    said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def listen() -> None:
    logging.getLogger("soloist.net").addHandler(Lines())


async def logged(worker: Worker) -> list[str]:
    return Lines.said


async def trouble(worker: Worker) -> str:
    """What `soloist status` would say."""
    return worker.node.trouble()


async def fill_the_disk(worker: Worker) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def test_a_voter_whose_disk_is_full_votes_no_more_and_the_rest_goes_on() -> None:
    with Workers("abc", lease=FOR_EVER, before=listen) as workers:
        kept = fence_of(workers, "b", "kept")
        before = fence_of(workers, "c", "wanted")
        workers.do("b", fill_the_disk)
        workers.restart("c")
        assert fence_of(workers, "a", "wanted") > before
        (said,) = [line for line in workers.do("b", logged) if "votes no more" in line]
        assert "File too large" in said
        assert str(workers.folder / "b") in said
        assert "it does not vote: " in workers.do("b", trouble)
        assert workers.held("b") == {"kept": kept}
        assert fence_of(workers, "b", "other")


def test_a_damaged_or_copied_vote_file_has_no_vote_but_its_node_is_a_member() -> None:
    with Workers("abc", lease=LEASE, before=listen) as workers:
        before = fence_of(workers, "b", "wanted")
        workers.kill("b")
        votes = workers.folder / "b" / "votes"
        votes.write_bytes(votes.read_bytes()[:-7])
        workers.restart("b")
        after = fence_of(workers, "b", "wanted")
        assert after > before
        assert [
            line for line in workers.do("b", logged) if "b does not vote" in line and "is damaged" in line
        ]
        workers.kill("c")
        copy = workers.folder / "copy"
        shutil.copytree(workers.folder / "c", copy)
        workers.hire("c", data_dir=str(copy))
        workers.hear("c")
        said = until(lambda: [line for line in workers.do("c", logged) if "c does not vote" in line])
        assert "is a copy" in said[0]


def test_nobody_is_born_while_a_vote_file_is_damaged() -> None:
    """What it says may be all that is left of an earlier life, whose fences were higher."""
    with Workers("abc", lease=FOR_EVER) as workers:
        fence_of(workers, "b", "wanted")
        for name in "abc":
            workers.kill(name)
            if name == "a":
                (workers.folder / name / "votes").write_bytes(b"")
            else:
                shutil.rmtree(workers.folder / name)
        for name in "abc":
            workers.restart(name)
        until(lambda: "the vote file of a is no good" in said(workers, "c"), "it is said why")
        assert "votes" in said(workers, "a")


def said(workers: Workers, name: str) -> str:
    found = workers.grab(name, "x", timeout=0.3)["x"]
    assert isinstance(found, str), "there are locks"
    return found


def test_a_directory_of_another_cluster_or_of_a_living_node_is_one_line(tmp_path: Path) -> None:
    async def go() -> None:
        with ports("a") as peers:
            async with Node("a", peers, lease=LEASE, data_dir=tmp_path, shortcut=False) as node:
                assert await node.lock("x").acquire(timeout=20)
                with pytest.raises(UsageError, match="in use by another node; give each its own") as twice:
                    await Node("a", peers, lease=LEASE, data_dir=tmp_path).start()
                assert str(tmp_path) in str(twice.value)
            with pytest.raises(UsageError, match="belongs to node 'a' of cluster 'soloist'") as other:
                await Node("a", peers, lease=LEASE, data_dir=tmp_path, cluster="other").start()
            assert str(tmp_path) in str(other.value)
            assert "'other'" in str(other.value)

    run(go())


# Births.


def die_once(kind: type[Any], method: str, when: str, marker: Path) -> None:
    """In the process of b: kill -9 when it is there for the first time, before or after what the method does."""
    if multiprocessing.current_process().name != "b":
        return
    original = getattr(kind, method)

    def deadly(self: Any, *args: Any) -> Any:
        first = not marker.exists()
        if when == "after":
            original(self, *args)
        if first:
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *args) if when == "before" else None

    setattr(kind, method, deadly)


class Unmet(Workers):
    def meet(self) -> None:
        """One of them will not live to see it."""


@pytest.mark.parametrize(
    ("kind", "method", "when"),
    [
        (Beginning, "met", "after"),
        (Membership, "hear", "after"),
        (Membership, "_born_as", "before"),
        (Council, "_install", "after"),
    ],
    ids=["met one", "heard of a company", "is about to begin", "has begun"],
)
def test_a_birth_that_a_crash_interrupts_goes_on(
    kind: type[Any], method: str, when: str, tmp_path: Path
) -> None:
    before = partial(die_once, kind, method, when, tmp_path / "died")
    with Unmet("abc", lease=FOR_EVER, before=before) as workers:
        until(lambda: not workers.alive("b"), "b dies at its birth")
        workers.restart("b")
        fences = []
        for name in "bca":
            fences.append(fence_of(workers, name, "x"))
            workers.free(name, "x")
        assert fences == sorted(set(fences))
