"""Grading in a process of its own: what a hand-in may do, and what is said when it does more."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from html import unescape
from pathlib import Path

import pytest

from soloist.cli import main
from soloist.core import SoloistError, UsageError
from soloist.course import grade as grading
from soloist.course.exercise import exercise, start
from soloist.course.grade import Settings, grade
from soloist.course.hand_ins import grade_all
from tests.course.wrong import solution

ROOT = Path(__file__).parents[2]
STEP = "    def acquire(self) -> None:\n"


def hand_in(folder: Path, first: str = "", step: str = "") -> Path:
    """The solution of exercise 1, with lines at its start or in a step."""
    text = solution(1).replace(STEP, STEP + step)
    future = "from __future__ import annotations\n"
    file = folder / "exercise1.py"
    file.write_text(text.replace(future, future + first))
    return file


def said(file: Path, seconds: float = 30.0, memory: int = 1024) -> tuple[str, str, str]:
    verdict = grade(file, exercise(1), Settings(seconds, memory))
    worst = verdict.worst
    return verdict.verdict, worst.property if worst else "", worst.said if worst else ""


UNHAPPY: dict[str, tuple[str, str, str, str, str]] = {
    "ends the program in a step": (
        "",
        "        raise SystemExit\n",
        "failed",
        "exit",
        "ends the program; leave out sys.exit",
    ),
    "ends the program when loaded": (
        "import sys\nsys.exit(0)\n",
        "",
        "failed",
        "error",
        "ends the program while it is loaded",
    ),
    "ends its process": ("import os\nos._exit(0)\n", "", "failed", "exit", "its process ended (exit code 0)"),
    "starts a process": (
        "import os\nos.fork()\n",
        "",
        "failed",
        "outside",
        "line 5: starts another process (os.fork)",
    ),
    "starts a program": (
        "import subprocess\nsubprocess.run(['ls'])\n",
        "",
        "failed",
        "outside",
        "starts another program",
    ),
    "writes a file": ("open('x', 'w')\n", "", "failed", "outside", "writes a file"),
    "reads a file": (
        "from pathlib import Path\nPath(__file__).read_text()\n",
        "",
        "failed",
        "outside",
        "line 5: reads a file",
    ),
    "kills from a thread": (
        "import os, threading\nthreading.Thread(target=os.kill, args=(os.getppid(), 9)).start()\n",
        "",
        "failed",
        "outside",
        "a thread of it: sends a signal (os.kill)",
    ),
    "kills by way of C": (
        "import ctypes, os\nctypes.CDLL(None).kill(os.getppid(), 9)\n",
        "",
        "failed",
        "outside",
        "line 5: calls a function of C",
    ),
    "swallows that": (
        "try:\n    open('x', 'w')\nexcept Exception:\n    pass\n",
        "",
        "failed",
        "outside",
        "writes a file",
    ),
    "dies": (
        "import signal\nsignal.raise_signal(11)\n",
        "",
        "failed",
        "killed",
        "its process died (SIGSEGV)",
    ),
    "is killed": (
        "import signal\nsignal.raise_signal(9)\n",
        "",
        "undecided",
        "killed",
        "was killed (SIGKILL)",
    ),
    "waits": (
        "import time\n",
        "        time.sleep(1)\n",
        "failed",
        "mistake",
        "time.sleep() comes from outside",
    ),
    "fails": ("", "        self.n / 0\n", "failed", "error", "ZeroDivisionError"),
    "is no Python": ("def f(:\n", "", "failed", "error", "exercise1.py:4: this is no Python"),
    "takes it from the catalogue": (
        "from soloist.algorithms.token_ring import CARD\n",
        "",
        "failed",
        "borrowed",
        "write the algorithm yourself",
    ),
}


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\nCARD = importlib.import_module('soloist.algorithms.token_ring').CARD\n",
        "import sys, soloist.core\nCARD = sys.modules['soloist.algorithms'].CATALOGUE['token-ring']\n",
    ],
)
def test_what_is_taken_by_another_way_is_borrowed_too(text: str, tmp_path: Path) -> None:
    (tmp_path / "exercise1.py").write_text(text)
    verdict, property, words = said(tmp_path / "exercise1.py")
    assert (verdict, property) == ("failed", "borrowed")
    assert "write the algorithm yourself" in words


def test_what_python_reads_is_not_the_hand_ins_doing(tmp_path: Path) -> None:
    """Modules, and the line that a warning shows."""
    lines = "import random, warnings, xml.dom.minidom\nwarnings.warn('look', stacklevel=2)\n"
    assert said(hand_in(tmp_path, lines))[0] == "passed"


@pytest.mark.parametrize("name", UNHAPPY)
def test_what_goes_wrong_is_said(name: str, tmp_path: Path) -> None:
    first, step, verdict, property, words = UNHAPPY[name]
    found = said(hand_in(tmp_path, first, step))
    assert found[:2] == (verdict, property), found
    assert words in found[2]


def test_an_endless_loop_is_told_by_its_line(tmp_path: Path) -> None:
    file = hand_in(tmp_path, step="        while self.n > 0:\n            self.n += 0\n")
    loop = file.read_text().splitlines().index("        while self.n > 0:") + 1
    verdict, property, words = said(file, seconds=2)
    assert (verdict, property) == ("failed", "time")
    assert words.startswith(
        (f"line {loop}: still at work after 2 s", f"line {loop + 1}: still at work after 2 s")
    )


def test_an_endless_loop_outside_of_all_steps_is_told_by_its_line(tmp_path: Path) -> None:
    verdict, property, words = said(hand_in(tmp_path, "while True:\n    pass\n"), seconds=2)
    assert (verdict, property) == ("failed", "time")
    assert words.startswith(("line 4: still at work after 2 s", "line 5: still at work after 2 s"))


def test_the_checks_that_the_guide_shows_suit_a_right_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "teaching.md").read_text(), re.DOTALL)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "exercise3.toml").write_text(shown)
    (tmp_path / "exercise3.py").write_text(solution(3))
    assert main(["grade", str(tmp_path / "exercise3.py"), "--checks", str(tmp_path / "checks")]) == 0
    assert capsys.readouterr().out.count("(hidden)") == 3


def test_who_is_deaf_to_the_alarm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "GRACE", 1.0)
    deaf = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n"
    verdict, property, words = said(hand_in(tmp_path, deaf), seconds=2)
    assert (verdict, property) == ("failed", "time")
    assert "had to be killed" in words


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
@pytest.mark.parametrize("where", ["step", "first"])
def test_a_hand_in_that_takes_all_memory(where: str, tmp_path: Path) -> None:
    lines = {"step": "        [0] * 10**10\n", "first": "x = [0] * 10**10\n"}
    verdict, property, words = said(hand_in(tmp_path, **{where: lines[where]}), memory=512)
    assert (verdict, property) == ("failed", "memory")
    assert "takes more than 512 MiB" in words


def test_what_it_prints_is_no_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    noise = "import sys\nprint('[]\\n' * 100000)\nprint('noise', file=sys.stderr)\n"
    assert said(hand_in(tmp_path, noise, "        print('step')\n"))[0] == "passed"
    assert capfd.readouterr() == ("", "")


def test_it_does_not_see_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert said(hand_in(tmp_path, "import os\nassert 'SECRET_TOKEN' not in os.environ\n"))[0] == "passed"


def test_what_is_no_hand_in_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in (
        ("exercise1.py", b"\xff"),
        ("exercise2.py", b"#" * 2_000_000),
        ("other.py", b""),
        ("exercise99.py", b""),
    ):
        (tmp_path / name).write_bytes(data)
    for name, words in (
        ("exercise1.py", "is not text in UTF-8"),
        ("exercise2.py", "more than 1000000 bytes"),
        ("other.py", "call it exercise3.py, or add --exercise 3"),
        ("exercise99.py", "there are exercises 1 to 10, not 99"),
        ("exercise4.py", "there is no such file"),
        ("hand-inz", "there is no such file or directory"),
    ):
        assert main(["grade", str(tmp_path / name)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


def test_limits_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for wrong in ({"seconds": 0.0}, {"memory": 1}):
        with pytest.raises(UsageError, match="must be"):
            Settings(**wrong)  # type: ignore[arg-type]


def test_a_process_that_cannot_start_is_not_the_hand_ins_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "msgspec.py").write_text("raise RuntimeError('broken installation')")
    with pytest.raises(SoloistError, match="could not be graded: RuntimeError: broken installation"):
        said(hand_in(tmp_path))


# What is shown.


def test_a_verdict_as_text_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "exercise2.py", tmp_path / "verdict.html"
    file.write_text(start(2))
    assert main(["grade", str(file), "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("exercise2.py, exercise 2, A coordinator: FAILED\n")
    assert "The shortest run that shows it, 4 steps:" in out
    shown = page.read_text()
    assert "exercise2.py, exercise 2, A coordinator: FAILED" in shown
    run = unescape(shown.partition('srcdoc="')[2].partition('"></iframe>')[0])
    assert run.startswith("<!doctype html>")
    assert "window.SOLOIST" in run
    assert main(["grade", str(file), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["verdict"], data["outcomes"][1]["property"]) == ("failed", "exclusion")


def test_the_same_file_gets_the_same_verdict(tmp_path: Path) -> None:
    file = hand_in(tmp_path, step="        return\n")
    assert grade(file, exercise(1)) == grade(file, exercise(1))


def test_hidden_checks_come_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, checks = tmp_path / "exercise2.py", tmp_path / "checks"
    file.write_text(solution(2))
    checks.mkdir()
    (checks / "exercise2.toml").write_text(
        '[[checks]]\nkind = "orders"\nnodes = 4\n[[checks]]\nkind = "messages"\nrate = 0.001\nat_most = 2\n'
    )
    assert main(["grade", str(file)]) == 0
    assert main(["grade", str(file), "--checks", str(checks)]) == 1
    out = capsys.readouterr().out
    assert "passed     every order of events, 4 sites, requests 1 each (hidden)" in out
    assert "failed     at most 2 messages per entry, 10 sites, 0.001 requests per site (hidden)" in out
    assert "messages: an entry costs 2." in out
    (checks / "exercise2.toml").write_text('[[checks]]\nkind = "fairness"\nbypass = 0\n')
    file.write_text(solution(2).replace("self.queue.pop(0)", "self.queue.pop(len(self.queue) // 2)"))
    (checks / "exercise2.toml").write_text('[[checks]]\nkind = "fairness"\nbypass = 0\nnodes = 4\n')
    assert main(["grade", str(file), "--checks", str(checks)]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[checks]]\nkind = "order"\n', "exercise2.toml:1: checks.0: unknown kind of check 'order'"),
        ('[[checks]]\nkind = "orders"\nnode = 3\n', "unknown key 'node'"),
        ('[[checks]]\nkind = "orders"\nnodes = 0\n', "should be"),
        ('[[checks]]\nkind = "orders"\nproperties = ["x"]\n', "unknown property 'x'"),
        ('[[checks]]\nkind = "orders"\nrounds = [1]\n', "names 1 sites, but nodes = 3"),
        ('[[checks]]\nkind = "messages"\n', "has no at_most"),
        ("checks = 3\n", "each below a line [[checks]]"),
        ("[[checks]\n", "exercise2.toml:1:"),
    ],
)
def test_checks_that_are_none_are_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "exercise2.toml").write_text(text)
    (tmp_path / "exercise2.py").write_text(start(2))
    assert main(["grade", str(tmp_path / "exercise2.py"), "--checks", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_a_folder_without_checks_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exercise2.py").write_text(start(2))
    assert main(["grade", str(tmp_path), "--checks", str(tmp_path / "none")]) == 2
    assert "is no directory" in capsys.readouterr().err


# A folder of hand-ins.


def test_a_folder_becomes_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "hand-ins"
    for name, text in (
        ("ada/exercise1.py", solution(1)),
        ("grace/exercise2.py", start(2)),
        ("=cmd_exercise1.py", "import os\nos._exit(1)\n"),
        ("notes.py", ""),
        (".git/exercise1.py", ""),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    arguments = [
        "grade",
        str(folder),
        "--csv",
        str(tmp_path / "marks.csv"),
        "--html",
        str(tmp_path / "pages"),
    ]
    assert main([*arguments, "--jobs", "2"]) == 0
    rows = list(csv.DictReader((tmp_path / "marks.csv").read_text().splitlines()))
    assert [(row["hand_in"], row["exercise"], row["verdict"], row["property"]) for row in rows] == [
        ("'=cmd_exercise1.py", "1", "failed", "exit"),
        ("ada/exercise1.py", "1", "passed", ""),
        ("grace/exercise2.py", "2", "failed", "exclusion"),
        ("notes.py", "", "not graded", ""),
    ]
    assert (rows[1]["passed"], rows[1]["checks"]) == ("5", "5")
    assert sorted(os.listdir(tmp_path / "pages")) == [
        "=cmd_exercise1.html",
        "ada_exercise1.html",
        "grace_exercise2.html",
    ]


def test_a_link_to_somebody_elses_file_is_no_hand_in(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_text(solution(1))
    (folder := tmp_path / "hand-ins").mkdir()
    (folder / "exercise1.py").symlink_to(tmp_path / "solution.py")
    (line,) = grade_all(folder)
    assert (line.verdict, line.said) == (
        "not graded",
        "exercise1.py is a link that leads out of the folder; a hand-in is a file",
    )


@pytest.mark.parametrize("number", ["0", "11"])
def test_an_exercise_that_there_is_not_is_said_once(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("exercise1.py", "exercise2.py"):
        (tmp_path / name).write_text(start(1))
    for path in (tmp_path, tmp_path / "exercise1.py"):
        assert main(["grade", str(path), "--exercise", number]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert (
            said.err == f"soloist: there are exercises 1 to 10, not {number}; `soloist exercise` lists them\n"
        )


def test_a_table_has_what_is_graded_before_all_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody stops it, or the machine does: what was done is not lost."""
    for number in (1, 2):
        (tmp_path / f"exercise{number}.py").write_text(solution(number))
    marks = tmp_path / "marks.csv"
    seen: list[int] = []

    def look(path: Path, *_: object, **__: object) -> object:
        seen.append(len(marks.read_text().splitlines()) if marks.exists() else 0)
        return grade(path, exercise(1))

    monkeypatch.setattr("soloist.course.hand_ins.grade", look)
    assert main(["grade", str(tmp_path), "--csv", str(marks)]) == 0
    assert seen[0] == 1, "the table is there before anything is graded"
    assert len(marks.read_text().splitlines()) == 3


@pytest.mark.parametrize("line", ["--jobs -1", "--exercise 11", "--checks none"])
def test_a_call_that_is_wrong_leaves_an_old_table_alone(line: str, tmp_path: Path) -> None:
    (tmp_path / "exercise1.py").write_text(solution(1))
    (marks := tmp_path / "marks.csv").write_text("old")
    assert main(["grade", str(tmp_path), "--csv", str(marks), *line.split()]) == 2
    assert marks.read_text() == "old"


def test_a_folder_without_hand_ins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(tmp_path)]) == 2
    assert "has no hand-ins" in capsys.readouterr().err
    (tmp_path / "exercise1.py").write_text("")
    assert main(["grade", str(tmp_path / "exercise1.py"), "--csv", "x.csv"]) == 2
    assert "--csv is for a folder" in capsys.readouterr().err
