"""A run to begin with in which sites ask by themselves, by the simulator; one plays on from any step of it."""

from __future__ import annotations

from soloist.algorithms import RECOVERY, Card
from soloist.core import UsageError
from soloist.sim.experiment import Experiment
from soloist.sim.links import Network, delay
from soloist.sim.workload import Saturated, Thinking
from soloist.watch.runs import of_simulation
from soloist.watch.setup import Setup
from soloist.watch.trace import Trace

RARELY = 0.05
"""Requests per site and time unit: sites meet now and then."""
ENTRIES = 10
"""Entries that one sees."""


def unit_of(card: Card) -> float:
    """Seconds that a message takes, and a stay inside: what has timers has them set for such links."""
    return 0.001 if card.name in RECOVERY else 1.0


def usual(card: Card) -> Saturated | Thinking:
    """How often sites ask if nobody says it."""
    return Saturated() if card.everybody_asks else Thinking(RARELY / unit_of(card))


def simulated(setup: Setup) -> Trace:
    """The run of a system with a workload."""
    if setup.puzzle or setup.erratum or setup.steps:
        raise UsageError("a workload is for a run that begins, of an algorithm as it is or as it is printed")
    if setup.chance:
        raise UsageError("steps are taken by chance, or sites ask by themselves: choose one of the two")
    card, _, fifo = setup.system()
    unit = unit_of(card)
    return of_simulation(
        Experiment(
            setup.algorithm,
            setup.nodes,
            setup.k,
            options=setup.options,
            printed=setup.printed,
            workload=Saturated() if setup.workload == "always" else usual(card),
            network=Network(delay(f"exponential:{unit}"), fifo=fifo),
            inside=unit,
            entries=ENTRIES,
            warmup=0,
            seed=1 if setup.seed is None else setup.seed,
        )
    )
