"""The table: what is in it, what is read from it, and how it is written."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import msgspec
import pytest

from soloist import __version__
from soloist.core import UsageError
from soloist.lab import Provenance, Row, Sweep, Table, read_table, run_sweep
from soloist.lab.sweep import Contender
from soloist.sim import Experiment, Thinking, simulate
from soloist.sim.links import Network
from soloist.sim.statistics import estimate
from tests.lab.helpers import small


@pytest.fixture(scope="module")
def table() -> Table:
    return run_sweep(small(), jobs=1, command="soloist sweep tiny.toml")


def made_up(values: dict[str, list[float | None]]) -> Table:
    """A table with given figures, seed by seed."""
    (cell,) = run_sweep(Sweep("x", (Contender("central"),), {"entries": 5}), jobs=1).rows
    rows = [
        msgspec.structs.replace(
            cell,
            label=label,
            seed=seed,
            messages_per_entry=value,
            error=None if value is not None else "service: hung",
        )
        for label, figures in values.items()
        for seed, value in enumerate(figures, start=1)
    ]
    return Table(Provenance(__version__, "", {}), tuple(rows))


def test_a_row_has_the_figures_of_simulate(table: Table) -> None:
    row = table.where(label="lamport", rate=10.0, seed=2).rows[0]
    result = simulate(
        Experiment("lamport", 4, workload=Thinking(10.0), entries=40, seed=2, network=Network(fifo=True))
    )
    assert row.messages_per_entry == result.messages_per_entry.mean == 9
    assert row.by_kind == result.by_kind == {"Ack": 3, "Release": 3, "Request": 3}
    assert row.response_time_p99 == result.response_time.p99
    assert (row.jain, row.inversions) == (result.fairness.jain, 0)
    assert (row.bound, row.light_load, row.error) == (9, 9, None)
    assert (row.warmup, row.channels, row.latency, row.latency_shape) == (20, "fifo", 0.001, "constant:0.001")


def test_a_bound_without_limit_is_none() -> None:
    (row,) = run_sweep(Sweep("r", (Contender("token-ring"),), {"nodes": 3, "entries": 10}), jobs=1).rows
    assert row.bound is None
    assert row.messages_per_entry is not None


def test_groups_are_means_over_the_seeds(table: Table) -> None:
    series = table.group("messages_per_entry", "rate")
    assert list(series) == ["naimi-trehel", "lamport"]
    points = series["naimi-trehel"]
    assert [point.x for point in points] == [0.1, 10.0]
    costs = [r.messages_per_entry for r in table.rows if r.label == "naimi-trehel" and r.rate == 10]
    expected = estimate([cost for cost in costs if cost is not None])
    assert (points[1].mean, points[1].ci95, points[1].runs) == (expected.mean, expected.ci95, 3)


def test_messages_of_one_kind_are_a_column(table: Table) -> None:
    assert table.group("messages_Ack", "rate")["lamport"][0].mean == 3
    assert table.group("messages_Ack", "rate")["naimi-trehel"][0].mean is None
    assert table.where(rate=10.0).by_kind()["lamport"] == {"Ack": 3, "Release": 3, "Request": 3}


def test_differences_are_taken_seed_by_seed() -> None:
    """Two labels that a seed moves alike: each has a wide interval, their difference none."""
    table = made_up({"a": [10.0, 20.0, 60.0], "b": [9.0, 19.0, 59.0]})
    assert table.group("messages_per_entry", "nodes")["a"][0].half_width > 30
    (point,) = table.difference("messages_per_entry", "nodes", of="a", minus="b")
    assert (point.mean, point.ci95, point.runs) == (1, (1, 1), 3)


def test_a_failed_run_takes_its_pair_along() -> None:
    table = made_up({"a": [10.0, None, 60.0], "b": [9.0, 19.0, None]})
    (point,) = table.difference("messages_per_entry", "nodes", of="a", minus="b")
    assert (point.mean, point.ci95, point.runs) == (1, None, 1)
    assert table.group("messages_per_entry", "nodes")["a"][0].failed == 1
    everything_failed = made_up({"a": [None, None]})
    assert everything_failed.group("messages_per_entry", "nodes")["a"][0].mean is None
    assert everything_failed.by_kind() == {"a": {}}


def test_a_mean_over_different_situations_is_refused() -> None:
    table = run_sweep(
        small(fixed={"entries": 40}, vary={"rate": [0.1, 1.0], "nodes": [3, 30]}, seeds=(1,)), jobs=1
    )
    with pytest.raises(UsageError, match="nodes varies, too: choose one of 3, 30, as in nodes=3"):
        table.group("messages_per_entry", "rate")
    with pytest.raises(UsageError, match="varies, too"):
        table.by_kind()
    assert len(table.where(nodes=30).group("messages_per_entry", "rate")["lamport"]) == 2
    grid = table.where(label="lamport").grid("messages_per_entry", "rate", "nodes")
    assert grid == {(0.1, 3): 6, (1.0, 3): 6, (0.1, 30): 87, (1.0, 30): 87}
    with pytest.raises(UsageError, match="a grid shows one label"):
        table.grid("messages_per_entry", "rate", "nodes")


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (
            lambda t: t.group("mesages_per_entry", "rate"),
            "unknown column 'mesages_per_entry'; did you mean mess",
        ),
        (lambda t: t.group("jain", "rte"), "unknown column 'rte'; did you mean rate"),
        (lambda t: t.where(nodes=7), "no run has nodes=7; there is 4"),
        (lambda t: t.difference("jain", "rate", "lamport", "x"), "unknown label 'x'"),
        (lambda t: t.write("t.xlsx"), "t.xlsx: tables are written as .csv, .json, .parquet"),
        (lambda t: t.write("/nowhere/t.csv"), "cannot write /nowhere/t.csv: No such file or directory"),
    ],
)
def test_what_is_not_there_is_said(table: Table, ask: object, complaint: str) -> None:
    with pytest.raises(UsageError) as error:
        ask(table)  # type: ignore[operator]
    assert complaint in str(error.value)


def test_csv_has_provenance_beside_it(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == table.columns
    assert len(rows) == 12
    assert rows[0]["label"] == "naimi-trehel"
    assert rows[0]["saturate"] == "false"
    assert rows[0]["messages_Ack"] == rows[0]["error"] == ""
    assert float(rows[-1]["messages_Ack"]) == 3
    provenance = json.loads((tmp_path / "t.provenance.json").read_text())
    assert provenance["soloist"] == __version__
    assert provenance["command"] == "soloist sweep tiny.toml"
    assert provenance["plan"]["vary"] == {"rate": [0.1, 10.0]}


def test_json_can_be_read_again(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "t.json")
    assert read_table(tmp_path / "t.json") == table
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(UsageError, match="is no table of soloist"):
        read_table(tmp_path / "other.json")
    with pytest.raises(UsageError, match="cannot read"):
        read_table(tmp_path / "none.json")


def test_parquet_has_types_and_provenance(table: Table, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table.write(tmp_path / "t.parquet")
    found = parquet.read_table(tmp_path / "t.parquet")
    assert found.to_pylist() == table.records()
    assert {str(found.schema.field(name).type) for name in ("nodes", "jain", "saturate", "error")} == {
        "int64", "double", "bool", "string",
    }  # fmt: skip
    assert found.schema.metadata[b"soloist"].decode() == __version__
    assert json.loads(found.schema.metadata[b"plan"])["name"] == "tiny"


def test_without_pyarrow_it_says_what_to_install(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'soloist\[lab\]'"):
        table.write(tmp_path / "t.parquet")


def test_a_file_is_whole_or_the_old_one(table: Table, tmp_path: Path) -> None:
    (tmp_path / "t.json").mkdir()  # which no file can replace
    with pytest.raises(UsageError, match="cannot write"):
        table.write(tmp_path / "t.json")
    assert [file.name for file in tmp_path.iterdir()] == ["t.json"]


def test_no_figure_tells_the_time() -> None:
    assert not [name for name in Row.__struct_fields__ if "wall" in name or "seconds" in name]
