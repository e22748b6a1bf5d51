"""What a change of view looks like from outside: figures, lines in the log, and who is missing, in words."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from soloist.net import Node
from soloist.net.engine import table
from soloist.net.member.membership import Membership
from soloist.net.telemetry.metrics import Metrics
from soloist.testing import connected, crash, eventually, memory_cluster, ports, started
from tests.net.helpers import log_lines, run
from tests.net.telemetry.test_metrics import figures

FOR_EVER = 600.0
SHORT = 1.5


def membership(node: Node) -> Membership:
    assert isinstance(node.beginning, Membership)
    return node.beginning


def test_a_change_of_view_is_counted_and_timed(tmp_path: Path) -> None:
    async def go() -> None:
        with ports("a", "b", "c") as peers:
            nodes = [
                Node(name, peers, lease=FOR_EVER, data_dir=tmp_path / name, shortcut=False, sentinel=False)
                for name in peers
            ]
            metrics = Metrics(nodes[0])

            def seen() -> dict[str, float]:
                return figures(metrics.text())

            async with started(nodes[:2]) as (a, b):
                assert seen()["soloist_epoch"] == 0
                async with nodes[2] as c:
                    await connected(a, b, c)
                    await a.lock("x").acquire_or_raise(None)
                    await eventually(lambda: "soloist_view_changes_total[birth]" in seen(), "it was told")
                    await eventually(lambda: seen()["soloist_voters_heard"] == 3)
                    born = seen()
                    assert born["soloist_epoch"] == a.epoch > 0
                    assert born["soloist_voters"] == 3
                    assert 0 < born["soloist_lease_margin_seconds"] <= FOR_EVER
                    assert born["soloist_fsync_seconds_count"] >= 1
                    assert born["soloist_recovery_seconds_count"] == 0
                    epoch = a.epoch
                await eventually(lambda: a.epoch > epoch, "c has left")
                await eventually(lambda: "soloist_view_changes_total[leave]" in seen())
                left = seen()
                await eventually(lambda: seen()["soloist_voters_heard"] == 2)
                assert left["soloist_recovery_seconds_count"] == left["soloist_pause_seconds_count"] == 1
                assert left["soloist_recovery_seconds_sum"] >= left["soloist_pause_seconds_sum"]
                assert left["soloist_fsync_seconds_count"] > born["soloist_fsync_seconds_count"]
                assert "soloist_losses_total[lock]" not in left
                out = membership(a).who.incarnation
                membership(b).council.dead(out, "a false proof")
                await eventually(lambda: membership(a).who.incarnation != out and membership(a).open)
                assert seen()["soloist_losses_total[lock]"] == 1
                assert await b.lock("x").acquire_or_raise(None)
                other = Node("c", peers, lease=FOR_EVER, data_dir=tmp_path / "d", algorithm="lamport")
                async with other:
                    await eventually(lambda: seen()["soloist_refused_joins_total"] > 0, "it was refused")

    run(go())


def test_a_crash_and_who_comes_and_goes_are_reasons_of_their_own() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            metrics = Metrics(a)
            await a.lock("x").acquire_or_raise(None)
            epoch = a.epoch
            await crash(c, a, b)
            await eventually(lambda: a.epoch > epoch)
            await eventually(lambda: figures(metrics.text()).get("soloist_view_changes_total[crash]") == 1)
            out = membership(b).who.incarnation
            membership(a).council.dead(out, "a false proof")
            await eventually(lambda: figures(metrics.text()).get("soloist_view_changes_total[join]") == 1)
            assert figures(metrics.text())["soloist_view_changes_total[crash]"] == 2

    run(go())


def test_each_phase_of_a_change_is_one_line() -> None:
    async def go() -> list[str]:
        async with memory_cluster("abc", lease=FOR_EVER) as (a, b, c):
            await a.lock("x").acquire_or_raise(None)
            epoch = a.epoch
            with log_lines(logging.INFO) as lines:
                await crash(c, a, b)
                await eventually(lambda: a.epoch > epoch)
            found = [line for line in lines if line.startswith(f"a: epoch {epoch + 1}")]
            assert len(found) == 4, found
            return [line.partition(" s: ")[2] for line in found]

    reason, stopped, decided, begun = run(go())
    assert reason == "c is gone (it crashed)"
    assert stopped == "nobody is let in until it begins; 1 held here"
    assert decided == "decided: without c (it crashed)"
    assert begun == "a, b"


def test_who_is_missing_is_said_once_on_both_sides_and_in_the_status() -> None:
    async def go() -> None:
        async with memory_cluster("abc", lease=SHORT) as (a, b, c):
            metrics = Metrics(a)
            await a.lock("x").acquire_or_raise(None)
            epoch = a.epoch
            with log_lines() as lines:
                await crash(c)
                await eventually(lambda: "not heard: c" in a.trouble(), "the status says so")
                assert "2 of 3 voters are heard, 0 more may fail" in a.trouble()
                await eventually(lambda: a.epoch > epoch and b.epoch > epoch, "they go on without it")
                await eventually(lambda: "soloist_view_changes_total[silence]" in figures(metrics.text()))
                await crash(b)
                await eventually(lambda: "not heard: b, c" in a.trouble())
                assert "2 are needed: nobody is let in here once the lease is over" in a.trouble()
                renewals = membership(a).council.member.number
                await eventually(lambda: membership(a).council.member.number > renewals + 5)
            said = [line for line in lines if line.startswith("a: not heard: c;")]
            assert len(said) == 1
            assert len([line for line in lines if line.startswith("a: not heard: b, c;")]) == 1

    run(go())


def test_a_node_that_knows_too_many_names_has_the_next_view_made_and_those_that_nobody_uses_vanish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "MOST_AWAKE", 4)
    monkeypatch.setattr(table, "MOST_ASLEEP", 10)

    async def go() -> None:
        async with memory_cluster("abc", lease=FOR_EVER) as nodes:
            a, b, _ = nodes
            metrics = Metrics(b)
            kept = await b.lock("kept").acquire_or_raise(None)
            async with a.lock("once 0") as once:
                epoch, met = a.epoch, 0
            while a.epoch == epoch:
                async with a.lock(f"once {met}"):
                    met += 1
            await eventually(lambda: len({node.epoch for node in nodes}) == 1, "all have it")
            assert met > 10
            for node in nodes:
                assert len(node.asleep) + len(node.instances) <= 5
            assert kept.valid
            await kept.release()
            async with a.lock("kept") as hold, a.lock("once 0") as again:
                assert hold.fence > kept.fence
                assert again.fence > once.fence
            await eventually(lambda: "soloist_view_changes_total[names]" in figures(metrics.text()))

    run(go())
