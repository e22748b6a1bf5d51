"""The settings in which views are explored: complete, with the number of states pinned."""

from __future__ import annotations

import json

import pytest

from soloist.check import Limits
from soloist.check.views import ALL, check_views, find_setting
from soloist.cli import main

STATES: dict[str, int] = {}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(setting.name, marks=[pytest.mark.soak] if setting.size == "large" else [])
        for setting in ALL
    ],
)
def test_views_hold(name: str) -> None:
    report = check_views(find_setting(name))
    assert (report.verdict, report.property) == ("holds", None)
    assert report.states == STATES[name]
    assert report.progress_tried > 50


def test_a_limit_is_not_a_success() -> None:
    report = check_views(find_setting("bans"), Limits(states=500), every=0)
    assert (report.verdict, report.reason) == ("incomplete", "cut off at 500 states")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "views", "relayed", "deaf"]) == 0
    out = capsys.readouterr().out
    assert "relayed: HOLDS" in out
    assert f"2 settings, {STATES['relayed'] + STATES['deaf']} states, 2 holds" in out


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "views", "relayed", "--json", "--states", "100"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["settings"]
    assert (found["setting"], found["verdict"], found["property"]) == ("relayed", "incomplete", None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["views", "relay"], "unknown setting 'relay'; did you mean relayed?"),
        (["lamport", "relayed"], "only `views` has settings; leave out relayed"),
        (["lamport", "--all"], "only `views` has settings; leave out --all"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    assert capsys.readouterr().err == f"soloist: {complaint}\n"
