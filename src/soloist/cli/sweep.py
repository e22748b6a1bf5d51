"""`soloist sweep`: a whole plan of experiments, resumable, as a table and as plots."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from soloist.cli import arguments as arg
from soloist.cli.output import number, print_json, print_table, progress_bar
from soloist.core import UsageError, unknown
from soloist.lab import Point, Sweep, SweepStopped, Table, planned, plots, read_sweep, run_sweep
from soloist.lab.table import COLUMNS, FIGURES, KIND, PARAMETERS, WRITERS


class Plot(msgspec.Struct, frozen=True):
    """A picture to draw, as `--plot` asks for it. `where` chooses among the runs."""

    kind: str
    axes: dict[str, str]
    where: dict[str, str]
    log: str
    file: Path
    show: bool

    def choose(self, table: Table) -> Table:
        """The runs to draw. It complains about what can not be in one picture."""
        chosen = table.where(**{name: typed(name, value) for name, value in self.where.items()})
        axes = {column for column in self.axes.values() if column in PARAMETERS}
        chosen.refuse_mixture(axes, one_label=self.kind == "heatmap")
        return chosen

    def draw(self, table: Table) -> None:
        chosen = self.choose(table)
        sizes = {row.nodes for row in chosen.rows}
        size = [f"N={sizes.pop()}"] if len(sizes) == 1 and "nodes" not in self.axes.values() else []
        others = [f"{name}={value}" for name, value in self.where.items() if name != "nodes"]
        DRAW[self.kind](self, chosen, ", ".join([table.provenance.plan["name"], *size, *others]))


def sweep(
    path: Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The plan.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where all goes. (default: the plan's name, here)"),
    ] = None,
    executor: arg.Executor = None,
    jobs: arg.Workers = 0,
    fresh: arg.Fresh = False,
    plot: Annotated[
        list[str] | None,
        typer.Option("--plot", metavar="WHAT", help="Draw a picture into --out; see above. May be repeated."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Open the plots in windows, too.")] = False,
    json: arg.Json = False,
) -> None:
    """Run each algorithm of a plan in each of its situations, with each of its seeds.

    Every finished run is kept at once: after Ctrl-C, a crash or a power cut the same command goes on where it
    stopped. DIR gets table.csv, table.json, and table.parquet where pyarrow is installed, the same to the byte
    however the runs were made. A run that breaks a promise is a row with an error.

    --plot y=FIGURE,x=PARAMETER draws lines with 95 % bands; heatmap,z=FIGURE,x=…,y=… a map of one label; breakdown
    the messages by kind. More KEY=VALUE choose among the runs (nodes=10); log=x, y or xy and file=NAME.png or
    .svg are for the picture.

    Examples:

        soloist sweep examples/sweep.toml --plot y=messages_per_entry,x=rate,log=x

        soloist sweep plan.toml --out results --executor dask://10.0.0.1:8786

        soloist sweep plan.toml --fresh --plot breakdown,rate=1.0 --plot y=sync_delay,x=nodes,file=delay.png
    """
    plan = read_sweep(path)
    out = out if out is not None else Path(path.stem)
    pictures = [parse_plot(text, plan, out, show) for text in plot or ()]
    for picture in pictures:
        picture.choose(planned(plan))  # better now than after hours of runs
    try:
        with progress_bar(plan.name, json) as progress:
            table = run_sweep(
                plan, out, executor, jobs, progress, fresh=fresh, command=f"soloist sweep {path}"
            )
    except SweepStopped as stop:
        print(f"soloist: {stop}", file=sys.stderr)
        raise typer.Exit(1) from None
    files = write_tables(table, out)
    with plots.same_looks(table.labels):
        for picture in pictures:
            picture.draw(table)
            files.append(picture.file)
    if json:
        print_json(table)
    else:
        print_summary(table)
        print(f"\n{len(table.rows)} runs: {', '.join(map(str, files))}")
    if table.failed:
        first = table.failed[0]
        print(
            f"soloist: {len(table.failed)} of {len(table.rows)} runs broke a promise; the first: {first.error}",
            file=sys.stderr,
        )


def write_tables(table: Table, out: Path) -> list[Path]:
    files = [out / f"table{suffix}" for suffix in WRITERS if suffix != ".parquet" or has_pyarrow()]
    for file in files:
        table.write(file)
    return files


def has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def print_summary(table: Table) -> None:
    """One line a label and situation: the mean over the seeds."""
    varied = [name for name in table.varied() if name in table.provenance.plan["vary"]]
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in table.rows:
        groups.setdefault((*(row.value(name) for name in varied), row.label), []).append(row)
    figures = {
        "messages_per_entry": ">messages/entry",
        "response_time": ">to enter",
        "sync_delay": ">sync",
        "throughput": ">throughput",
        "jain": ">Jain",
    }
    rows = []
    for (*situation, label), runs in groups.items():
        # One situation has one x, whatever column is taken for it.
        here = Table(table.provenance, tuple(runs))
        points = [here.group(figure, "nodes")[label][0] for figure in figures]
        failed = [number(points[0].failed)] if table.failed else []
        rows.append([label, *(plain(value) for value in situation), *map(interval, points), *failed])
    keys = ["algorithm", *(f">{name}" for name in varied)]
    columns = [*keys, *figures.values(), *([">failed"] if table.failed else [])]
    print_table(f"{table.provenance.plan['name']}: means over the seeds", columns, rows, len(keys))


def plain(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def interval(point: Point) -> str:
    """Four digits, and two of the doubt; none where all seeds agree but for rounding."""
    if point.mean is None:
        return "-"
    doubt = f" ± {point.half_width:.2g}" if point.half_width > 1e-9 * abs(point.mean) else ""
    return f"{point.mean:.4g}{doubt}"


# --plot.


def parse_plot(text: str, plan: Sweep, out: Path, show: bool) -> Plot:
    """Take it apart and check it before hours of runs, not after."""
    words = [word.strip() for word in text.split(",")]
    kind = words.pop(0) if "=" not in words[0] else "lines"
    if kind not in DRAW:
        raise UsageError(f"--plot {text!r}: {unknown('kind', kind, DRAW)}")
    given = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise UsageError(f"--plot {text!r}: {word!r} should read KEY=VALUE, such as x=rate")
        given[key] = value
    axes = {}
    for name in AXES[kind]:
        if name not in given:
            wanted = ",".join(f"{axis}=…" for axis in AXES[kind])
            raise UsageError(f"--plot {text!r}: {name}= is missing; {kind} needs {wanted}")
        axes[name] = check_axis(text, given.pop(name))
    log = given.pop("log", "")
    if not set(log) <= {"x", "y", "z"}:
        raise UsageError(f"--plot {text!r}: log should be x, y or xy, not {log!r}")
    name = "-".join(axes.values()) or kind
    file = out / given.pop("file", f"{'-'.join([name, *given.values()])}.svg".replace("/", "_"))
    plots.check_path(file)
    for column in given:
        if column not in ("label", "seed", *PARAMETERS):
            raise UsageError(
                f"--plot {text!r}: {unknown('key', column, ('label', *PARAMETERS, 'log', 'file'))}"
            )
    if "label" in given and given["label"] not in (labels := [each.label for each in plan.algorithms]):
        raise UsageError(f"--plot {text!r}: {unknown('label', given['label'], labels)}")
    return Plot(kind, axes, given, log, file, show)


def check_axis(text: str, column: str) -> str:
    if column not in (*FIGURES, *PARAMETERS) and not column.startswith(KIND):
        raise UsageError(f"--plot {text!r}: {unknown('column', column, (*FIGURES, *PARAMETERS))}")
    return column


def typed(column: str, text: str) -> Any:
    """The value of a column from what stands on the command line."""
    try:
        return msgspec.convert(text, COLUMNS[column], strict=False)
    except msgspec.ValidationError:
        raise UsageError(f"--plot: {column}={text}: that is no value of {column}") from None


def draw_lines(plot: Plot, table: Table, title: str) -> None:
    x, y = plot.axes["x"], plot.axes["y"]
    plots.lines(
        table.group(y, x), plot.file, title=title, x=words(x), y=words(y), log=plot.log, show=plot.show
    )


def draw_heatmap(plot: Plot, table: Table, title: str) -> None:
    x, y, z = plot.axes["x"], plot.axes["y"], plot.axes["z"]
    plots.heatmap(
        table.grid(z, x, y),
        plot.file,
        title=title,
        x=words(x),
        y=words(y),
        z=words(z),
        log="z" in plot.log,
        show=plot.show,
    )


def draw_breakdown(plot: Plot, table: Table, title: str) -> None:
    plots.breakdown(table.by_kind(), plot.file, title=title, show=plot.show)


def words(column: str) -> str:
    """A column for people, with its unit."""
    name = (
        column.removeprefix(KIND) + " per entry"
        if column.startswith("messages_") and column not in FIGURES
        else column
    )
    unit = UNITS.get(column)
    return name.replace("_", " ") + (f" ({unit})" if unit else "")


UNITS = {
    **dict.fromkeys(("response_time", "response_time_p50", "response_time_p99", "sync_delay"), "time units"),
    **dict.fromkeys(("latency", "send_cost", "receive_cost", "inside"), "time units"),
    "throughput": "entries per time unit",
    "rate": "requests per site and time unit",
    "nodes": "sites",
}


AXES = {"lines": ("y", "x"), "heatmap": ("z", "x", "y"), "breakdown": ()}
DRAW: dict[str, Callable[[Plot, Table, str], None]] = {
    "lines": draw_lines,
    "heatmap": draw_heatmap,
    "breakdown": draw_breakdown,
}
