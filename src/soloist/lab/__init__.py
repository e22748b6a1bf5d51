"""The laboratory: plans of experiments, run in parallel and resumable, tidy tables, plots."""

from soloist.lab.plan import read_sweep
from soloist.lab.runner import SweepStopped, planned, run_sweep
from soloist.lab.sweep import Cell, Contender, PlanError, Seeds, Sweep
from soloist.lab.table import Point, Provenance, Row, Series, Table, read_table

__all__ = [
    "Cell",
    "Contender",
    "PlanError",
    "Point",
    "Provenance",
    "Row",
    "Seeds",
    "Series",
    "Sweep",
    "SweepStopped",
    "Table",
    "planned",
    "read_sweep",
    "read_table",
    "run_sweep",
]
