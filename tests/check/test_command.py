"""`soloist check`: verdicts as exit codes, JSON, and one clear line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from soloist import cli


def test_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "naimi-trehel", "--nodes", "2", "--rounds", "1"]) == 0
    out, err = capsys.readouterr()
    assert "naimi-trehel, N=2, requests 1 each, channels any: HOLDS" in out
    assert "\x1b" not in out
    assert err == ""


def test_violated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    assert cli.main(["check", "lamport", "-n", "2", "--channels", "any", "--trace", str(path)]) == 1
    assert "VIOLATED exclusion" in capsys.readouterr().out
    assert path.read_text() == (
        "start lamport nodes=2 channels=any\nacquire 0\nacquire 1\ndeliver 1>0\ndeliver 0>1 Ack(t=2)\n"
    )


def test_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "ricart-agrawala", "--states", "100"]) == 3
    assert "INCOMPLETE" in capsys.readouterr().out


def test_starvation_judged_for_bounded_requests_is_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "maekawa", "--nodes", "3", "--rounds", "1", "--endless", "2000"]
    assert cli.main(arguments) == 3
    out = capsys.readouterr().out
    assert "channels any: INCOMPLETE" in out
    assert "starvation     for these requests" in out
    assert cli.main([*arguments, "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["properties"]["starvation"]) == ("incomplete", "for these requests")
    assert cli.main([*arguments, "--property", "exclusion", "--property", "deadlock"]) == 0
    assert "HOLDS" in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "lamport", "--nodes", "2", "--rounds", "2,1", "--channels", "any", "--json"]
    assert cli.main(arguments) == 1
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert err == ""
    assert record["rounds"] == [2, 1]
    assert (record["verdict"], record["property"], len(record["trace"])) == ("violated", "exclusion", 4)
    assert record["trace"][0] == {
        "command": "acquire 0",
        "action": "acquire",
        "site": 0,
        "events": ["0  request", "0 -> 1  Request(t=1)"],
    }


def test_without_reductions(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "lamport", "-n", "2", "-r", "2", "--no-reduction", "all", "--json"]
    assert cli.main([*arguments, "--property", "exclusion"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["states"], record["reductions"]) == (1228, [])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ricart"], "unknown algorithm 'ricart'"),
        (["lamport", "--nodes", "0"], "nodes must be at least 1, not 0"),
        (["lamport", "--nodes", "61"], "nodes must be at most 60 to be checked, not 61"),
        (["lamport", "--rounds", "-1"], "rounds must not be negative, and -1 is"),
        (["lamport", "--rounds", "1,x"], "--rounds should read 2, or 2,1,0 by site, not '1,x'"),
        (["lamport", "--rounds", "1,1"], "rounds names 2 sites, but there are 3"),
        (["lamport", "--rounds", "0"], "rounds are all 0: no site ever asks, so there is nothing to check"),
        (["lamport", "--k", "2"], "lamport lets one site in at a time: k must be 1, not 2"),
        (["lamport", "--channels", "lifo"], "unknown channels 'lifo'; did you mean fifo?"),
        (["lamport", "--property", "safety"], "unknown property 'safety'"),
        (["naimi-trehel", "--property", "timestamp"], "naimi-trehel gives its requests no timestamps"),
        (["lamport", "--no-reduction", "symmetry"], "unknown reduction 'symmetry'"),
        (["lamport", "--worst", "time"], "unknown measure 'time'"),
        (["lamport", "--crashes", "-1"], "crashes must be from 0 to 1000, not -1"),
        (["lamport", "--loss", "--faults", "-1"], "faults must not be negative, but is -1"),
        (["lamport", "--crashes", "1", "--restart", "soon"], "unknown restart 'soon'"),
        (["lamport", "--states", "0"], "the limit on states must be positive, not 0"),
        (["lamport", "--seconds", "-2"], "the limit on seconds must be positive, not -2"),
        (["lamport", "--trace", "/nowhere/at/all", "-n", "1"], "cannot write the trace to /nowhere/at/all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"soloist: {complaint}")
    assert err.count("\n") == 1
