"""The benchmark of recovery kills, and reports everything it should. How long recovery takes is not judged here."""

from __future__ import annotations

import json

import pytest

from soloist.bench import lock_peers, recovery
from soloist.bench.recovery_pause import PauseStage
from soloist.cli import main

ONE_HOST = recovery.OURS[0]


def test_each_is_killed_in_turn_and_what_fails_stops_nobody_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A round starts again whom it killed, or there would be no second one."""
    broken = recovery.System("broken", "any", {"lease": "never"})
    monkeypatch.setattr(recovery, "OURS", (broken, ONE_HOST))
    assert main(["bench", "recovery", "broken", ONE_HOST.name, "--rounds", "2", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["rows"]
    assert "lease must be" in first["missing"]
    assert (second["missing"], len(second["seconds"])) == (None, 2)
    assert min(second["seconds"]) > 0


def test_what_is_not_installed_is_said_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock_peers.Peer, "missing", lambda self: "apt-get install it")
    assert main(["bench", "recovery", "zookeeper"]) == 0
    assert "zookeeper was not measured: apt-get install it" in capsys.readouterr().out


def test_figures_and_goals() -> None:
    rows = [
        recovery.Measurement(recovery.PROVED, "any", [0.02, 0.03, 0.1]),
        recovery.Measurement(recovery.UNPROVED, "any", [2.0, 3.5]),
        recovery.Measurement(recovery.OTHERS, "any", [0.04, 0.06, 0.07]),
        recovery.Measurement("postgresql", "any", [0.005]),
        recovery.Measurement("redis-py", "any", [], "apt-get install it"),
    ]
    assert [rows[0].share(percent) for percent in (50, 95, 100)] == [
        0.03,
        pytest.approx(0.093),
        0.1,
    ]
    bars = {(bar.ours, bar.what): (bar.value, bar.met) for bar in recovery.bars(rows)}
    assert bars == {
        (recovery.PROVED, "p50, ms"): (pytest.approx(30), True),
        (recovery.PROVED, "p50 / postgresql"): (pytest.approx(6), False),
        (recovery.OTHERS, "p50, ms"): (pytest.approx(60), False),
        (recovery.UNPROVED, "worst, s"): (3.5, False),
    }
    columns, cells = recovery.table(rows)
    assert len(cells) == 4
    assert all(len(each) == len(columns) for each in cells)


def test_a_lock_that_is_not_concerned_is_watched_while_one_is_killed() -> None:
    with PauseStage(names=12, held=4) as stage:
        held = {name: stage.workers.held(name) for name in "ab"}
        assert sum(map(len, held.values())) == 4
        before = stage._epoch()
        assert stage.kill_holder() > 0
        assert stage._epoch() >= before + 2, "one without it, one with it again"
        assert {name: stage.workers.held(name) for name in "ab"} == held


def test_hosts_apart_need_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(recovery.Namespaces, "missing", lambda: "only root can")
    assert main(["bench", "recovery", recovery.APART]) == 0
    assert f"{recovery.APART} was not measured: only root can" in capsys.readouterr().out
