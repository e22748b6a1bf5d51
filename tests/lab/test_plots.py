"""Pictures, really drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from soloist.cli import main
from soloist.core import UsageError
from soloist.lab import Point, Table, plots, run_sweep
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


# What a reader needs.


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures themselves, to be looked at in detail."""
    figures: list[Any] = []
    make = plots._sheet

    def keep(size: tuple[float, float]) -> Any:
        figures.append(make(size))
        return figures[-1]

    monkeypatch.setattr(plots, "_sheet", keep)
    return figures


def points(*values: float) -> list[Point]:
    return [Point(x, y, None, 1) for x, y in zip((5, 10, 40, 200), values, strict=False)]


def looks(figure: Any) -> dict[str, tuple[str, str]]:
    return {
        line.get_label(): (line.get_color(), line.get_marker())
        for axes in figure.axes
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }


def test_no_axis_is_logarithmic_unasked_and_ticks_are_where_it_was_measured(
    tmp_path: Path, drawn: list[Any]
) -> None:
    for options in ("", "--log x"):
        line = f"compare lamport central --nodes 5,10,40 --entries 20 --plot {tmp_path / 'p.svg'} {options}"
        assert main(line.split()) == 0
    plain, asked = (figure.axes[0] for figure in drawn)
    assert (plain.get_xscale(), plain.get_yscale()) == ("linear", "linear")
    assert (asked.get_xscale(), asked.get_yscale()) == ("log", "linear")
    for axes in (plain, asked):
        assert list(axes.get_xticks()) == [5, 10, 40]
        assert [each.get_text() for each in axes.get_xticklabels()] == ["5", "10", "40"]
        assert "".join(each.get_text() for each in axes.get_xticklabels(minor=True)) == ""


def test_ticks_that_would_touch_have_no_number(tmp_path: Path, drawn: list[Any]) -> None:
    lines({"a": [Point(x, 1.0, None, 1) for x in (1, 2, 1000, 2000)]}, tmp_path / "p.svg")
    assert list(drawn[0].axes[0].get_xticks()) == [1, 1000, 2000]
    assert list(drawn[0].axes[0].get_xticks(minor=True)) == [2]


def test_a_label_looks_the_same_in_every_figure_of_a_report(tmp_path: Path, drawn: list[Any]) -> None:
    with plots.same_looks():
        lines({"a": points(1), "b": points(2), "c": points(3)}, tmp_path / "one.svg")
        lines({"c": points(3), "d": points(4), "a": points(1)}, tmp_path / "two.svg")
    one, two = map(looks, drawn)
    assert (one["a"], one["c"]) == (two["a"], two["c"])
    assert len({*one.values(), *two.values()}) == 4
    alone = tmp_path / "alone.svg"
    lines({"c": points(3)}, alone)
    before = alone.read_bytes()
    with plots.same_looks(["a", "b"]):
        lines({"c": points(3)}, alone)
    assert alone.read_bytes() != before
    lines({"c": points(3)}, alone)
    assert alone.read_bytes() == before  # what was drawn before makes no difference


@pytest.mark.parametrize(("count", "panels"), [(8, 1), (9, 2), (30, 4)])
def test_no_more_lines_than_can_be_told_apart(
    count: int, panels: int, tmp_path: Path, drawn: list[Any]
) -> None:
    lines({f"label{i}": points(i, 2 * i, i) for i in range(count)}, tmp_path / "p.svg")
    found = [
        [line for line in axes.get_lines() if line.get_label().startswith("label")] for axes in drawn[0].axes
    ]
    assert len(found) == panels
    assert max(map(len, found)) <= 8
    assert len(looks(drawn[0])) == len(set(looks(drawn[0]).values())) == count
    for panel in found:
        assert len({line.get_color() for line in panel}) == len(panel)
    assert len({axes.get_ylim() for axes in drawn[0].axes}) == 1


def test_units_and_the_number_of_sites_are_in_the_picture(tmp_path: Path, drawn: list[Any]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "p"\nseeds = 1\nalgorithms = ["central"]\nfixed = { nodes = 4, entries = 20 }\nvary = { rate = [1, 2] }'
    )
    line = f"sweep {plan} --out {tmp_path / 'o'} --jobs 1 --plot y=response_time,x=rate"
    assert main(line.split()) == 0
    line = f"compare central --nodes 4 --rate 1,2 --entries 20 --figure time --plot {tmp_path / 'p.svg'}"
    assert main(line.split()) == 0
    of_sweep, of_compare = (figure.axes[0] for figure in drawn)
    assert of_sweep.get_title(loc="left") == "p, N=4"
    assert of_sweep.get_ylabel() == "response time (time units)"
    assert of_sweep.get_xlabel() == "rate (requests per site and time unit)"
    assert of_compare.get_title(loc="left") == "N=4"
    assert of_compare.get_ylabel() == "time to enter (time units)"
