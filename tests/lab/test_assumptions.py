"""What algorithms need: the runs on the page show what its matrix says, and a cell can be made again."""

from __future__ import annotations

import re

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, find_any
from soloist.cli import main
from soloist.core import IDLE, INSIDE, WAITING, Port, Process, UsageError
from soloist.lab.assumptions import ASSUMPTIONS, drop, matrix
from soloist.sim.script import Script
from tests.pages import DOCS

PAGE = (DOCS / "assumptions.md").read_text()
NAMES = [*CATALOGUE, *RECOVERY, *VARIANTS]
RUN = re.compile(r"- (\w+), ([\w ]+): `(start (\S+) .*)`")
RUNS = [match.groups() for match in RUN.finditer(PAGE)]


def end(script: Script) -> str:
    """What is wrong where a run has ended, as far as that can be seen there."""
    living = [port.process for port in script.ports if port.process.me not in script.down]
    inside = sum(process.phase is INSIDE for process in living)
    if inside > script.k:
        return "two inside"
    waiting = any(process.phase is WAITING for process in living)
    if not waiting or inside or script.flights or script.timers:
        return "goes on"
    return "deadlocks" if any(enters(process) for process in living) else "token lost or deadlocks"


def enters(process: Process) -> bool:
    """Whether an idle site could enter without a message: it has the token."""
    if process.phase is not IDLE:
        return False
    port = Port(type(process).restore(process.snapshot()))
    port.acquire()
    return port.inside


def fails(script: Script, command: str) -> bool:
    """Whether a handler raises an error: not one about a command that cannot be obeyed."""
    try:
        script.run(command)
    except UsageError:
        return False
    except Exception:  # whatever it is
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_the_runs_on_the_page_show_what_it_says(name: str) -> None:
    mine = [run for run in RUNS if run[3] == name]
    assert mine, "each of them needs something"
    for assumption, outcome, commands, _ in mine:
        assert assumption in ASSUMPTIONS
        script = Script()
        *before, last = commands.split("; ")
        for command in before:
            script.run(command)
        if outcome == "fails":
            assert fails(script, last)
            continue
        script.run(last)
        if outcome == "token lost":
            assert end(script) == "token lost or deadlocks"
        elif outcome != "starves":
            assert outcome in end(script)
            assert not (find_any(name).family == "token" and outcome != end(script)), "the token is lost"


def test_the_matrix_has_a_row_for_each_and_a_run_for_all_that_breaks() -> None:
    rows = re.findall(r"\| \[(\S+)\]\((?:algorithms|recovery|variants)/\S+\.md\) \| (.*) \|", PAGE)
    assert [name for name, _ in rows] == NAMES
    assert {len(cells.split(" | ")) for _, cells in rows} == {len(ASSUMPTIONS)}
    broken = [cell for _, cells in rows for cell in cells.split(" | ") if " step" in cell]
    assert len(broken) == len(RUNS)


@pytest.mark.parametrize(
    ("name", "assumption", "outcome"),
    [
        ("lamport", "order", "two inside"),
        ("suzuki-kasami", "order", "holds"),
        ("naimi-trehel", "duplication", "fails"),
        ("central", "loss", "deadlocks"),
        ("raymond-tree", "memory", "two inside"),
        ("raymond-tree", "crash", "token lost"),
        ("raymond-tree", "timing", "no timer"),
        ("lamport", "timing", "no timer"),
        ("raynal", "timing", "holds"),
        ("naimi-trehel-recovery", "timing", "two inside"),
        ("naimi-trehel-recovery", "crash", "holds"),
        ("naimi-trehel-recovery", "loss", "holds"),
        ("raymond-tree-recovery", "timing", "no timer"),
        ("agrawal-el-abbadi-recovery", "loss", "two inside"),
    ],
)
def test_a_cell(name: str, assumption: str, outcome: str) -> None:
    assert drop(name, assumption).outcome == outcome


def test_cells_are_the_same_in_one_process_and_in_several() -> None:
    names, assumptions = ["central", "naimi-trehel"], ["order", "crash"]
    assert matrix(names, assumptions) == matrix(names, assumptions, jobs=2)


def test_what_cannot_be_dropped() -> None:
    with pytest.raises(UsageError, match="unknown assumption 'ordre'; did you mean order"):
        matrix(["central"], ["ordre"])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "drop", "central", "loss"]) == 0
    out = capsys.readouterr().out
    assert "deadlocks (N=2, 2 steps)" in out
    assert "start central nodes=2" in out
    assert main(["check", "--drop", "central", "loss"]) == 0
    assert "deadlocks (N=2, 2 steps)" in capsys.readouterr().out
    assert main(["check"]) == 2
    assert "Give an algorithm" in capsys.readouterr().err
    assert main(["check", "drop", "centrla"]) == 2
    assert "did you mean central" in capsys.readouterr().err
