"""Our algorithms for K entries as real semaphores, by turns in one run: time to enter, entries per second, messages.

rare       all ask in turn, and nobody is inside: what it takes to be let in where a permit is free
contended  all want nothing but to enter, each again as soon as it has left
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from soloist.algorithms import CATALOGUE
from soloist.bench.bars import Bar, Spread
from soloist.bench.lock_crew import Crew
from soloist.bench.lock_figures import contention, in_order, most_inside, number, spread, with_spread
from soloist.bench.lock_workers import Job, Role
from soloist.bench.locks import Table
from soloist.core import SoloistError, unknown
from soloist.net.cards import USUAL
from soloist.testing import free_ports

NODES, VALUE = 5, 2
ALGORITHMS = ("raymond-k", "srimani-reddy", "bulgannawar-vaidya", "makki", "partitioned")
"""All that work with any number of nodes and permits. The first is what the others are compared with."""


class Sample(msgspec.Struct, frozen=True):
    """One algorithm in one round."""

    rare_us: float
    rare_messages: float
    entries_per_second: float
    messages: float
    jain: float


class Measurement(msgspec.Struct, frozen=True):
    """One algorithm: medians of the rounds. Times in microseconds, messages for each entry."""

    algorithm: str
    prompt: bool
    """Whether a caller is let in whenever a permit is free."""
    rare_us: float
    rare_spread: Spread | None
    rare_messages: float
    entries_per_second: float
    spread: Spread | None
    messages: float
    jain: float
    entries_ratio: float
    messages_ratio: float
    """Of contended entries, as multiples of the first algorithm's in the same round."""
    entries_ratios: list[float]
    messages_ratios: list[float]
    """Each round by itself."""


def measure(
    only: Sequence[str] = (),
    seconds: float = 1.0,
    rounds: int = 5,
    progress: Callable[[int, int], None] = lambda done, total: None,
    value: int = VALUE,
) -> list[Measurement]:
    """One row for each algorithm, or for those named and the first."""
    for name in only:
        if name not in ALGORITHMS:
            raise unknown("algorithm", name, ALGORITHMS)
    chosen = [name for index, name in enumerate(ALGORITHMS) if not only or index == 0 or name in only]
    samples: dict[str, list[Sample]] = {name: [] for name in chosen}
    with Crew(NODES, "asyncio") as crew:
        for turn in range(rounds):
            for step, name in enumerate(chosen, start=1):
                samples[name].append(_sample(crew, name, seconds, value))
                progress(turn * len(chosen) + step, rounds * len(chosen))
    first = samples[chosen[0]]
    return [_row(name, found, first) for name, found in samples.items()]


def _sample(crew: Crew, algorithm: str, seconds: float, value: int) -> Sample:
    try:
        seldom = crew.run(_jobs(algorithm, "rare", value), seconds)
        busy = crew.run(_jobs(algorithm, "contend", value), seconds)
    except RuntimeError as error:
        raise SoloistError(f"{algorithm}: {error}") from None
    if (most := most_inside(in_order(busy))) > value:
        raise SoloistError(f"{algorithm}: {most} were inside together, where {value} may be")
    durations = [each for done in seldom for each in done.durations]
    found = contention(busy, seconds)
    if not (durations and found.entries_per_second):
        raise SoloistError("nobody entered in that time; give more --seconds")
    sent = sum(done.messages for done in seldom)
    return Sample(
        median(durations) / 1000,
        sent / len(durations),
        found.entries_per_second,
        found.messages_per_entry or 0.0,
        found.jain,
    )


def _jobs(algorithm: str, role: Role, value: int) -> list[Job]:
    nodes = {f"n{index}": f"127.0.0.1:{port}" for index, port in enumerate(free_ports(NODES))}
    return [
        Job(role, algorithm, name, nodes=nodes, value=value, number=number, tasks=_tasks(role, value))
        for number, name in enumerate(nodes)
    ]


def _tasks(role: Role, value: int) -> int:
    """Of each process: half as many more as there are permits, over all; or else nobody would have to wait."""
    return 1 if role == "rare" else -(-3 * value // (2 * NODES))


def _row(algorithm: str, samples: Sequence[Sample], first: Sequence[Sample]) -> Measurement:
    pairs = list(zip(samples, first, strict=True))
    entries = [each.entries_per_second / other.entries_per_second for each, other in pairs]
    messages = [each.messages / other.messages for each, other in pairs]
    return Measurement(
        algorithm,
        CATALOGUE[algorithm].prompt,
        median(each.rare_us for each in samples),
        spread(each.rare_us for each in samples),
        median(each.rare_messages for each in samples),
        median(each.entries_per_second for each in samples),
        spread(each.entries_per_second for each in samples),
        median(each.messages for each in samples),
        median(each.jain for each in samples),
        median(entries),
        median(messages),
        entries,
        messages,
    )


def bars(rows: Sequence[Measurement], value: int = VALUE) -> list[Bar]:
    """What we want of the one that runs where nobody says otherwise, beside the first."""
    first, setting = rows[0].algorithm, f"{value} at {NODES} nodes"
    return [
        bar
        for row in rows
        if row.algorithm == USUAL[1]
        for bar in (
            Bar.of(f"messages / {first}", row.algorithm, setting, row.messages_ratios, 0.65, True),
            Bar.of(f"entries/s / {first}", row.algorithm, setting, row.entries_ratios, 1.0, False),
        )
    ]


def table(rows: Sequence[Measurement]) -> Table:
    figures = (">rare", ">messages", ">contended", ">messages", ">Jain", ">x entries", ">x messages")
    return ("algorithm", "prompt", *figures), [
        (
            row.algorithm,
            "yes" if row.prompt else "no",
            with_spread(row.rare_us, row.rare_spread),
            number(row.rare_messages),
            with_spread(row.entries_per_second, row.spread),
            number(row.messages),
            f"{row.jain:.3f}",
            _ratio(row.entries_ratio, row.entries_ratios),
            _ratio(row.messages_ratio, row.messages_ratios),
        )
        for row in rows
    ]


def _ratio(value: float, rounds: Sequence[float]) -> str:
    return f"{value:.2f} ({min(rounds):.2f}-{max(rounds):.2f})"
