"""The tidy table: one row per run, and what to read from it.

A row holds no wall-clock times and nothing about the machine, so the same plan gives the same bytes wherever and
however it was run.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from soloist import __version__
from soloist.core import UsageError, unknown
from soloist.lab.files import write_file
from soloist.lab.sweep import Sweep
from soloist.sim.statistics import Estimate, estimate

KIND = "messages_"
"""Columns `messages_Request`, …: messages of one kind per entry."""


class Row(msgspec.Struct, frozen=True):
    """One run. A figure is None where there is none: the run failed, or nothing of the kind happened.

    `latency` is the mean and `latency_shape` the whole; `bound` is None where there is no limit.
    """

    label: str
    algorithm: str
    printed: bool
    options: str
    nodes: int
    k: int
    rate: float | None
    saturate: bool
    latency: float
    latency_shape: str
    send_cost: float
    receive_cost: float
    inside: float
    entries: int
    warmup: int
    channels: str
    seed: int
    messages_per_entry: float | None = None
    by_kind: dict[str, float] = {}
    response_time: float | None = None
    response_time_p50: float | None = None
    response_time_p99: float | None = None
    sync_delay: float | None = None
    throughput: float | None = None
    words_per_message: float | None = None
    bytes_per_message: float | None = None
    jain: float | None = None
    inversions: int | None = None
    max_bypass: int | None = None
    bound: float | None = None
    light_load: float | None = None
    error: str | None = None
    """The promise that the run broke, and how."""
    faults: str = ""

    def value(self, column: str) -> Any:
        """What stands in a column; `messages_Request` and its like are columns, too."""
        if column in COLUMNS:
            return getattr(self, column)
        return self.by_kind.get(column.removeprefix(KIND))


COLUMNS: dict[str, Any] = {f.name: f.type for f in msgspec.structs.fields(Row) if f.name != "by_kind"}
"""The columns that every table has, with their types."""

PARAMETERS = (*tuple(COLUMNS)[tuple(COLUMNS).index("nodes") : tuple(COLUMNS).index("seed")], "faults")
"""The columns that describe the situation of a run."""

FIGURES = tuple(COLUMNS)[tuple(COLUMNS).index("messages_per_entry") : tuple(COLUMNS).index("error")]
"""The columns that were measured, or promised."""


FOLLOWS = {
    "nodes": ("warmup",),
    "entries": ("warmup",),
    "latency": ("latency_shape",),
    "latency_shape": ("latency",),
}
"""Columns that change along with another one, and so do not count as varied beside it."""


class Provenance(msgspec.Struct, frozen=True):
    """Where a table comes from: enough to make it again."""

    soloist: str
    command: str
    plan: Any

    @classmethod
    def of(cls, sweep: Sweep, command: str = "") -> Provenance:
        return cls(__version__, command, msgspec.json.decode(msgspec.json.encode(sweep)))


class Point(msgspec.Struct, frozen=True):
    """The runs of one label at one x, taken together. `failed` runs broke a promise and are not in the mean."""

    x: Any
    mean: float | None
    ci95: tuple[float, float] | None
    runs: int
    failed: int = 0

    @property
    def half_width(self) -> float:
        return (self.ci95[1] - self.ci95[0]) / 2 if self.ci95 else 0.0


Series = dict[str, list[Point]]
"""Points by label: what a plot of lines shows."""


class Table(msgspec.Struct, frozen=True):
    """All runs of a sweep, in the order of the plan."""

    provenance: Provenance
    rows: tuple[Row, ...]

    # Choosing.

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(row.label for row in self.rows))

    @property
    def kinds(self) -> list[str]:
        """The kinds of messages that were sent, those of the first algorithm first."""
        return list(dict.fromkeys(kind for row in self.rows for kind in row.by_kind))

    @property
    def columns(self) -> list[str]:
        """All columns, messages by kind after their sum; that of faults only where there are some."""
        names = [name for name in COLUMNS if name != "faults" or any(row.faults for row in self.rows)]
        place = names.index("messages_per_entry") + 1
        return [*names[:place], *(KIND + kind for kind in self.kinds), *names[place:]]

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row.error is not None]

    def varied(self) -> dict[str, list[Any]]:
        """The parameters that differ between rows, with their values."""
        values = {name: list(dict.fromkeys(row.value(name) for row in self.rows)) for name in PARAMETERS}
        return {name: found for name, found in values.items() if len(found) > 1}

    def where(self, **values: Any) -> Table:
        """The rows with these values, such as `nodes=10` or `label="lamport"`."""
        rows = self.rows
        for column, value in values.items():
            self._known(column)
            kept = tuple(row for row in rows if row.value(column) == value)
            if not kept:
                found = ", ".join(dict.fromkeys(str(row.value(column)) for row in rows))
                raise UsageError(f"no run has {column}={value}; there is {found or 'none'}")
            rows = kept
        return Table(self.provenance, rows)

    # Reading.

    def group(self, y: str, x: str) -> Series:
        """For each label and x value: the mean of y over the seeds, with its 95 % interval."""
        return {
            label: [
                _point(value, [row.value(y) for row in rows], failed)
                for value, rows, failed in self._at_each(label, x)
            ]
            for label in self._labels_for(y, x)
        }

    def difference(self, y: str, x: str, of: str, minus: str) -> list[Point]:
        """For each x value: y of one label minus y of another, in pairs of the same seed.

        What a seed does to both of them cancels out, so the interval is narrower than that of either where
        they react alike.
        """
        labels = self._labels_for(y, x)
        for label in (of, minus):
            if label not in labels:
                raise unknown("label", label, labels)
        other = {value: {row.seed: row for row in rows} for value, rows, _ in self._at_each(minus, x)}
        points = []
        for value, rows, _ in self._at_each(of, x):
            pairs = [(row, other[value][row.seed]) for row in rows if row.seed in other.get(value, {})]
            gaps = [_less(one.value(y), two.value(y)) for one, two in pairs]
            points.append(_point(value, gaps, failed=0))
        return points

    def grid(self, z: str, x: str, y: str) -> dict[tuple[Any, Any], float | None]:
        """For each pair of an x and a y value: the mean of z over the seeds. One label only."""
        self._known(z)
        self.refuse_mixture({x, y}, one_label=True)
        cells: dict[tuple[Any, Any], list[Any]] = {}
        for row in self.rows:
            cells.setdefault((row.value(x), row.value(y)), []).append(row.value(z))
        return {place: _point(None, values, 0).mean for place, values in cells.items()}

    def by_kind(self) -> dict[str, dict[str, float]]:
        """For each label: messages of each kind per entry, the mean over its runs."""
        self.refuse_mixture(set())
        means = {}
        for label in self.labels:
            rows = [row for row in self.rows if row.label == label and row.error is None]
            kinds = dict.fromkeys(kind for row in rows for kind in row.by_kind)
            means[label] = {
                kind: sum(row.by_kind.get(kind, 0.0) for row in rows) / len(rows) for kind in kinds
            }
        return means

    def _labels_for(self, y: str, x: str) -> list[str]:
        self._known(y)
        self.refuse_mixture({x})
        return self.labels

    def refuse_mixture(self, axes: set[str], one_label: bool = False) -> None:
        """A mean over different situations means nothing: whatever varies has to be an axis, or be chosen."""
        for column in axes:
            self._known(column)
        if one_label and len(self.labels) > 1:
            raise UsageError(f"a grid shows one label; choose from {', '.join(self.labels)}")
        spared = axes.union(*(FOLLOWS.get(axis, ()) for axis in axes))
        for name, values in self.varied().items():
            if name not in spared and any(self._differs_within(label, name) for label in self.labels):
                raise UsageError(
                    f"{name} varies, too: choose one of {', '.join(map(str, values))}, as in {name}={values[0]}"
                )

    def _differs_within(self, label: str, column: str) -> bool:
        """Channels may differ from one algorithm to the next, by what their cards ask for."""
        return len({row.value(column) for row in self.rows if row.label == label}) > 1

    def _at_each(self, label: str, x: str) -> Iterable[tuple[Any, list[Row], int]]:
        places: dict[Any, list[Row]] = {}
        for row in self.rows:
            if row.label == label:
                places.setdefault(row.value(x), []).append(row)
        for value in sorted(places, key=in_order):
            rows = places[value]
            good = [row for row in rows if row.error is None]
            yield value, good, len(rows) - len(good)

    def _known(self, column: str) -> None:
        if column not in self.columns:
            raise unknown("column", column, self.columns)

    # Writing.

    def records(self) -> list[dict[str, Any]]:
        """Flat rows, one key a column."""
        return [{column: row.value(column) for column in self.columns} for row in self.rows]

    def write(self, path: Path | str) -> None:
        """Write a file, by its suffix: .csv, .json or .parquet. All of it appears, or nothing."""
        path = Path(path)
        if path.suffix not in WRITERS:
            raise UsageError(f"{path}: tables are written as {', '.join(WRITERS)}")
        WRITERS[path.suffix](self, path)


def read_table(path: Path | str) -> Table:
    """Read a table that was written as JSON."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Table)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is no table of soloist: {error}") from None


def _point(x: Any, values: list[Any], failed: int) -> Point:
    known = [value for value in values if value is not None]
    if not known:
        return Point(x, None, None, 0, failed)
    found: Estimate = estimate(known)
    return Point(x, found.mean, found.ci95, len(known), failed)


def _less(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else one - two


def in_order(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, everything else after them by its text."""
    number = isinstance(value, int | float)
    return (not number, value if number else math.inf, str(value))


def _write_csv(table: Table, path: Path) -> None:
    """Provenance goes beside it: a comment line would trip most readers of CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for record in table.records():
        writer.writerow(_plain(value) for value in record.values())
    write_file(path, text.getvalue().encode())
    write_file(path.with_suffix(".provenance.json"), _pretty(table.provenance))


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _write_json(table: Table, path: Path) -> None:
    write_file(path, _pretty(table))


def _pretty(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"


def _write_parquet(table: Table, path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'soloist[lab]'") from None
    types = {str: pyarrow.string(), int: pyarrow.int64(), bool: pyarrow.bool_(), float: pyarrow.float64()}
    fields = [pyarrow.field(column, types[_bare(COLUMNS.get(column, float))]) for column in table.columns]
    metadata = {
        "soloist": table.provenance.soloist,
        "command": table.provenance.command,
        "plan": msgspec.json.encode(table.provenance.plan).decode(),
    }
    data = pyarrow.Table.from_pylist(table.records(), schema=pyarrow.schema(fields, metadata=metadata))
    buffer = io.BytesIO()
    parquet.write_table(data, buffer)
    write_file(path, buffer.getvalue())


def _bare(annotation: Any) -> Any:
    """float of `float | None`."""
    return next(t for t in getattr(annotation, "__args__", (annotation,)) if t is not type(None))


WRITERS: dict[str, Callable[[Table, Path], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
