"""`soloist demo`: real processes, and a verdict that can be trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soloist.cli import main
from soloist.demo import Crash, kill_holder, recorded, tally
from soloist.testing import Contend, Findings
from soloist.watch.live import merge
from soloist.watch.validate import validate


def test_it_says_what_the_witness_saw(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    assert main(["demo", "--nodes", "3", "--entries", "20", "--json", "--html", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    found = json.loads(capsys.readouterr().out)
    orders, gpu = found["locks"]
    assert (orders["lock"], orders["capacity"], orders["most_inside"]) == ("orders", 1, 1)
    assert (gpu["lock"], gpu["capacity"], gpu["most_inside"]) == ("gpu", 2, 2)
    for one in (orders, gpu):
        assert one["entries"] == 60
        assert one["problems"] == []
        assert one["jain"] == pytest.approx(1)
        assert 0 < one["messages_per_entry"] <= one["bound"]
        assert 0 < one["p50"] <= one["p99"]
    crash = found["crash"]
    assert (crash["lock"], crash["killed"], crash["next"]) == ("orders", "node0", "node1")
    assert crash["fence_after"] > crash["fence_before"] > 0
    assert crash["seconds"] > 0


def test_a_killed_holder_is_shown_step_by_step() -> None:
    said: list[str] = []
    crash = kill_holder("orders", {"algorithm": "ricart-agrawala"}, said.append)
    assert f"kill -9 {crash.process}" in said[2]
    assert str(crash.fence_before) in said[1]
    assert str(crash.fence_after) in said[3]


def test_a_fence_that_goes_back_is_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("soloist.cli.demo.demonstrate", lambda *rest: [])
    crash = Crash("orders", "node0", 1, "node1", 0.1, fence_before=7, fence_after=7)
    monkeypatch.setattr("soloist.cli.demo.kill_holder", lambda *rest: crash)
    assert main(["demo", "--nodes", "2"]) == 1
    assert "orders: 7 after 7" in capsys.readouterr().err


def test_what_should_not_be_is_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A witness that saw two inside: the table says so, and so does the exit code."""
    options = {"algorithm": "naimi-trehel", "semaphore_algorithm": "raymond-k"}
    found = Findings(1, entries=2, most_inside=2, by_holder={"a": 2}, problems=["a, b are inside together"])

    def demonstrate(nodes: int, jobs: list[Contend], *rest: Any) -> list[Any]:
        return [tally(jobs[0], nodes, options, [0.1, 0.2], 4, found)]

    monkeypatch.setattr("soloist.cli.demo.demonstrate", demonstrate)
    assert main(["demo", "--nodes", "2"]) == 1
    said = capsys.readouterr()
    assert "VIOLATED" in said.out
    assert "orders: a, b are inside together" in said.err


def test_a_round_is_recorded_to_be_looked_at(tmp_path: Path) -> None:
    trace = merge(recorded(2, "orders", 3, {"algorithm": "ricart-agrawala"}, tmp_path))
    assert (trace.head.algorithm, trace.head.lock, sorted(trace.head.sites)) == (
        "ricart-agrawala",
        "orders",
        ["node0", "node1"],
    )
    assert sum(step.enter for step in trace.steps) == sum(step.exit for step in trace.steps) == 6
    assert validate(trace) is None


def test_a_page_that_cannot_be_written_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--html", "/no/such/place.html"]) == 2
    assert "cannot write the page to /no/such/place.html" in capsys.readouterr().err
