"""Nodes in processes of their own, and links between them that are cut: what a nemesis will do, one thing at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any, cast

import pytest

from soloist.core import SoloistError, UsageError
from soloist.testing import Contend, Proxies, Workers, until


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Workers, Proxies]]:
    with Proxies("abc") as proxies, Workers("abc", peers=proxies.peers, remember=True) as workers:
        yield workers, proxies


def test_all_contend_before_the_witness(cluster: tuple[Workers, Proxies]) -> None:
    workers, _ = cluster
    done = workers.contend(Contend("x", entries=20))
    assert [len(each.waits) for each in done] == [20] * 3
    found = workers.findings()["x"]
    assert (found.entries, found.exits, found.most_inside, found.problems) == (60, 60, 1, [])
    assert len(found.order) == 60
    assert workers.messages() > 0


def test_patience_is_a_time_and_not_a_number_of_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and the last are done, so nobody need wait for what they say; the one between them is slow."""
    pipes = {name: Pipe() for name in "abc"}
    workers = Workers("abc")
    workers._hands = {name: cast(Any, SimpleNamespace(pipe=ours)) for name, (ours, _) in pipes.items()}
    for name in "ac":
        pipes[name][1].send("done")
    soon = time.monotonic() + 1
    monkeypatch.setattr(workers, "count", lambda: 3 if time.monotonic() > soon else 0)
    looks: list[int] = []
    workers._follow(0, 3, lambda done, total: looks.append(done))
    assert looks[-1] == 3
    for both in pipes.values():
        for end in both:
            end.close()


def test_one_keeps_a_lock_until_it_is_told_to_give_it_back(cluster: tuple[Workers, Proxies]) -> None:
    workers, _ = cluster
    mine = workers.grab("a", "kept")["kept"]
    assert str(workers.grab("b", "kept", timeout=0)["kept"]).startswith("AcquireTimeout: ")
    assert workers.free("a", "kept") == {"kept": mine}
    theirs = workers.grab("b", "kept")["kept"]
    assert int(theirs) > int(mine)
    workers.free("b", "kept")


def test_a_paused_node_stops_the_others_no_longer_than_it_is_paused(cluster: tuple[Workers, Proxies]) -> None:
    workers, _ = cluster
    workers.grab("a", "paused")
    workers.pause("a")
    workers.begin(Contend("paused", entries=1), ["b"])
    assert not workers.says("b")
    workers.resume("a")
    workers.free("a", "paused")
    assert len(workers.hear("b").waits) == 1


@pytest.mark.parametrize("trouble", ["cut", "cut_one_way", "the other way", "split", "ring and reset"])
def test_a_cut_link_is_silence_and_nothing_is_lost_when_it_is_healed(
    trouble: str, cluster: tuple[Workers, Proxies]
) -> None:
    """Two contend all the while. Whatever was cut, they come to an end when all is healed."""
    workers, proxies = cluster
    lock = f"during {trouble}"
    workers.begin(Contend(lock, entries=None))
    until(lambda: lock in workers.findings(), "they are at it")
    if trouble == "cut":
        proxies.cut("a", "b")
    elif trouble == "cut_one_way":
        proxies.cut_one_way("a", "c")
    elif trouble == "the other way":
        proxies.cut_one_way("c", "a")
    elif trouble == "split":
        proxies.split("a", "bc")
    else:
        proxies.ring()
        proxies.delay("a", "b", 0.01)
        proxies.reset("a", "b")
        proxies.reset_after("b", "c", 100)
    before = workers.count()
    proxies.heal()
    until(lambda: workers.count() > before + 20, "they go on")
    workers.halt()
    found = workers.findings()[lock]
    assert (found.problems, found.entries) == ([], found.exits)


def test_across_a_cut_nobody_hears_the_other(cluster: tuple[Workers, Proxies]) -> None:
    """Whoever has the token keeps it, and the other gets it as soon as the link is whole again."""
    workers, proxies = cluster
    workers.grab("a", "far")
    proxies.split("a", "bc")
    workers.free("a", "far")
    workers.begin(Contend("far", entries=1), ["b", "c"])
    seen = workers.count()
    workers.grab("a", "far")  # at home
    assert workers.count() == seen + 1
    assert not workers.says("b")
    assert not workers.says("c")
    workers.free("a", "far")
    proxies.heal()
    for name in "bc":
        workers.hear(name)
    assert not workers.findings()["far"].problems


def test_a_killed_one_is_dead_inside_and_may_be_started_again() -> None:
    with Workers("ab") as workers:
        workers.grab("a", "x")
        workers.kill("a")
        until(lambda: workers.findings()["x"].vanished, "the witness has noticed")
        with pytest.raises(SoloistError, match=r"a (died|is dead)"):
            workers.grab("a", "y")
        workers.restart("a")
        assert workers.alive("a")
        assert not workers.findings()["x"].problems


def test_wrong_names_are_told() -> None:
    with Proxies("ab") as proxies:
        with pytest.raises(UsageError, match="there is no node 'c', only a, b"):
            proxies.cut("a", "c")
        with pytest.raises(UsageError, match="two ends"):
            proxies.cut("a", "a")


def test_what_a_node_refuses_is_said_here() -> None:
    with (
        pytest.raises(SoloistError, match=r"a failed: UsageError: .*did you mean"),
        Workers("a", algorithm="lamprot"),
    ):
        pass
