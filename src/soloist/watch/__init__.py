"""Seeing a run: traces that are recorded, drawn, exported, validated and stepped by hand."""

from soloist.watch.runs import of_report, of_script, of_simulation
from soloist.watch.trace import Head, Step, Trace, read

__all__ = ["Head", "Step", "Trace", "of_report", "of_script", "of_simulation", "read"]
