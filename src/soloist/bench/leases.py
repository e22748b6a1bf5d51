"""What leases cost while nothing fails: our locks with a lease beside the same without one.

Measured in pairs, one right after the other, and which of the two comes first changes from round to round. A pair gives a
ratio, above 1 if the lease costs something; the median of the ratios counts, since what disturbs one of a pair often
disturbs both. The bound is that of its one-sided 95 % interval by order statistics, which assumes nothing about
how the ratios are distributed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from math import comb
from pathlib import Path
from statistics import median

import msgspec

from soloist.bench.lock_crew import Crew
from soloist.bench.lock_figures import contention, in_order
from soloist.bench.lock_workers import Done, Job, Role
from soloist.bench.locks import Table
from soloist.core import SoloistError
from soloist.net.cards import USUAL
from soloist.testing import free_ports

ALGORITHM = USUAL[0]
NODES = 3
"""Nodes that vote; there are more where more contend."""
AIM = 1.05
CONFIDENCE = 0.95


class Cost(msgspec.Struct, frozen=True):
    """One figure: medians without and with a lease, the median ratio, and the bound below which it is."""

    what: str
    unit: str
    without: float
    leased: float
    ratio: float
    bound: float | None
    """None: too few rounds to say."""
    ratios: list[float]


class Trial(msgspec.Struct, frozen=True):
    """Something to measure, with a lease and without."""

    what: str
    unit: str
    measure: Callable[[Trials, float | None], float]
    more_is_better: bool = False

    def ratio(self, without: float, leased: float) -> float:
        return without / leased if self.more_is_better else leased / without


class Trials:
    """The processes that all trials use, and the folder where their nodes keep their votes."""

    def __init__(self, crew: Crew, folder: Path, seconds: float, processes: int) -> None:
        self.crew, self.folder, self.seconds, self.processes = crew, folder, seconds, processes
        self._numbers = count()

    def jobs(self, roles: Sequence[Role], lease: float | None) -> list[Job]:
        number = next(self._numbers)
        nodes = {f"n{index}": f"127.0.0.1:{port}" for index, port in enumerate(free_ports(len(roles)))}
        return [
            Job(
                role,
                ALGORITHM,
                name,
                nodes=nodes,
                lease=lease,
                data=str(self.folder / f"{number}-{name}") if lease else None,
            )
            for role, name in zip(roles, nodes, strict=True)
        ]

    def _run(self, jobs: Sequence[Job], seconds: float) -> list[Done]:
        try:
            return self.crew.run(jobs, seconds)
        except RuntimeError as error:
            raise SoloistError(str(error)) from None

    def pair(self, lease: float | None) -> float:
        """Microseconds to take a free lock that rests here, and to give it back."""
        done = self._run(self.jobs(["pair", "idle", "idle"], lease), self.seconds)
        return median(done[0].durations) / 1000

    def contended(self, lease: float | None) -> float:
        """Entries per second of all."""
        done = self._run(self.jobs(["contend"] * self.processes, lease), self.seconds)
        if not (rate := contention(done, self.seconds).entries_per_second):
            raise SoloistError("nobody entered in that time; give more --seconds")
        return rate

    def hand_off(self, lease: float | None) -> float:
        """Microseconds from release in one process to entry in another that has been waiting."""
        jobs = self.crew.by_turns(self.jobs(["hold", "hold", "idle"], lease))
        visits = in_order(self._run(jobs, self.seconds))
        passed = [b.entered - a.left for a, b in pairwise(visits) if a.process != b.process]
        if not passed:
            raise SoloistError("no hand-off was seen in that time; give more --seconds")
        return median(passed) / 1000


TRIALS = (
    Trial("pair", "µs", Trials.pair),
    Trial("contended", "entries/s", Trials.contended, more_is_better=True),
    Trial("hand-off", "µs", Trials.hand_off),
)


def measure(
    rounds: int = 20,
    seconds: float = 1.0,
    processes: int = 4,
    lease: float = 10.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Cost]:
    pairs: dict[str, list[tuple[float, float]]] = {trial.what: [] for trial in TRIALS}
    steps = count(1)
    with (
        tempfile.TemporaryDirectory(prefix="leases-") as folder,
        Crew(max(NODES, processes), "asyncio") as crew,
    ):
        trials = Trials(crew, Path(folder), seconds, processes)
        for number in range(rounds):
            for trial in TRIALS:
                first, second = (None, lease) if number % 2 else (lease, None)
                found = {each: trial.measure(trials, each) for each in (first, second)}
                pairs[trial.what].append((found[None], found[lease]))
                progress(next(steps), rounds * len(TRIALS))
    return [_cost(trial, pairs[trial.what]) for trial in TRIALS]


def _cost(trial: Trial, pairs: Sequence[tuple[float, float]]) -> Cost:
    ratios = sorted(trial.ratio(*pair) for pair in pairs)
    without, leased = (median(each) for each in zip(*pairs, strict=True))
    return Cost(trial.what, trial.unit, without, leased, median(ratios), upper_bound(ratios), ratios)


def upper_bound(values: Sequence[float], confidence: float = CONFIDENCE) -> float | None:
    """What the median of all such values is at most, with that confidence: the least of these that will do.

    The median is above the k-th smallest of n values if fewer than k tosses of n coins are heads.
    """
    ordered, size, likely = sorted(values), len(values), 0.0
    for k, value in enumerate(ordered, start=1):
        likely += comb(size, k - 1) / 2**size
        if likely >= confidence:
            return value
    return None


def table(costs: Sequence[Cost]) -> Table:
    columns = ("what", "unit", ">no lease", ">leased", ">ratio", ">95 % bound", ">rounds")
    return columns, [
        (
            cost.what,
            cost.unit,
            _number(cost.without),
            _number(cost.leased),
            f"{cost.ratio:.3f}",
            "-" if cost.bound is None else f"{cost.bound:.3f}",
            str(len(cost.ratios)),
        )
        for cost in costs
    ]


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
