"""`soloist sweep`, as a researcher and a careless hand would use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from soloist.cli import main

PLAN = """\
seeds = 2
algorithms = ["naimi-trehel", "lamport"]
fixed = { nodes = 4, entries = 40 }
vary = { rate = [0.1, 10] }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_tables_and_plots_go_to_a_directory(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "sweep plan.toml --jobs 1 --plot y=messages_per_entry,x=rate,log=x --plot breakdown,rate=10,file=kinds.png"
    heat = "--plot heatmap,z=jain,x=rate,y=nodes,label=lamport"
    assert main([*line.split(), *heat.split()]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "8 runs: plan/table.csv, plan/table.json" in captured.out
    assert "lamport" in captured.out
    assert {file.name for file in (here / "plan").iterdir()} == {
        "journal.jsonl", "table.csv", "table.json", "table.parquet", "table.provenance.json",
        "messages_per_entry-rate.svg", "kinds.png", "jain-rate-nodes-lamport.svg",
    }  # fmt: skip


def test_json_is_the_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "plan.toml", "--out", "o", "--jobs", "1", "--json"]) == 0
    out = capsys.readouterr().out
    assert out == (here / "o" / "table.json").read_text()
    assert json.loads(out)["provenance"]["command"] == "soloist sweep plan.toml"
    assert len(json.loads(out)["rows"]) == 8


def test_another_plan_needs_fresh(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["sweep", "plan.toml", "--jobs", "1"]
    assert main(line) == 0
    (here / "plan.toml").write_text(PLAN.replace("seeds = 2", "seeds = 3"))
    assert main(line) == 2
    assert "--fresh" in capsys.readouterr().err
    assert main([*line, "--fresh"]) == 0
    assert "12 runs" in capsys.readouterr().out


def test_broken_promises_are_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = '[{ name = "ricart-agrawala", printed = true }, "lamport"]'
    (here / "plan.toml").write_text(PLAN.replace('["naimi-trehel", "lamport"]', printed))
    assert main(["sweep", "plan.toml", "--jobs", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("soloist: 4 of 8 runs broke a promise; the first: order: ricart-agrawala")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("none.toml", "cannot read none.toml"),
        ("plan.toml --plot y=mesages,x=rate", "unknown column 'mesages'"),
        ("plan.toml --plot x=rate", "y= is missing; lines needs y=…,x=…"),
        ("plan.toml --plot y=jain,x", "'x' should read KEY=VALUE"),
        ("plan.toml --plot pie", "unknown kind 'pie'"),
        ("plan.toml --plot y=jain,x=rate,nods=4", "unknown key 'nods'; did you mean nodes?"),
        ("plan.toml --plot y=jain,x=rate,nodes=5", "no run has nodes=5; there is 4"),
        ("plan.toml --plot y=jain,x=rate,nodes=five", "nodes=five: that is no value of nodes"),
        ("plan.toml --plot y=jain,x=rate,label=lamprot", "unknown label 'lamprot'; did you mean lamport?"),
        ("plan.toml --plot y=jain,x=rate,log=q", "log should be x, y or xy"),
        ("plan.toml --plot y=jain,x=rate,file=a.pdf", "pictures are .png or .svg"),
        ("plan.toml --plot breakdown", "rate varies, too"),
        ("plan.toml --plot heatmap,z=jain,x=rate,y=nodes", "a grid shows one label"),
        ("plan.toml --executor ray://x:1", "should read dask://HOST:PORT"),
        ("plan.toml --jobs -1", "jobs must be at least 0"),
        ("plan.toml --out plan.toml", "cannot write to plan.toml: it is a file"),
    ],
)
def test_bad_usage_is_one_line_before_anything_runs(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: str, complaint: str
) -> None:
    assert main(["sweep", *arguments.split()]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert err.startswith("soloist: ")
    assert err.count("\n") == 1
    assert not (here / "plan").exists()


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--help"]) == 0
    assert "soloist sweep plan.toml --out results --executor dask://10.0.0.1:8786" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )
