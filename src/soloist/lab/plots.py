"""Plots for papers and lectures: lines with confidence bands, heat maps, messages by kind.

Each takes plain data, as `Table.group`, `Table.grid` and `Table.by_kind` give it, and writes PNG or SVG by the
file's suffix. The same data gives the same bytes. Colours are Okabe and Ito's, which colour-blind readers tell
apart; every line has its own marker as well, for those who print in grey.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soloist.core import UsageError
from soloist.lab.files import write_file
from soloist.lab.table import Point, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#8A6D00", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
APART = len(COLOURS)
"""Lines that can be told apart in one picture."""
GREY = "#666666"

End = tuple[str, Any, Any, str, str]
"""Of a line: its label, where it ends, its colour and its marker."""

SUFFIXES = (".png", ".svg")

LOOK: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "soloist",  # else the ids in an SVG differ from run to run
}


def lines(
    series: Mapping[str, Sequence[Point]],
    path: Path | str,
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    log: str = "",
    references: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    show: bool = False,
) -> None:
    """One line per label, with a band for its 95 % interval and its name at its end.

    `x` and `y` name the axes; `log` names the logarithmic ones: `x`, `y` or `xy`. `references` are thin grey lines,
    such as a bound, or the figures that a paper prints. A point whose runs all failed is left out. More lines than can be
    told apart are spread over several panels with the same axes.
    """
    known = {label: [p for p in points if p.mean is not None] for label, points in series.items()}
    known = {label: points for label, points in known.items() if points}
    if not known and not references:
        raise UsageError(f"there is nothing to draw in {path}: every run failed or has no such figure")
    looks = _looks(known)
    panels = _panels(list(known))
    size = (7.0, 4.2 if len(panels) == 1 else 3.4 * len(panels))
    with _drawing(Path(path), title, show, size) as (figure, first):
        first.remove()
        all_axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        all_axes[0].set_title(title)
        drawn = []
        for axes, labels in zip(all_axes, panels, strict=True):
            ends = [_line(axes, label, known[label], *looks[label]) for label in labels]
            for label, pairs in (references or {}).items():
                axes.plot(*zip(*pairs, strict=True), color=GREY, linewidth=1, linestyle=(0, (4, 3)))
                ends.append((label, *pairs[-1], GREY, ""))
            drawn.append((axes, ends))
            axes.set_ylabel(y)
        all_axes[-1].set_xlabel(x)
        _scale(all_axes[0], log)
        _mark_measured(all_axes[0], {point.x for points in known.values() for point in points}, log)
        for axes, ends in drawn:
            _name_ends(axes, ends)


def _panels(labels: list[str]) -> list[list[str]]:
    """As few as will do, and about the same number of lines in each."""
    count = max(1, -(-len(labels) // APART))
    return [labels[i * len(labels) // count : (i + 1) * len(labels) // count] for i in range(count)]


def _line(axes: Axes, label: str, known: Sequence[Point], colour: str, marker: str) -> End:
    xs, ys = [point.x for point in known], [point.mean or 0.0 for point in known]
    axes.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=1.6, label=label)
    if any(point.ci95 for point in known):
        lows = [point.ci95[0] if point.ci95 else y for point, y in zip(known, ys, strict=True)]
        highs = [point.ci95[1] if point.ci95 else y for point, y in zip(known, ys, strict=True)]
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.18, linewidth=0)
    return label, xs[-1], ys[-1], colour, marker


_seen: ContextVar[dict[str, int] | None] = ContextVar("_seen", default=None)


@contextmanager
def same_looks(labels: Iterable[str] = ()) -> Iterator[None]:
    """For the figures of one report: a label keeps its colour and marker in all that are drawn meanwhile."""
    before = _seen.set({label: place for place, label in enumerate(labels)})
    try:
        yield
    finally:
        _seen.reset(before)


def _looks(labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each: no two have both in common, up to 64 of them."""
    seen = _seen.get()
    places = {} if seen is None else seen
    for label in labels:
        places.setdefault(label, len(places))
    return {
        label: (COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)])
        for label, place in places.items()
    }


