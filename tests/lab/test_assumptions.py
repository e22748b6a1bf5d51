"""What algorithms need: the runs on the page show what its matrix says, and a cell can be made again."""

from __future__ import annotations

import re

import pytest

from soloist.algorithms import CATALOGUE
from soloist.cli import main
from soloist.core import INSIDE, WAITING, UsageError
from soloist.lab.assumptions import ASSUMPTIONS, drop, matrix
from soloist.sim.script import Script
from tests.pages import DOCS

PAGE = (DOCS / "assumptions.md").read_text()
RUN = re.compile(r"- (\w+), ([\w ]+): `(start (\S+) .*)`")
RUNS = [match.groups() for match in RUN.finditer(PAGE)]


def end(script: Script) -> str:
    """What is wrong where a run has ended, as far as that can be seen there."""
    living = [port.process for port in script.ports if port.process.me not in script.down]
    inside = sum(process.phase is INSIDE for process in living)
    if inside > script.k:
        return "two inside"
    waiting = any(process.phase is WAITING for process in living)
    return "deadlocks" if waiting and not inside and not script.flights and not script.timers else "goes on"


def fails(script: Script, command: str) -> bool:
    """Whether a handler raises an error: not one about a command that cannot be obeyed."""
    try:
        script.run(command)
    except UsageError:
        return False
    except Exception:  # whatever it is
        return True
    return False


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_runs_on_the_page_show_what_it_says(name: str) -> None:
    mine = [run for run in RUNS if run[3] == name]
    assert mine
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
        if outcome != "never ends":
            assert end(script) == outcome


def test_the_matrix_has_a_row_for_each_and_a_run_for_all_that_breaks() -> None:
    rows = re.findall(r"\| \[(\S+)\]\(algorithms/\S+\.md\) \| (.*) \|", PAGE)
    assert [name for name, _ in rows] == list(CATALOGUE)
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
    assert main(["check", "drop", "centrla"]) == 2
    assert "did you mean central" in capsys.readouterr().err
