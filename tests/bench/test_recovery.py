"""The benchmark of recovery kills, and reports everything it should. How long recovery takes is not judged here."""

from __future__ import annotations

import json

import pytest

from soloist.bench import lock_peers, recovery
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
        recovery.Measurement("postgresql", "any", [0.005]),
        recovery.Measurement("redis-py", "any", [], "apt-get install it"),
    ]
    assert [rows[0].share(percent) for percent in (50, 95, 100)] == [
        0.03,
        pytest.approx(0.093),
        0.1,
    ]
    bars = {bar.what: (bar.value, bar.met) for bar in recovery.bars(rows)}
    assert bars == {
        "p50, ms": (pytest.approx(30), True),
        "p50 / postgresql": (pytest.approx(6), False),
        "worst, s": (3.5, False),
    }
    columns, cells = recovery.table(rows)
    assert len(cells) == 3
    assert all(len(each) == len(columns) for each in cells)
