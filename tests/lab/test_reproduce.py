"""Papers done again: on a small scale, the same way as on a large one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import msgspec
import pytest

from soloist.children import process_pool
from soloist.cli import main
from soloist.lab import Seeds
from soloist.lab.papers import (
    bulgannawar_vaidya,
    bulgannawar_vaidya_decisions,
    recovery,
    scale,
    survey,
)
from soloist.lab.report import Findings, Test, claim, markdown_table
from soloist.lab.reproduce import PAPERS
from soloist.lab.workbench import Workbench

SMALL = 0.01


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with process_pool(2) as workers:
        yield workers


@pytest.fixture(autouse=True)
def small_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million sites take minutes; a hundred will do to see that it works."""
    growths = [msgspec.structs.replace(g, sizes=tuple(n for n in g.sizes if n <= 324)) for g in scale.GROWTHS]
    monkeypatch.setattr(scale, "GROWTHS", growths)
    monkeypatch.setattr(recovery, "WAITS", (20,))
    monkeypatch.setattr(recovery, "ANSWERS", (0.5, 3.1))
    monkeypatch.setattr(recovery, "ENTRIES", 25)
    monkeypatch.setattr(bulgannawar_vaidya, "LAMBDAS", (0.001, 0.1, 1.0, 10.0))
    monkeypatch.setattr(bulgannawar_vaidya_decisions, "RATES", (0.001, 1.0))
    monkeypatch.setattr(bulgannawar_vaidya_decisions, "NUS", (0, 2))
    rows = [msgspec.structs.replace(row, sizes=tuple(n for n in row.sizes if n <= 16)) for row in survey.ROWS]
    monkeypatch.setattr(survey, "ROWS", rows)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_report_is_complete_and_the_same_for_the_same_seed(
    paper: str, tmp_path: Path, pool: Executor
) -> None:
    for folder, executor in (("one", pool), ("two", None)):
        bench = Workbench(tmp_path / folder, Seeds(2), SMALL, executor=executor, jobs=1)
        (tmp_path / folder).mkdir()
        report = PAPERS[paper].reproduce(bench)
        text = report.write(tmp_path / folder, "command").read_text()
    assert len(report.claims) >= 5
    assert all(each.evidence and each.against for each in report.claims)
    assert paper in ("recovery", "scale") or all(each.quote for each in report.claims)
    pictures = sorted(path.name for path in (tmp_path / "one").glob("*.png"))
    assert pictures
    assert all(f"({name})" in text for name in pictures)
    files = [path for path in (tmp_path / "one").iterdir() if path.is_file()]
    for path in files:  # report, figures and tables
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_interrupted_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, Seeds(2), SMALL, jobs=1)
    PAPERS["suzuki-kasami"].reproduce(bench)
    journals = sorted(tmp_path.glob("*/journal.jsonl"))
    before = [path.read_bytes() for path in journals]
    PAPERS["suzuki-kasami"].reproduce(bench)
    assert [path.read_bytes() for path in journals] == before


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        (True, "reproduced"),
        (False, "not reproduced"),
        ([True, False], "partly"),
        ([False, False], "not reproduced"),
        ([True, None], "undecided"),
        (None, "undecided"),
    ],
)
def test_a_claim_is_as_good_as_its_tests(tests: Test | list[Test], verdict: str) -> None:
    assert claim("it holds", "holds", "section 1", tests, "1 of 2", "it fails").verdict == verdict


def test_tables_in_markdown() -> None:
    assert markdown_table(("a", ">b"), [("x|y", 1234.5), ("z", 0.12345)]).splitlines() == [
        "| a | b |",
        "| --- | ---: |",
        "| x\\|y | 1234 |",
        "| z | 0.123 |",
    ]


def test_a_report_counts_its_claims_and_says_first_what_was_repaired() -> None:
    claims = [claim("a", "words", "section 1", True, "x", "u"), claim("b", "", "the card", False, "y", "v")]
    text = Findings("T", "P", "Fig. 2,\n  repaired.", claims).markdown("c")
    assert text.startswith("# T\n\n*P*\n\n**What was measured**: Fig. 2, repaired.\n")
    assert "Of 2 claims: 1 reproduced, 1 not reproduced." in text
    assert "| a | section 1: “words” | **reproduced** | x | u |" in text
    assert "| b | ours: the card | **not reproduced** | y | v |" in text


# The command.


def test_the_command_writes_a_report_and_says_what_held(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "naimi-thiare", "--scale", "0.02", "--seeds", "2", "--jobs", "1", "--svg"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "✓ reproduced" in said
    assert "✗ not reproduced" in said
    words = " ".join(said.split())  # wherever the lines end
    assert words.index("(errata E1)") < words.index("1. A request that is causally before")
    assert said.rstrip().endswith(str(tmp_path / "report.md"))
    assert (tmp_path / "causal-order.svg").exists()
    assert main([*arguments, "--out", str(tmp_path), "--json"]) == 0
    assert {each["verdict"] for each in json.loads(capsys.readouterr().out)["claims"]} == {
        "reproduced",
        "not reproduced",
    }


def test_without_a_name_it_lists_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in PAPERS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("lodha", "unknown paper 'lodha'"),
        ("survey --seeds 0", "--seeds must be from 1 to 1000"),
        ("survey --scale 0", "--scale must be above 0"),
        ("survey --out README.md", "it is a file, not a directory"),
        ("survey --executor dask://127.0.0.1:1", "no Dask scheduler answers at 127.0.0.1:1"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: str,
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "README.md").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