def heatmap(
    cells: Mapping[tuple[Any, Any], float | None],
    path: Path | str,
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    z: str = "",
    log: bool = False,
    show: bool = False,
) -> None:
    """A value for each pair of an x and a y, as a colour and as a number. `log` is for the colours."""
    known = [value for value in cells.values() if value is not None]
    if not known:
        raise UsageError(f"there is nothing to draw in {path}: every run failed or has no such figure")
    xs = sorted({place[0] for place in cells}, key=in_order)
    ys = sorted({place[1] for place in cells}, key=in_order)
    size = (max(4.2, 0.85 * len(xs) + 2.2), max(2.6, 0.6 * len(ys) + 1.5))
    with _drawing(Path(path), title, show, size) as (figure, axes):
        from matplotlib.colors import LogNorm, Normalize

        if log and min(known) <= 0:
            raise UsageError(f"{path}: a logarithmic scale needs values above 0, not {min(known):g}")
        norm = (LogNorm if log else Normalize)(min(known), max(known))
        nothing = float("nan")
        values = [
            [nothing if (value := cells.get((a, b))) is None else value for a in xs] for b in ys
        ]  # a hole where nothing was measured
        image = axes.imshow(values, norm=norm, cmap="cividis", origin="lower", aspect="auto")
        axes.grid(visible=False)
        axes.set_xticks(range(len(xs)), [_short(value) for value in xs])
        axes.set_yticks(range(len(ys)), [_short(value) for value in ys])
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        for row, b in enumerate(ys):
            for column, a in enumerate(xs):
                if (value := cells.get((a, b))) is not None:
                    ink = "black" if norm(value) > 0.5 else "white"
                    axes.text(column, row, _short(value), ha="center", va="center", color=ink, fontsize=9)
        bar = figure.colorbar(image, ax=axes, label=z)
        bar.outline.set_visible(False)


def breakdown(
    kinds: Mapping[str, Mapping[str, float]],
    path: Path | str,
    *,
    title: str = "",
    x: str = "messages per entry",
    show: bool = False,
) -> None:
    """One bar per label, made of its messages by kind."""
    if not any(kinds.values()):
        raise UsageError(f"there is nothing to draw in {path}: no messages were sent")
    names = list(dict.fromkeys(kind for parts in kinds.values() for kind in parts))
    looks = {name: _fill(index) for index, name in enumerate(names)}
    largest = max(sum(parts.values()) for parts in kinds.values())
    with _drawing(Path(path), title, show, (7.5, 1.3 + 0.42 * len(kinds))) as (_, axes):
        for row, parts in enumerate(kinds.values()):
            left = 0.0
            for kind in names:  # in the same order in every bar
                axes.barh(row, parts.get(kind, 0.0), left=left, height=0.62, **looks[kind])
                left += parts.get(kind, 0.0)
            axes.text(left + 0.01 * largest, row, _short(left), va="center", fontsize=9)
        axes.set_yticks(range(len(kinds)), list(kinds))
        axes.set_ylim(len(kinds) - 0.4, -0.6)  # the first one at the top
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(x)
        axes.set_xlim(0, largest * 1.1)
        handles = [_patch(name, looks[name]) for name in names]
        axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def check_path(path: Path | str) -> None:
    """Say at once that a picture could not be made: not after the hours that its figures take."""
    if Path(path).suffix not in SUFFIXES:
        raise UsageError(f"{path}: pictures are {' or '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'soloist[lab]'") from None


@contextmanager
def _drawing(
    path: Path, title: str, show: bool, size: tuple[float, float] = (7.0, 4.2)
) -> Iterator[tuple[Figure, Axes]]:
    check_path(path)
    import matplotlib as mpl

    with mpl.rc_context(LOOK):
        figure = _window(path, size) if show else _sheet(size)
        axes = figure.add_subplot()
        axes.set_title(title)
        yield figure, axes
        buffer = io.BytesIO()
        figure.savefig(
            buffer,
            format=path.suffix[1:],
            dpi=200,
            bbox_inches="tight",
            metadata={"Date": None} if path.suffix == ".svg" else {"Software": None},
        )
        write_file(path, buffer.getvalue())
        if show:
            from matplotlib import pyplot

            pyplot.show()


