"""Pictures, really drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from soloist.core import UsageError
from soloist.lab import Point, Table, run_sweep
from soloist.lab.plots import _apart, breakdown, heatmap, lines
from tests.lab.helpers import small

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def table() -> Table:
    return run_sweep(small(fixed={"entries": 40}, vary={"rate": [0.1, 1.0, 10.0], "nodes": [3, 6]}), jobs=1)


def draw_lines(table: Table, path: Path) -> None:
    lines(
        table.where(nodes=6).group("messages_per_entry", "rate"),
        path,
        title="Costs",
        x="rate",
        y="messages",
        log="x",
    )


def draw_heatmap(table: Table, path: Path) -> None:
    heatmap(
        table.where(label="naimi-trehel").grid("messages_per_entry", "rate", "nodes"),
        path,
        x="rate",
        y="nodes",
    )


def draw_breakdown(table: Table, path: Path) -> None:
    breakdown(table.where(nodes=6, rate=1.0).by_kind(), path)


DRAWINGS = [draw_lines, draw_heatmap, draw_breakdown]


@pytest.mark.parametrize("draw", DRAWINGS)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_data_is_the_same_picture(
    table: Table, tmp_path: Path, draw: Callable[[Table, Path], None], suffix: str
) -> None:
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    draw(table, one)
    draw(table, two)
    assert one.read_bytes() == two.read_bytes()
    if suffix == ".png":
        assert colours(one) > 3
    else:
        tree = ElementTree.parse(one)
        assert len(list(tree.iter("{http://www.w3.org/2000/svg}path"))) > 10
        assert b"<dc:date>" not in one.read_bytes()


def colours(path: Path) -> int:
    from matplotlib import image

    return len({tuple(pixel) for row in image.imread(path) for pixel in row[::7].tolist()})


def test_names_stand_at_the_ends_of_the_lines(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib as mpl

    from soloist.lab import plots

    monkeypatch.setitem(plots.LOOK, "svg.fonttype", "none")  # letters as letters
    draw_lines(table, tmp_path / "l.svg")
    text = (tmp_path / "l.svg").read_text()
    for word in ("naimi-trehel", "lamport", "Costs", "rate", "messages", ">0.1<", ">10<"):
        assert word in text
    assert mpl.rcParams["svg.fonttype"] == "path"  # nothing of ours stays behind


def test_heights_are_moved_apart_as_little_as_possible() -> None:
    assert _apart([0.1, 0.5]) == [0.1, 0.5]
    assert _apart([0.5, 0.5], gap=0.2) == pytest.approx([0.4, 0.6])
    assert _apart([0.0, 0.5, 0.5, 0.55], gap=0.1) == pytest.approx([0.0, 0.41667, 0.51667, 0.61667], abs=1e-4)


def test_holes_words_and_references(table: Table, tmp_path: Path) -> None:
    gaps = [Point(1, None, None, 0, 3), Point(2, 5.0, None, 1), Point(3, 6.0, (5.0, 7.0), 3)]
    lines({"some": gaps, "none": gaps[:1]}, tmp_path / "gaps.png", references={"bound": [(1, 8), (3, 8)]})
    words = {"a": [Point("uniform", 1.0, None, 1), Point("exponential", 2.0, None, 1)]}
    lines(words, tmp_path / "words.png")
    heatmap({(1, 1): 3.0, (2, 2): None}, tmp_path / "holes.png", log=True)
    assert {file.name for file in tmp_path.iterdir()} == {"gaps.png", "words.png", "holes.png"}


def test_many_kinds_can_be_told_apart(tmp_path: Path) -> None:
    breakdown({"many": {f"Kind{i}": 1.0 for i in range(12)}}, tmp_path / "many.png")
    assert (tmp_path / "many.png").exists()


@pytest.mark.parametrize(
    ("draw", "complaint"),
    [
        (lambda d: lines({"a": [Point(1, None, None, 0)]}, d / "x.png"), "nothing to draw"),
        (lambda d: heatmap({(1, 1): None}, d / "x.png"), "nothing to draw"),
        (lambda d: heatmap({(1, 1): 0.0}, d / "x.png", log=True), "needs values above 0"),
        (lambda d: breakdown({"a": {}}, d / "x.png"), "no messages were sent"),
        (lambda d: lines({"a": [Point(1, 1.0, None, 1)]}, d / "x.gif"), "pictures are .png or .svg"),
        (lambda d: lines({"a": [Point(1, 1.0, None, 1)]}, d / "x.png", log="z"), "log should be x, y or xy"),
        (lambda d: lines({"a": [Point(1, 1.0, None, 1)]}, d / "no" / "x.png"), "cannot write"),
        (lambda d: lines({"a": [Point(1, 1.0, None, 1)]}, d / "x.png", show=True), "there is no display"),
    ],
)
def test_what_can_not_be_drawn_is_said(
    tmp_path: Path, draw: Callable[[Path], None], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    with pytest.raises(UsageError, match=complaint):
        draw(tmp_path)


def test_without_matplotlib_it_says_what_to_install(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'soloist\[lab\]'"):
        draw_lines(table, tmp_path / "l.png")
