"""The demonstration: a real cluster on this machine, a real lock, a real witness.

Each node is a process of its own; they talk TCP on loopback. All of them contend for a lock, then for a semaphore, and
report every entry and exit to another process, which proves that never more were inside than may be.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from soloist.algorithms import find
from soloist.testing import Contend, Findings, Workers


class Outcome(msgspec.Struct, frozen=True):
    """What came of one job, over all nodes."""

    lock: str
    algorithm: str
    capacity: int
    nodes: int
    entries: int
    messages_per_entry: float
    bound: float
    """The card's most messages per entry, for as many sites as the nodes have together."""
    p50: float
    p99: float
    jain: float
    most_inside: int
    problems: list[str]


def demonstrate(
    nodes: int, jobs: Sequence[Contend], options: dict[str, Any], progress: Callable[[str, int, int], None]
) -> list[Outcome]:
    """Run the jobs on a real cluster, one after another."""
    measured = {}
    with Workers([f"node{i}" for i in range(nodes)], **options) as workers:
        for job in jobs:
            before = workers.messages()
            done = workers.contend(job, partial(progress, job.lock))
            # Counted when all are done: the last exits of some make others send a little more.
            messages = workers.messages() - before
            measured[job.lock] = ([wait for one in done for wait in one.waits], messages)
        findings = workers.findings()
    return [outcome(job, nodes, options, *measured[job.lock], findings[job.lock]) for job in jobs]


def outcome(
    job: Contend, nodes: int, options: dict[str, Any], waits: list[float], messages: int, found: Findings
) -> Outcome:
    name = options["algorithm"] if job.capacity == 1 else options["semaphore_algorithm"]
    counts = list(found.by_holder.values())
    ordered = sorted(waits)
    return Outcome(
        lock=job.lock,
        algorithm=name,
        capacity=job.capacity,
        nodes=nodes,
        entries=found.entries,
        messages_per_entry=messages / found.entries,
        bound=_bound(name, nodes, job.capacity),
        p50=statistics.median(ordered),
        p99=ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        jain=sum(counts) ** 2 / (nodes * sum(count * count for count in counts)),
        most_inside=found.most_inside,
        problems=found.problems,
    )


def _bound(name: str, nodes: int, capacity: int) -> float:
    """A node has one site for a lock, and K for a semaphore of K."""
    card = find(name)
    return card.bound(card.size(nodes * capacity, capacity))
