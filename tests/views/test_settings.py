"""The settings in which views are explored: complete, with the number of states pinned."""

from __future__ import annotations

import json

import pytest

from soloist.check import Limits
from soloist.check.views import ALL, check_views, find_setting
from soloist.cli import main

STATES = {
    "renewals": 557_352,
    "drift": 116_731,
    "three-voters": 264_459,
    "both-free": 452_144,
    "three-drift": 112_165,
    "two-ballots": 199_205,
    "three-ballots": 1_631_009,
    "epochs": 253_400,
    "voter-restarts": 527_297,
    "one-voter-restarts": 374_701,
    "joins-and-leaves": 107_305,
    "crashes": 1_257_884,
    "voters-change": 43_074,
    "removed-voter": 387_768,
    "hung-loop": 76_616,
    "all-crash": 169_475,
    "relayed": 2_602,
    "bans": 19_134,
    "bans-restart": 194_321,
    "member-restarts": 239_654,
    "breaks": 45_996,
    "breaks-three": 49_144,
    "breaks-unheard": 1_504,
    "deaf": 1_282,
    "registered": 523_882,
    "registered-silent": 173_242,
    "registered-restarts": 3_984_028,
    "delayed": 55_627,
    "delayed-drift": 69_752,
    "leave": 4_158,
    "leave-proposer": 495_164,
    "leave-both": 191_114,
    "leave-rivals": 595_119,
    "join": 37_516,
    "join-rivals": 2_934,
    "come-back": 775_397,
    "crash": 354_205,
    "crash-proved": 380_616,
    "unleased-epochs": 25_933,
}


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
        (["views", "relay"], "unknown setting 'relay'; did you mean relayed or delayed or breaks?"),
        (["lamport", "relayed"], "only views, carry, drop have settings; leave out relayed"),
        (["lamport", "--all"], "only views, carry, drop have settings; leave out --all"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    assert capsys.readouterr().err == f"soloist: {complaint}\n"
