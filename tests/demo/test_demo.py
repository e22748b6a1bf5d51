"""`soloist demo`: real processes, and a verdict that can be trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from soloist.cli import main
from soloist.demo import outcome
from soloist.testing import Contend, Findings


def test_it_says_what_the_witness_saw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--nodes", "3", "--entries", "20", "--json"]) == 0
    orders, gpu = json.loads(capsys.readouterr().out)
    assert (orders["lock"], orders["capacity"], orders["most_inside"]) == ("orders", 1, 1)
    assert (gpu["lock"], gpu["capacity"], gpu["most_inside"]) == ("gpu", 2, 2)
    for one in (orders, gpu):
        assert one["entries"] == 60
        assert one["problems"] == []
        assert one["jain"] == pytest.approx(1)
        assert 0 < one["messages_per_entry"] <= one["bound"]
        assert 0 < one["p50"] <= one["p99"]


def test_what_should_not_be_is_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A witness that saw two inside: the table says so, and so does the exit code."""
    options = {"algorithm": "naimi-trehel", "semaphore_algorithm": "raymond-k"}
    found = Findings(1, entries=2, most_inside=2, by_holder={"a": 2}, problems=["a, b are inside together"])

    def demonstrate(nodes: int, jobs: list[Contend], *rest: Any) -> list[Any]:
        return [outcome(jobs[0], nodes, options, [0.1, 0.2], 4, found)]

    monkeypatch.setattr("soloist.cli.demo.demonstrate", demonstrate)
    assert main(["demo", "--nodes", "2"]) == 1
    said = capsys.readouterr()
    assert "VIOLATED" in said.out
    assert "orders: a, b are inside together" in said.err
