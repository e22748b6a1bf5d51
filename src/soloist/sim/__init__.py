"""The simulator: seeded, with the papers' cost model."""

from soloist.sim.experiment import Experiment, Result, simulate
from soloist.sim.statistics import Estimate
from soloist.sim.workload import Listed, Saturated, Thinking, listed

__all__ = ["Estimate", "Experiment", "Listed", "Result", "Saturated", "Thinking", "listed", "simulate"]
