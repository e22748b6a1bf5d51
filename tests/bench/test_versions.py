"""Two trees side by side: which code runs, what is compared, and what is worse."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from soloist.bench import lock_versions
from soloist.bench.lock_figures import Contended
from soloist.bench.lock_versions import HERE, Difference, measure, run, source
from soloist.bench.locks import Measurement
from soloist.cli import main
from soloist.core import SoloistError


def tree(folder: Path, body: str) -> Path:
    """A tree with a benchmark that does no more than this."""
    package = folder / "src" / "soloist"
    (package / "bench").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bench" / "locks.py").touch()
    (package / "__main__.py").write_text(textwrap.dedent(body))
    return folder


def row(pair: float, rate: float, hand_off: float) -> Measurement:
    return Measurement("naimi-trehel", "asyncio", pair, [Contended(8, rate, 1.0, 1)], hand_off, hand_off)


def test_the_code_of_the_other_tree_is_run(tmp_path: Path) -> None:
    """And not this one, though this is what is installed."""
    other = tree(
        tmp_path,
        """
        import json, sys
        import soloist
        row = {"system": sys.argv[3], "setting": soloist.__file__, "pair_us": 1.5, "hand_off_p50_us": 2.5}
        print(json.dumps({"rows": [row], "bars": []}))
        """,
    )
    [found] = run(source(other), ["naimi-trehel"], 0.1)
    assert found.system == "naimi-trehel"
    assert Path(found.setting).is_relative_to(other.resolve())
    assert (found.pair_us, found.hand_off_p50_us) == (1.5, 2.5)


def test_they_take_turns_and_every_round_gives_a_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = source(tree(tmp_path, ""))
    there = iter([row(1, 100, 50), row(2, 200, 50), row(4, 400, 50)])
    here = iter([row(2, 50, 50), row(4, 100, 25), row(8, 200, 100)])
    turns: list[Path] = []

    def once(code: Path, systems: object, seconds: float) -> list[Measurement]:
        turns.append(code)
        return [next(here if code == HERE else there)]

    monkeypatch.setattr(lock_versions, "run", once)
    steps: list[tuple[int, int]] = []
    found = measure(tmp_path, rounds=3, progress=lambda done, total: steps.append((done, total)))
    assert turns == [other, HERE, HERE, other, other, HERE]
    assert steps == [(each, 6) for each in range(1, 7)]
    kind = ("naimi-trehel", "asyncio")
    assert found == [
        Difference(*kind, "re-entry", 2, 4, 2, 2, 2, True),
        Difference(*kind, "hand-off p50", 50, 50, 1, 0.75, 1.5, False),
        Difference(*kind, "entries/s at 8", 200, 100, 0.5, 0.5, 0.5, True),
    ]
    columns, cells = lock_versions.table(found)
    assert [len(each) for each in cells] == [len(columns)] * 3
    assert [each[-1] for each in cells] == ["YES", "no", "YES"]


def test_what_is_better_is_not_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "")
    monkeypatch.setattr(
        lock_versions, "run", lambda code, *_: [row(1, 200, 5) if code == HERE else row(2, 100, 10)]
    )
    assert [each.worse for each in measure(tmp_path, rounds=2)] == [False] * 3


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("raise SystemExit('soloist: no luck')", "failed: soloist: no luck"),
        ("raise SystemExit(3)", "failed: exit code 3"),
        (
            """print('{"rows": [{"system": "s", "setting": "t", "missing": "failed: it died"}]}')""",
            "failed: s, t: failed: it died",
        ),
        (
            """print('{"rows": [{"system": "s", "setting": "t", "overlaps": 2}]}')""",
            "2 entries while another process was inside",
        ),
    ],
)
def test_a_benchmark_that_fails_is_said(body: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(SoloistError, match=complaint):
        run(source(tree(tmp_path, body)), ["naimi-trehel"], 0.1)


def test_bad_input_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        assert main(["bench", "locks", *words]) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        return line

    assert "no tree of this repository" in said("--against", str(tmp_path))
    assert "that is this tree" in said("--against", str(HERE.parent))
    tree(tmp_path, "")
    assert "--rounds must be from 2" in said("--against", str(tmp_path), "--rounds", "1")
    assert "unknown system 'redis-py'" in said("redis-py", "--against", str(tmp_path))