def _sheet(size: tuple[float, float]) -> Figure:
    """A figure that no window system knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=size)


def _window(path: Path, size: tuple[float, float]) -> Figure:
    from matplotlib import pyplot

    if pyplot.get_backend().lower() == "agg":
        raise UsageError(f"there is no display to show {path.name} on; leave out --show and open the file")
    return pyplot.figure(figsize=size)


def _fill(index: int) -> dict[str, Any]:
    """Colours first; where they are used up, the same ones hatched."""
    hatches = ("", "///", "...", "xxx")
    return {
        "facecolor": COLOURS[index % len(COLOURS)],
        "edgecolor": "white",
        "hatch": hatches[index // len(COLOURS) % len(hatches)],
    }


def _patch(label: str, look: dict[str, Any]) -> Any:
    from matplotlib.patches import Patch

    return Patch(label=label, **look)


def _scale(axes: Axes, log: str) -> None:
    if not set(log) <= {"x", "y"}:
        raise UsageError(f"log should be x, y or xy, not {log!r}")
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        """0.01 reads better than 10⁻². What to leave blank is the parent's choice."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    for name, axis, set_scale in (("x", axes.xaxis, axes.set_xscale), ("y", axes.yaxis, axes.set_yscale)):
        if name in log:
            set_scale("log")
            axis.set_major_formatter(Plain())
            axis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.6)))  # only where majors are few
    if "y" not in log:
        # From zero: else a difference of a hundredth fills the page.
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.dataLim.y0 < 0 else 0.0)


def _mark_measured(axes: Axes, xs: Iterable[Any], log: str) -> None:
    """Ticks where something was measured, as far as their numbers do not touch."""
    if not all(isinstance(x, int | float) for x in xs):
        return
    axes.margins(x=0.03)
    axes.autoscale_view(scaley=False)
    place = axes.transScale + axes.transLimits
    chosen: list[float] = []
    for x in sorted(xs):
        width = 0.012 * (len(_short(x)) + 2)
        if not chosen or place.transform((x, 1))[0] - place.transform((chosen[-1], 1))[0] >= width:
            chosen.append(x)
    axes.set_xticks(chosen, [_short(x) for x in chosen])
    axes.set_xticks([x for x in xs if x not in chosen], labels=[], minor=True)


def _name_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Names and markers beside the ends of the lines, moved apart where they would cover each other."""
    axes.margins(x=0.03)
    axes.autoscale_view(scaley=False)
    if not all(isinstance(x, int | float) for _, x, _, _, _ in ends):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))  # words on the axis have no heights yet
        return
    ends = sorted(ends, key=lambda end: _height(axes, end))
    heights = _apart([_height(axes, end) for end in ends])
    for height, (label, _, _, colour, marker) in zip(heights, ends, strict=True):
        at: Any = {"transform": axes.transAxes, "color": colour, "clip_on": False}
        axes.plot([1.02], [height], marker=marker, markersize=5, linestyle="", **at)
        axes.text(1.04 if marker else 1.012, height, label, va="center", fontsize=9, **at)


def _height(axes: Axes, end: End) -> float:
    """Where a line ends, from 0 at the foot of the axes to 1."""
    return float((axes.transScale + axes.transLimits).transform((end[1], end[2]))[1])


def _apart(heights: Sequence[float], gap: float = 0.058) -> list[float]:
    """Heights at least a gap apart, each moved as little as its neighbours let it."""
    groups: list[list[float]] = []  # heights that stand together, as their wishes
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, gap) + place * gap for group in groups for place in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return _bottom(group, gap) + gap * (len(group) - 1)


def _short(value: Any) -> str:
    """A number in few digits; text as it is."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"
