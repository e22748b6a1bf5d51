"""`soloist watch`, and the pages that `check` and `demo` write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY
from soloist.check import check
from soloist.cli import main
from soloist.sim import Experiment, simulate
from soloist.watch import of_script


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["watch", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_simulation_is_a_timeline_of_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "suzuki-kasami", "--nodes", "5", "--seed", "3")
    assert out.startswith("Suzuki-Kasami, 5 sites, seed 3 (simulation)\n")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert out.count("enters") >= 1
    assert said(capsys, "suzuki-kasami", "--seed", "3")[0] == out, "one seed, one run"


@pytest.mark.parametrize("name", ["raynal", *RECOVERY])
def test_every_algorithm_can_be_watched_without_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crash = {"nishio-recovery": "crash=1@0.01+0.05", "raymond-tree-recovery": "crash-new=1@0.01+0.05"}
    fault = ["--fault", crash.get(name, "crash=1@0.01")] if name in RECOVERY else []
    out, _ = said(capsys, name, *fault)
    assert out.count("; enters") >= 3
    assert "cut off" not in out


def test_a_figure_becomes_a_page_and_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, picture = tmp_path / "out.html", tmp_path / "out.svg"
    out, _ = said(
        capsys, "lodha-kshemkalyani", "--example", "fig3", "--html", str(page), "--svg", str(picture)
    )
    assert out == ""
    assert page.read_text().startswith("<!doctype html>")
    assert picture.read_text().startswith("<svg")


def test_examples_are_listed_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--example")
    assert "fig5-2c" in out
    assert said(capsys, "naimi-thiare", "--example", "fig2", "--text")[0].count("enters") == 2


def test_a_trace_is_read_again_exported_and_validated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, _ = said(capsys, "naimi-trehel", "--nodes", "3", "--fault", "pause=1@5+3", "--export", "jsonl")
    path = tmp_path / "trace.jsonl"
    path.write_text(out)
    assert said(capsys, str(path), "--export", "jsonl")[0] == out
    out, _ = said(capsys, str(path), "--validate", "--export", "mermaid")
    assert out.startswith("sequenceDiagram")
    assert "steps are steps of naimi-trehel, one after another." in out
    lines = path.read_text().splitlines()
    step = json.loads(lines[4])
    step["changed"] = {"last": 7}
    path.write_text("\n".join([*lines[:4], json.dumps(step), *lines[5:]]))
    _, err = said(capsys, str(path), "--validate", code=1)
    assert err.startswith("soloist: behaviour violated: step 3 (")
    assert "is recorded to have last = 7" in err


def test_what_mermaid_would_not_draw_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "lamport", "--entries", "150", "--export", "mermaid")
    assert out.startswith("sequenceDiagram")
    assert "Mermaid draws 50,000: see fewer --entries" in err
    assert said(capsys, "lamport", "--entries", "5", "--export", "mermaid")[1] == ""


def test_a_script_is_played(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("# mine\nstart central nodes=2\nacquire 1\nsettle\n----\n1  request\n\nrelease 1\n")
    out, _ = said(capsys, str(path))
    assert "1 gets Grant() from 0; enters" in out
    assert "1 leaves; Release() to 0" in out


def test_a_mark_before_the_first_letter_does_no_harm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(b"\xef\xbb\xbfstart central nodes=2\r\nacquire 1\r\n")
    assert "1 asks" in said(capsys, str(path))[0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"\xff\xfe\x00", "is no trace: it is not text"),
        (b"", 'is empty: a trace begins with a line that has "soloist": "trace"'),
        (
            b"hello world\n",
            'a trace begins with a line that has "soloist": "trace", and a script with `start NAME nodes=N`',
        ),
        (b"{}\n", 'is no trace: its first line has no "soloist": "trace"'),
        (b"[1, 2\n", "is neither a trace nor a script"),
        (b'{"soloist":"trace","version":1}\n', "is a trace of version 1; this program reads 2"),
        (b'{"kind":"request","site":0,"time":0.0}\n', "is no trace: its first line has no"),
        (
            b'{"soloist":"trace","version":2,"algorithm":"x","nodes":1000000000}\n',
            "1000000000 sites and K = 1; sites are 1 to 10000",
        ),
        (b"start nobody nodes=3\n", "unknown algorithm 'nobody'"),
        (b"start central nodes=2\ndance\n", "unknown command 'dance'"),
        (
            b"start central nodes=2\nacquire 9\n",
            "'acquire 9' cannot be done: '9' is no site; sites are 0 to 1",
        ),
    ],
)
def test_bad_files_get_one_clear_line(
    text: bytes, error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(text)
    out, err = said(capsys, str(path), code=2)
    assert out == ""
    assert error in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "what to watch is missing"),
        (["nobody"], "unknown algorithm 'nobody'"),
        (["none.jsonl"], "cannot read the trace none.jsonl: No such file or directory"),
        (["/dev/zero"], "/dev/zero is too long: 300 MB are read at most"),
        (["/"], "cannot read the trace /: Is a directory"),
        (["lamport", "central"], "one algorithm at a time; 'central' is too much"),
        (["lamport", "--export", "pdf"], "unknown format 'pdf'"),
        (["lamport", "--example", "fig1"], "no example of 'lamport' is known"),
        (["lamport", "--svg", "/no/such/place.svg"], "cannot write the picture to /no/such/place.svg"),
        (["lamport", "--html", "/no/such/place.html"], "cannot write the page to /no/such/place.html"),
    ],
)
def test_bad_arguments_get_one_clear_line(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = said(capsys, *arguments, code=2)
    assert error in err
    assert err.count("\n") == 1


def test_a_check_shows_its_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    lamport = ["check", "lamport", "--nodes", "2", "--rounds", "1"]
    assert main([*lamport, "--channels", "any", "--watch", "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert "Lamport, 2 sites (counterexample)\nexclusion: site 1 receives" in out
    assert "█ █< 1 gets Ack(t=2) from 0; enters" in out
    assert page.read_text().startswith("<!doctype html>")
    page.unlink()
    assert main([*lamport, "--html", str(page)]) in (0, 3)
    assert "There is no run to look at" in capsys.readouterr().err
    assert not page.exists()


def test_a_violation_in_a_simulation_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "naimi-trehel", "--fault", "loss=0.2", "--entries", "30")
    assert "\nservice: naimi-trehel: sites" in out
    assert "At the end:" in out
    assert " is lost\n" in out


def test_results_show_themselves_in_notebooks() -> None:
    assert of_script(["start central nodes=2", "acquire 1"])._repr_html_().startswith("<div")
    result = simulate(Experiment("central", nodes=3, entries=10))
    assert f"<td>{result.messages_per_entry.mean:.3g}</td>" in result._repr_html_()
    report = check(CATALOGUE["central"], nodes=2, rounds=1)
    assert report._repr_html_().startswith("<pre>central, N=2")
