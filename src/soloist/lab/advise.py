"""Which algorithm suits a situation: the catalogue simulated in it, ranked, with the reasons in words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Executor
from statistics import fmean
from typing import Any, Literal

import msgspec

from soloist.algorithms import CATALOGUE, Card
from soloist.core import UsageError, unknown
from soloist.lab.runner import run_sweep
from soloist.lab.situation import Fair, Situation
from soloist.lab.sweep import Contender, Seeds, Sweep, experiment
from soloist.lab.table import Row, Table
from soloist.sim import simulate
from soloist.sim.statistics import Estimate, estimate

By = Literal["time", "messages", "bytes", "fairness"]
CRITERIA: dict[str, Callable[[Row], float]] = {
    "time": lambda row: row.response_time or 0.0,
    "messages": lambda row: row.messages_per_entry or 0.0,
    "bytes": lambda row: (row.messages_per_entry or 0.0) * (row.bytes_per_message or 0.0),
    "fairness": lambda row: float(row.max_bypass or 0),
}
TIED = 1.05
"""Ratio: within 5 % two are as good as each other: a network changes more than that from one day to the next."""
SEEDS = Seeds(5)
CHATTER = 100
"""Messages per entry: an algorithm that sends more while nobody asks is not worth simulating."""
ORDERS: dict[Fair, tuple[str, ...]] = {
    "none": ("timestamp", "causal", "arrival", "no-starvation"),
    "causal": ("timestamp", "causal"),
    "strict": ("timestamp",),
}


class Candidate(msgspec.Struct, frozen=True):
    """One algorithm in the situation. Each figure is a mean over the seeds, with its interval."""

    algorithm: str
    time: Estimate
    """From request to entry."""
    messages: Estimate
    bytes: Estimate
    """Per entry."""
    fairness: Estimate
    """How often the unluckiest request was passed by later ones."""
    time_p99: float
    sync_delay: float | None
    bytes_per_message: float
    busy: float
    """The share of the lock's time that somebody was inside."""
    tied: bool = False
    """As good as the best, by what was asked for."""


class Advice(msgspec.Struct, frozen=True):
    """The candidates, best first, and why."""

    situation: Situation
    by: By
    ranking: list[Candidate]
    ruled_out: dict[str, str]
    reasons: list[str]
    config: str
    """The line for a cluster's configuration."""

    @property
    def best(self) -> Candidate:
        return self.ranking[0]


