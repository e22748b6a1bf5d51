"""What `locality` does: several tasks in each of several processes, all after one lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from soloist.bench.lock_crew import Crew
from soloist.bench.lock_figures import Contended, contention
from soloist.bench.locks import System, jobs_of, median_contended
from soloist.net.cards import USUAL


class Locality(msgspec.Struct, frozen=True):
    """Several tasks in each of several processes, all after one lock."""

    locality: int
    entries_per_second: float
    messages_per_entry: float
    jain: float
    longest_run: int


def measure(
    localities: Sequence[int] = (0, 1, 4),
    processes: int = 4,
    tasks: int = 3,
    seconds: float = 1.0,
    rounds: int = 3,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Locality]:
    """One row for each setting: the median of the rounds."""
    system = System(USUAL[0], "asyncio")
    samples: dict[int, list[Contended]] = {locality: [] for locality in localities}
    for round in range(rounds):
        with Crew(processes, system.loop) as crew:
            for index, locality in enumerate(localities):
                jobs = jobs_of(system, "", ["contend"] * processes, tasks, locality)
                samples[locality].append(contention(crew.run(jobs, seconds), seconds))
                progress(round * len(localities) + index + 1, rounds * len(localities))
    return [_locality(locality, median_contended(each)) for locality, each in samples.items()]


def _locality(locality: int, found: Contended) -> Locality:
    messages = found.messages_per_entry or 0.0
    return Locality(locality, found.entries_per_second, messages, found.jain, found.longest_run)
