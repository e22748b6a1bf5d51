"""What an experiment is made of, looked at before anything is run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from soloist.core import UsageError, shown, whole
from soloist.sim.links import Network

if TYPE_CHECKING:
    from soloist.sim.experiment import Experiment

LIMITS: dict[str, tuple[int, float]] = {
    "nodes": (1, 1e8),
    "entries": (1, 1e8),
    "replications": (1, 1e6),
    "warmup": (0, 1e9),
    "inside": (0, sys.float_info.max),
}
"""What makes sense, and what fits into a machine: a site and an entry take some hundred bytes each."""
WHOLE = ("nodes", "k", "entries", "warmup", "seed", "replications")
KINDS: dict[str, tuple[type, ...]] = {
    "algorithm": (str,),
    "inside": (float, int),
    "options": (dict,),
    "network": (Network,),
    "faults": (tuple, list),
}


def check(experiment: Experiment) -> None:
    """Raise `UsageError` for what makes no sense."""
    _check_types(experiment)
    for name, (least, most) in LIMITS.items():
        value = getattr(experiment, name)
        if value is None or least <= value <= most:
            continue
        limit = f"at most {most:g}" if value > most else f"at least {least}"
        raise UsageError(f"{name} must be {limit}, not {value:g}")
    for fault in experiment.faults:
        if not hasattr(fault, "check"):
            raise UsageError(f"faults are what soloist.sim.faults makes of their texts, not {shown(fault)}")
        fault.check(experiment.nodes)


def _check_types(experiment: Experiment) -> None:
    for name in WHOLE:
        if name != "warmup" or experiment.warmup is not None:
            whole(name, getattr(experiment, name))
    for name, kinds in KINDS.items():
        if not isinstance(value := getattr(experiment, name), kinds):
            raise UsageError(f"{name} must be of type {kinds[0].__name__}, not {shown(value)}")
    if not hasattr(experiment.workload, "schedule"):
        raise UsageError(f"workload must be Thinking, Saturated or Listed, not {shown(experiment.workload)}")
