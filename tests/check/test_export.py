"""The graph of a small system, for other programs; and what SPIN says of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from soloist.algorithms import find
from soloist.algorithms.printed import find_printed
from soloist.check import check
from soloist.check.export import Exported, as_json, dot, exported, promela
from soloist.cli import main
from soloist.core import UsageError

SPIN = pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("gcc")),
    reason="not run: needs spin and gcc (apt-get install spin gcc)",
)
GRAPHVIZ = pytest.mark.skipif(
    not shutil.which("dot"), reason="not run: needs Graphviz (apt-get install graphviz)"
)


@pytest.mark.parametrize("name", ["ricart-agrawala", "suzuki-kasami", "maekawa", "raymond-k"])
def test_the_graph_is_that_of_the_check(name: str) -> None:
    report = check(find(name), nodes=2, rounds=1, reductions=["messages"], endless_states=0)
    found = exported(find(name))
    assert (len(found.states), len(found.steps)) == (report.states, report.transitions)
    assert max(len(state.inside) for state in found.states) == report.max_inside == 1
    reached = {0} | {target for _, target, _ in found.steps}
    assert reached == {*range(len(found.states))}


def test_states_that_must_not_be_are_in_it() -> None:
    found = exported(find_printed("ricart-agrawala"))
    assert max(len(state.inside) for state in found.states) == 2
    assert "fillcolor=tomato" in dot(found)
    stuck = exported(find_printed("maekawa"), nodes=3)
    assert any(stuck.states[end].waiting for end in stuck.ends())
    assert "fillcolor=orange" in dot(stuck)
    assert "tomato" not in dot(stuck)


def test_several_may_be_inside() -> None:
    found = exported(find("raymond-k"), nodes=3, rounds=[1, 1, 0], k=2)
    assert max(len(state.inside) for state in found.states) == 2
    assert "K=2" in found.title
    assert "tomato" not in dot(found)


def test_dot_names_states_and_steps() -> None:
    text = dot(exported(find("suzuki-kasami")))
    assert text.startswith('digraph "suzuki-kasami, N=2, requests 1,1, channels any" {')
    assert '[label="acquire 0"]' in text
    assert re.search(r'label="\d+\\nsite 1 waits\\n1>0 Request\(n=0\)"', text)
    assert 'tooltip="site 0: have_privilege=True' in text


@GRAPHVIZ
def test_graphviz_draws_it() -> None:
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=dot(exported(find("suzuki-kasami"))), capture_output=True, text=True
    )
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert drawn.stdout.count('class="node"') == len(exported(find("suzuki-kasami")).states)


def test_json_is_the_same_graph() -> None:
    found = exported(find("naimi-trehel"), nodes=3)
    read = json.loads(as_json(found))
    assert [tuple(step) for step in read["steps"]] == found.steps
    assert read["states"][0]["inside"] == []
    assert [state["sites"] for state in read["states"]] == [state.sites for state in found.states]
    assert found.states[0].sites[0], "variables"
    assert [state["mail"] for state in read["states"]] == [state.mail for state in found.states]


def judged(found: Exported, folder: Path) -> str:
    """What SPIN says."""
    (folder / "graph.pml").write_text(promela(found))
    for command in (
        ["spin", "-a", "graph.pml"],
        ["gcc", "-w", "-O0", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
        ["./pan"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@SPIN
def test_spin_finds_each_state_and_nothing_wrong(tmp_path: Path) -> None:
    found = exported(find("ricart-agrawala"), nodes=3)
    said = judged(found, tmp_path)
    assert "errors: 0" in said
    stored = re.search(r"(\d+) states, stored", said)
    assert stored
    assert int(stored[1]) == len(found.states) + 2 * len(found.ends())


@SPIN
@pytest.mark.parametrize(
    ("name", "nodes", "words"),
    [("ricart-agrawala", 2, "assertion violated (inside<=1)"), ("maekawa", 3, "invalid end state")],
)
def test_spin_finds_what_we_find(name: str, nodes: int, words: str, tmp_path: Path) -> None:
    report = check(find_printed(name), nodes=nodes, rounds=1)
    assert report.property == ("exclusion" if "inside" in words else "deadlock")
    assert words in judged(exported(find_printed(name), nodes=nodes), tmp_path)


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match=r"more than 100 states; give it fewer --nodes or --rounds"):
        exported(find("ricart-agrawala"), nodes=3, most=100)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "graph.pml"
    assert main(["export", "suzuki-kasami", str(file)]) == 0
    assert "21 states, 27 steps" in capsys.readouterr().err
    assert file.read_text() == promela(exported(find("suzuki-kasami")))
    assert main(["export", "suzuki-kasami", "-", "--format", "dot"]) == 0
    assert capsys.readouterr().out == dot(exported(find("suzuki-kasami")))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "suzuki-kasami graph",
            "--format should say dot, promela or json: graph does not end as one of them",
        ),
        ("suzuki-kasami graph --format pml", "unknown format 'pml'"),
        ("suzuki-kasami graph.dot --states 0", "--states must be from 1"),
        ("suzuki-kasami nowhere/graph.dot", "cannot write the graph to nowhere/graph.dot"),
        ("suzuki-kasmi graph.dot", "did you mean suzuki-kasami"),
        ("suzuki-kasami graph.dot --rounds x", "--rounds should read 2, or 2,1,0 by site"),
        ("suzuki-kasami graph.dot -n 3 -r 3", "the graph has more than 5000 states"),
    ],
)
def test_what_is_wrong_is_named(
    line: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *line.split()]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