def advise(
    situation: Situation,
    by: By = "time",
    *,
    without: Collection[str] = (),
    seeds: Seeds = SEEDS,
    entries: int = 600,
    executor: Executor | str | None = None,
    jobs: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Advice:
    """Simulate everything that fits, and rank it: by what was asked for, and among equals by messages and bytes."""
    if by not in CRITERIA:
        raise unknown("criterion", by, CRITERIA)
    for name in without:
        if name not in CATALOGUE:
            raise unknown("algorithm", name, CATALOGUE)
    fitting, ruled_out = _sieve(situation, without)
    if not fitting:
        raise UsageError(f"no algorithm fits: {'; '.join(f'{n}: {why}' for n, why in ruled_out.items())}")
    plan = Sweep(
        "advice",
        tuple(Contender(name) for name in fitting),
        {**situation.parameters(), "entries": entries},
        {},
        seeds,
    )
    table = run_sweep(plan, None, executor, jobs, progress)
    candidates = []
    for name in fitting:
        rows = _rows(table, name)
        if failed := next((row.error for row in rows if row.error), None):
            ruled_out[name] = failed
            continue
        found = _candidate(situation, name, rows)
        if situation.max_bytes is not None and found.bytes_per_message > situation.max_bytes:
            ruled_out[name] = f"its messages have {found.bytes_per_message:.0f} bytes on average"
        else:
            candidates.append(found)
    if not candidates:
        raise UsageError(f"no algorithm is left: {'; '.join(f'{n}: {why}' for n, why in ruled_out.items())}")
    ranking = rank(candidates, by)
    key = "algorithm" if situation.k == 1 else "semaphore_algorithm"
    config = f'{key} = "{ranking[0].algorithm}"'
    return Advice(situation, by, ranking, ruled_out, _reasons(situation, by, ranking), config)


def rank(candidates: list[Candidate], by: By) -> list[Candidate]:
    """Best first. Those as good as the best by the criterion are ordered by the others, messages first."""

    def figure(candidate: Candidate, name: str) -> float:
        found: Estimate = getattr(candidate, name)
        return found.mean

    best = min(figure(each, by) for each in candidates)
    tied = [each for each in candidates if figure(each, by) <= best * TIED]
    rest = [each for each in candidates if each not in tied]
    tied.sort(key=lambda each: [figure(each, name) for name in ("messages", "bytes", "time")])
    rest.sort(key=lambda each: figure(each, by))
    return [*(msgspec.structs.replace(each, tied=True) for each in tied), *rest]


def _sieve(situation: Situation, without: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """What can be simulated at all, and why the rest can not."""
    fitting, ruled_out = [], {}
    for name, card in CATALOGUE.items():
        if card.capacity == "1" and situation.k > 1:
            continue
        if why := _obstacle(card, situation, without):
            ruled_out[name] = why
        else:
            fitting.append(name)
    return fitting, ruled_out


def _obstacle(card: Card, situation: Situation, without: Collection[str]) -> str | None:
    if card.name in without:
        return "you do not want it"
    if card.everybody_asks:
        return "it serves a node only while all the others ask, too"
    if card.fairness not in ORDERS[situation.fair]:
        return f"its order of entries is {card.fairness}, not {situation.fair}"
    try:
        card.size(situation.nodes, situation.k)
    except UsageError as error:
        return str(error)
    if card.light is None and (idle := _chatter(card, situation)) > CHATTER:
        return f"it sends messages while nobody asks, some {idle:.0f} for each entry here"
    return None


def _chatter(card: Card, situation: Situation) -> float:
    """Messages for each entry of an algorithm that never rests: a guess, and only if that is low, a short run."""
    if situation.rate is not None:
        hop = situation.latency + 2 * situation.overhead
        rounds = 1 / (situation.nodes * situation.rate * hop) if hop else float("inf")
        if rounds > CHATTER:
            return rounds
    trial = experiment(Contender(card.name), {**situation.parameters(), "entries": 10, "warmup": 10})
    return simulate(trial).messages_per_entry.mean


def _rows(table: Table, name: str) -> list[Row]:
    return [row for row in table.rows if row.algorithm == name]


def _candidate(situation: Situation, name: str, rows: list[Row]) -> Candidate:
    figures: dict[str, Any] = {key: estimate([value(row) for row in rows]) for key, value in CRITERIA.items()}
    delays = [row.sync_delay for row in rows if row.sync_delay is not None]
    return Candidate(
        name,
        **figures,
        time_p99=fmean(row.response_time_p99 or 0.0 for row in rows),
        sync_delay=fmean(delays) if delays else None,
        bytes_per_message=fmean(row.bytes_per_message or 0.0 for row in rows),
        busy=fmean(row.throughput or 0.0 for row in rows) * situation.inside / situation.k,
    )


# In words.

NOUNS = {
    "time": "enters soonest",
    "messages": "needs the fewest messages",
    "bytes": "sends the fewest bytes",
    "fairness": "lets the fewest pass",
}


def _reasons(situation: Situation, by: By, ranking: list[Candidate]) -> list[str]:
    best, *others = ranking
    tied = [each for each in others if each.tied]
    said = [
        f"{best.algorithm} {NOUNS[by]}: {span(best.time.mean)} from request to entry on average, "
        f"{best.messages.mean:.3g} messages and {best.bytes.mean:.0f} bytes per entry."
    ]
    if tied:
        names = ", ".join(f"{each.algorithm} ({each.messages.mean:.3g} messages)" for each in tied)
        said.append(f"As good within {TIED - 1:.0%}, but with more messages or bytes: {names}.")
    if rest := [each for each in others if not each.tied]:
        said.append(f"Next comes {_compared(rest[0], best, by)}.")
    if best.busy > 0.9:
        said.append(
            f"The lock is in use {best.busy:.0%} of the time: what counts is how soon the next one enters, "
            f"{span(best.sync_delay or 0)} after an exit; to be faster, stay inside for less time."
        )
    elif best.busy < 0.1:
        said.append(
            f"The lock is free {1 - best.busy:.0%} of the time: what counts is how far a request has to go."
        )
    if best.algorithm == "central":
        said.append(
            "One node answers for all; if that should not be, leave it out with --without central "
            f"(then {others[0].algorithm})."
            if others
            else "One node answers for all."
        )
    fair = {"strict": "timestamps", "causal": "what the askers knew"}.get(situation.fair)
    if fair:
        said.append(f"All of these serve in the order of {fair}.")
    return said


def _compared(other: Candidate, best: Candidate, by: By) -> str:
    ours, theirs = getattr(best, by).mean, getattr(other, by).mean
    more = f"{theirs / ours - 1:.0%} more" if ours else f"{theirs:.3g} instead of none"
    figure = {"time": "time to enter", "messages": "messages", "bytes": "bytes", "fairness": "passing by"}[by]
    return f"{other.algorithm}: {more} {figure}, {other.messages.mean:.3g} messages per entry"


def span(seconds: float) -> str:
    """A time for people."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
