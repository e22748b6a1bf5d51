"""`soloist bench nemesis`: what it prints, and its exit code. With SOLOIST_NEMESIS_MINUTES=60, that long (`make soak`)."""

from __future__ import annotations

import json
import os
import random
import re

import msgspec
import pytest

from soloist.cli import main
from soloist.testing import Fault, Judgement, Nemesis

FOUND = Judgement(
    seed=7,
    seconds=60.0,
    entries=1234,
    losses=2,
    errors={"NoQuorum": 3},
    faults=[Fault(1.0, "kill a", "kill"), Fault(2.0, "a is started again"), Fault(3.0, "a ring", "ring")],
    epochs=4,
    recoveries=12,
    worst=1.25,
    worst_by={"kill": 1.25, "ring": 0.5},
    late=[],
    problems=[],
    writes=2345,
    stale=6,
)
LATE = ["lock 1: not entered for 3.50 s after: a ring"]


def test_it_kills_and_judges(capsys: pytest.CaptureFixture[str]) -> None:
    line = "bench nemesis --minutes 0.02 --seed 7 --nodes 3 --lease 1 --kinds kill --direct --json"
    assert main(line.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seed"] == 7
    assert found["problems"] == []
    assert found["entries"] > 0
    assert {fault["kind"] for fault in found["faults"]} == {"kill", None}


def test_all_that_was_found_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Nemesis, "__enter__", lambda self: self)
    monkeypatch.setattr(Nemesis, "haunt", lambda self, *rest: FOUND)
    assert main(["bench", "nemesis", "--seed", "7"]) == 0
    said = re.sub(" +", " ", capsys.readouterr().out)
    for line in (
        "entries 1,234",
        "views begun 4",
        "faults: kill 1",
        "faults: ring 1",
        "recoveries 12",
        "writes taken by the store 2,345",
        "writes refused as stale 6",
        "worst recovery 1.25 s",
        "worst after: ring 0.50 s",
        "locks late (beyond 3 s) 0",
    ):
        assert line in said


BOTH = "lock 1: a and b both had it for 0.1 s (fences 1 and 2)"


@pytest.mark.parametrize("wrong", [{"problems": [BOTH]}, {"late": LATE}, {"problems": [BOTH], "late": LATE}])
def test_a_problem_is_its_exit_code_and_names_the_seed(
    wrong: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = msgspec.structs.replace(FOUND, **wrong)
    monkeypatch.setattr(Nemesis, "__enter__", lambda self: self)
    monkeypatch.setattr(Nemesis, "haunt", lambda self, *rest: found)
    assert main(["bench", "nemesis", "--seed", "7"]) == 1
    said = capsys.readouterr()
    assert f"{(found.problems or found.late)[0]} (seed 7)" in said.err
    assert all(line in said.out for line in (*found.late, *found.problems))


@pytest.mark.soak
def test_a_long_time_of_everything() -> None:
    minutes = float(os.environ.get("SOLOIST_NEMESIS_MINUTES", "10"))
    seed = int(os.environ.get("SOLOIST_NEMESIS_SEED", random.randrange(2**32)))
    print(f"seed {seed}, {minutes:g} minutes")
    with Nemesis(seed=seed, lease=2.0, quiet=True) as nemesis:
        found = nemesis.haunt(minutes * 60)
    print(f"{found.entries} entries, {found.epochs} views begun, {found.losses} losses")
    print(f"{len(found.faults)} faults, worst recovery {found.worst:.2f} s, late: {found.late}")
    assert not found.problems, (seed, found.problems[:10])
