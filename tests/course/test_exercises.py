"""All ten exercises: the start file fails for the stated reason, the solution passes, wrong answers are told what is wrong."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

from soloist.cli import main
from soloist.course.exercise import COUNT, exercise, start, text
from soloist.course.guard import Guard
from soloist.course.judging import Brief, Judging
from soloist.course.verdict import FAILED, PASSED, Verdict, complete
from soloist.course.verdict import text as told
from tests.course.wrong import SOLUTIONS, WRONG, Wrong, solution

ROOT = Path(__file__).parents[2]
REASONS = {
    1: "starvation",
    2: "exclusion",
    3: "exclusion",
    4: "exclusion",
    5: "deadlock",
    6: "deadlock",
    7: "deadlock",
    8: "capacity",
    9: "deadlock",
    10: "timestamp",
}
NUMBERS = range(1, COUNT + 1)


def judged(number: int, hand_in: str) -> Verdict:
    """In this process: the tests of `grade` are about the other one."""
    brief = Brief(
        exercise(number), f"exercise{number}.py", f"/hand-in/{number}.py", hand_in, 600, 4096, False, ""
    )
    return complete(brief.name, brief.exercise, Judging(brief, Guard(brief.place)).run())


@pytest.mark.parametrize("number", NUMBERS)
def test_the_start_file_fails_for_the_stated_reason(number: int) -> None:
    verdict = judged(number, start(number))
    assert verdict.verdict == FAILED
    assert verdict.worst
    assert verdict.worst.property == REASONS[number]
    assert verdict.worst.run or REASONS[number] == "capacity"
    row = next(
        line
        for line in (ROOT / "docs" / "teaching.md").read_text().splitlines()
        if line.startswith(f"| {number} |")
    )
    assert exercise(number).title in row
    assert row.split("| ")[3].startswith(REASONS[number])
    assert "TO DO" in start(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_solution_passes(number: int) -> None:
    verdict = judged(number, solution(number))
    assert verdict.verdict == PASSED, told(verdict)
    assert "TO DO" not in solution(number)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.exercise} {wrong.name}")
def test_a_wrong_hand_in_is_told_what_is_wrong(wrong: Wrong) -> None:
    verdict = judged(wrong.exercise, wrong.text())
    assert verdict.verdict not in (PASSED, "not tried")
    assert verdict.worst
    assert verdict.worst.property == wrong.property
    assert verdict.worst.said
    assert verdict.worst.advice or wrong.property == "mistake"  # which says what to do
    if wrong.property in ("mistake", "error"):
        assert re.search(r"\bline \d+\b|a message goes to", verdict.worst.said)
    assert f"exercise-{wrong.exercise}" not in verdict.worst.said  # a name that students never gave
    hints = exercise(wrong.exercise).hints
    if wrong.property not in ("mistake", "error") and wrong.exercise != 2:
        assert hints[wrong.property] in verdict.worst.advice, "what is particular to this exercise"
    if verdict.worst.steps:
        assert f"The shortest run that shows it, {verdict.worst.steps} step" in told(verdict)


def test_there_are_five_wrong_ones_of_each() -> None:
    counts = Counter(wrong.exercise for wrong in WRONG)
    assert set(counts) == set(NUMBERS)
    assert min(counts.values()) >= 5


@pytest.mark.parametrize("number", NUMBERS)
def test_a_text_says_what_is_to_be_done(number: int) -> None:
    said = text(number)
    assert said.startswith(f"# Exercise {number}: {exercise(number).title}\n")
    assert f"soloist grade exercise{number}.py" in said
    for name in re.findall(r"Write `(\w+)`", said):
        assert f"def {name}(" in start(number)


def test_solutions_are_not_in_the_package() -> None:
    assert sorted(path.name for path in SOLUTIONS.iterdir() if path.suffix == ".py") == sorted(
        f"exercise{number}.py" for number in NUMBERS
    )
    assert "src" not in SOLUTIONS.parts[len(ROOT.parts) :]


def test_the_guide_shows_what_is_said(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "teaching.md").read_text()
    assert told(judged(3, start(3))) in guide


def test_the_notes_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_notes", ROOT / "teaching" / "make_notes.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = {path.name: path.read_text() for path in (ROOT / "teaching" / "notes").iterdir()}
    assert written == module.notes(), "out of date: make notes"


def test_an_exercise_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exercise", "3", str(tmp_path)]) == 0
    assert "Lamport 1978" in capsys.readouterr().out
    (tmp_path / "exercise3.py").write_text("mine")
    assert main(["exercise", "3", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "exercise3.py").read_text() == "mine"
    assert main(["exercise", "11"]) == 2
    assert "there are exercises 1 to 10, not 11" in capsys.readouterr().err
