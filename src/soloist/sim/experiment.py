"""An experiment: one algorithm in one situation, run with one or more seeds."""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from statistics import fmean
from typing import Any

import msgspec

from soloist.algorithms import Card, Size, load_any
from soloist.algorithms.printed import find_printed
from soloist.children import process_pool
from soloist.core import Process, PropertyViolated, ProtocolError, Site, UsageError, whole
from soloist.core.trace import Recorder
from soloist.sim.asked import check
from soloist.sim.drawn import DrawnEngine, serves
from soloist.sim.engine import Engine
from soloist.sim.faults import Fault
from soloist.sim.faulty import FaultyEngine, FaultyLedger
from soloist.sim.links import Network
from soloist.sim.observers import Ledger, Occupancy, Tracer
from soloist.sim.statistics import Estimate, jain, over, overtaken, quantile
from soloist.sim.workload import Listed, Saturated, Thinking

Progress = Callable[[int, int], None]
"""Called with entries measured so far, and entries asked for."""

MIXED = 5
"""Requests per site until a system has forgotten how it started."""


class Experiment(msgspec.Struct, frozen=True):
    """Everything that a run depends on. The same experiment gives the same figures."""

    algorithm: str
    """Its name, or a file or module of your own: `my_lock.py`, `package.module:CARD`."""
    nodes: int = 10
    k: int = 1
    options: dict[str, Any] = {}
    workload: Thinking | Saturated | Listed = Thinking(1.0)
    network: Network = Network()
    inside: float = 0.001
    entries: int = 10_000
    warmup: int | None = None
    seed: int = 1
    replications: int = 1
    printed: bool | str = False
    """Run what a paper or the survey prints, errors and all, where that is known to differ; or with one error only,
    by its code in docs/errata.md."""
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        check(self)

    def card(self) -> Card:
        """The card of its algorithm, or of what is printed of it."""
        if not self.printed:
            return load_any(self.algorithm)
        return find_printed(self.algorithm, self.printed if isinstance(self.printed, str) else None)

    def warmed_up(self) -> bool:
        """Whether the start is forgotten: trees and arrays that change with every entry take some requests per site
        until they look as they always will. A list of requests is meant as it is."""
        return isinstance(self.workload, Listed) or self.cohort()[0] >= MIXED * self.nodes

    def size(self) -> Size:
        """The size, with all options that the algorithm takes."""
        return self.card().size(self.nodes, self.k, self.options)

    def cohort(self) -> tuple[int, int]:
        """The numbers of the requests to measure, from and up to. A given list is measured whole."""
        if (requests := self.workload.requests) is not None:
            return self.warmup or 0, requests
        warmup = self.warmup
        if warmup is None:  # a tenth; more in large systems, whose structures take longer to mix
            warmup = max(self.entries // 10, min(self.entries, MIXED * self.nodes))
        return warmup, warmup + self.entries


class Interval(msgspec.Struct, frozen=True):
    mean: float
    p50: float
    p99: float
    ci95: tuple[float, float] | None


class SyncDelay(msgspec.Struct, frozen=True):
    """`mean` is None where nobody ever waited for an exit."""

    mean: float | None
    ci95: tuple[float, float] | None = None


class Fairness(msgspec.Struct, frozen=True):
    """`inversions`: pairs served in another order than that of their timestamps, or, where the
    algorithm has none, of their requests in time; `max_bypass`: how often the unluckiest was passed."""

    jain: float
    inversions: int
    max_bypass: int


class Result(msgspec.Struct, frozen=True):
    """The figures of an experiment, over all replications. Times are in the unit of the inputs."""

    algorithm: str
    nodes: int
    k: int
    options: dict[str, str]
    seed: int
    replications: int
    entries: int
    warmup: int
    warmed_up: bool
    """Whether the warm-up was long enough for the start to be forgotten: five requests per site."""
    messages: int
    messages_per_entry: Estimate
    bound: str
    light_load: float | None
    by_kind: dict[str, float]
    response_time: Interval
    sync_delay: SyncDelay
    throughput: Estimate
    words_per_message: float | None
    bytes_per_message: float | None
    fairness: Fairness
    simulated_time: float
    events: int
    wall_seconds: float
    faults: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """How many of each kind there were, where some were asked for."""

    def _repr_html_(self) -> str:
        """In a notebook: the figures that matter most."""
        sync = self.sync_delay.mean
        rows = {
            "algorithm": escape(f"{self.algorithm}, N={self.nodes}, K={self.k}"),
            "entries": str(self.entries),
            "messages per entry": f"{self.messages_per_entry.mean:.3g}",
            "at most": escape(self.bound),
            "time to enter": f"{self.response_time.mean:.3g}",
            "sync delay": "-" if sync is None else f"{sync:.3g}",
            "entries per time unit": f"{self.throughput.mean:.3g}",
            "Jain": f"{self.fairness.jain:.4f}",
        }
        return f"<table>{''.join(f'<tr><th>{name}</th><td>{value}</td></tr>' for name, value in rows.items())}</table>"


class Run(msgspec.Struct, frozen=True):
    """The raw figures of one replication."""

    cost: list[float]
    messages: int
    requests: int
    """All messages and requests of the run, warm-up included."""
    by_kind: dict[str, int]
    words: int
    bytes: int
    waits: list[float]
    sync_delays: list[float]
    throughput: float
    jain: float
    inversions: int
    max_bypass: int
    simulated_time: float
    events: int
    faults: dict[str, int] = {}


def simulate(
    experiment: Experiment,
    *,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
) -> Result:
    """Run an experiment. A broken promise of the card raises `PropertyViolated`, with the seed."""
    if whole("jobs", jobs) < 0:
        raise UsageError(f"jobs must be at least 0 (one per core), not {jobs}")
    began = time.perf_counter()
    seeds = range(experiment.seed, experiment.seed + experiment.replications)
    if recorder is None and jobs != 1 and len(seeds) > 1:
        runs = _in_parallel(experiment, seeds, jobs or os.cpu_count() or 1, progress)
    else:
        runs = _one_by_one(experiment, seeds, recorder, progress)
    return _summarise(experiment, runs, time.perf_counter() - began)


def _one_by_one(
    experiment: Experiment, seeds: range, recorder: Recorder | None, progress: Progress | None
) -> list[Run]:
    start, stop = experiment.cohort()
    runs = []
    for index, seed in enumerate(seeds):
        report = _report(progress, index * (stop - start), len(seeds) * (stop - start))
        runs.append(run(experiment, seed, recorder if index == 0 else None, report))
    return runs


def _report(progress: Progress | None, before: int, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    step = max(1, total // 200)
    return lambda served: progress(before + served, total) if served % step == 0 else None


def _in_parallel(experiment: Experiment, seeds: range, jobs: int, progress: Progress | None) -> list[Run]:
    runs = []
    with process_pool(min(jobs, len(seeds))) as pool:
        for future in [pool.submit(run, experiment, seed) for seed in seeds]:
            result = future.result()
            runs.append(result)
            if progress:
                progress(len(runs) * len(result.cost), len(seeds) * len(result.cost))
    return runs


def run(
    experiment: Experiment,
    seed: int,
    recorder: Recorder | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """One replication."""
    with without_garbage_collection():
        return _run(experiment, seed, recorder, progress)


def _run(
    experiment: Experiment, seed: int, recorder: Recorder | None, progress: Callable[[int], None] | None
) -> Run:
    card, size = experiment.card(), experiment.size()
    start, stop = experiment.cohort()
    processes = card.start(size)
    make: Callable[..., Engine] = DrawnEngine if serves(experiment.network) and not recorder else Engine
    keep = Ledger
    if experiment.faults:
        fresh = partial(anew, card, size)
        make, keep = partial(FaultyEngine, faults=experiment.faults, anew=fresh), FaultyLedger
    occupancy = Occupancy(size.k, start, stop)
    engine = make(
        processes,
        experiment.network,
        experiment.workload,
        experiment.inside,
        seed=seed,
        ledger=keep(start, stop, processes),
        observers=(occupancy,),
        tracer=Tracer(recorder) if recorder else None,
        progress=progress,
    )
    try:
        engine.run()
        result = _measure(engine, occupancy)
        if not experiment.faults:
            _assert_promises(card, size, result)
    except (PropertyViolated, ProtocolError) as error:
        broken = error.property if isinstance(error, PropertyViolated) else "protocol"
        raise PropertyViolated(broken, f"{card.name}: {error} (seed {seed})") from None
    return result


def anew(card: Card, size: Size, site: Site) -> Process:
    """A site as it begins, without what it would send then: the others have had that."""
    process = card.start_one(size, site)
    process.begin()
    return process


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A run makes no cycles, and millions of short-lived tuples: collecting would only cost time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _measure(engine: Engine, occupancy: Occupancy) -> Run:
    ledger = engine.ledger
    per_site = [0] * len(engine.processes)
    for site in ledger.site:
        per_site[site] += 1
    by_priority = sorted(range(len(ledger.site)), key=ledger.priority.__getitem__)
    passed = overtaken([ledger.turn[request] for request in by_priority])
    window = ledger.last_exit - ledger.asked[0]
    return Run(
        cost=[float(cost) for cost in ledger.cost],
        messages=ledger.sent,
        requests=engine.requests,
        by_kind={kind.__name__: count for kind, count in ledger.by_kind.items()},
        words=ledger.words,
        bytes=ledger.bytes,
        waits=[entered - asked for asked, entered in zip(ledger.asked, ledger.entered, strict=True)],
        sync_delays=occupancy.sync_delays,
        throughput=len(ledger.site) / window if window else 0.0,
        jain=jain(per_site),
        inversions=sum(passed),
        max_bypass=max(passed),
        simulated_time=engine.now,
        events=ledger.sent + 2 * engine.requests,
        faults=dict(engine.mishaps.happened) if isinstance(engine, FaultyEngine) else {},
    )


def _assert_promises(card: Card, size: Size, run: Run) -> None:
    """That every request was served, the engine has seen to; exclusion, its observer.

    The bound is judged over the whole run, where every message belongs to some request.
    """
    mean, bound = run.messages / run.requests, card.bound(size)
    if mean > bound * (1 + 1e-9):
        raise PropertyViolated(
            "bound", f"{mean:.3f} messages per entry exceed the bound {card.bound.text} = {bound:g}"
        )
    if card.fairness == "timestamp" and run.inversions:
        raise PropertyViolated("order", f"{run.inversions} pairs were not served in timestamp order")


def _summarise(experiment: Experiment, runs: Sequence[Run], seconds: float) -> Result:
    card, size = experiment.card(), experiment.size()
    entries = sum(len(run.cost) for run in runs)
    kinds: Counter[str] = Counter()
    for one in runs:
        kinds.update(one.by_kind)
    messages = kinds.total()
    waits = sorted(wait for run in runs for wait in run.waits)
    wait = over([run.waits for run in runs])
    return Result(
        algorithm=card.name,
        nodes=size.n,
        k=size.k,
        options={name: str(value) for name, value in size.options.items()},
        seed=experiment.seed,
        replications=len(runs),
        entries=entries,
        warmup=experiment.cohort()[0],
        warmed_up=experiment.warmed_up(),
        messages=messages,
        messages_per_entry=over([run.cost for run in runs]),
        bound=card.bound.text,
        light_load=card.light(size) if card.light else None,
        by_kind={kind: count / entries for kind, count in sorted(kinds.items())},
        response_time=Interval(wait.mean, quantile(waits, 0.5), quantile(waits, 0.99), wait.ci95),
        sync_delay=_sync_delay(runs),
        throughput=over([[run.throughput] for run in runs]),
        words_per_message=sum(run.words for run in runs) / messages if messages else None,
        bytes_per_message=sum(run.bytes for run in runs) / messages if messages else None,
        fairness=Fairness(
            fmean(run.jain for run in runs),
            sum(run.inversions for run in runs),
            max(run.max_bypass for run in runs),
        ),
        simulated_time=sum(run.simulated_time for run in runs),
        events=sum(run.events for run in runs),
        wall_seconds=seconds,
        faults=_faults(runs) if experiment.faults else msgspec.UNSET,
    )


def _faults(runs: Sequence[Run]) -> dict[str, int]:
    happened: Counter[str] = Counter()
    for one in runs:
        happened.update(one.faults)
    return dict(sorted(happened.items()))


def _sync_delay(runs: Sequence[Run]) -> SyncDelay:
    measured = [run.sync_delays for run in runs if run.sync_delays]
    if not measured:
        return SyncDelay(None)
    figure = over(measured)
    return SyncDelay(figure.mean, figure.ci95)
