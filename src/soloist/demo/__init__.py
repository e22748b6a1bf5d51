"""The demonstration: a real cluster on this machine, a real lock, a real witness.

Each node is a process of its own; they talk TCP on loopback. All of them contend for a lock, then for a semaphore, and
report every entry and exit to another process, which proves that never more were inside than may be. Then, in a small
cluster with leases, the holder of the lock is killed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from soloist.algorithms import load
from soloist.core import SoloistError
from soloist.testing import Contend, Findings, Workers
from soloist.testing.worker import Grab


class Tally(msgspec.Struct, frozen=True):
    """What came of one lock, over all nodes."""

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


LEASE = 2.0
"""Seconds."""
WAITING_SECONDS = 0.3
"""Seconds until a caller that asks for the lock is waiting for it, for certain enough."""


class Crash(msgspec.Struct, frozen=True):
    """What came of killing the holder of a lock."""

    lock: str
    killed: str
    process: int
    next: str
    seconds: float
    """From kill -9 until the next one was in."""
    fence_before: int
    fence_after: int


def demonstrate(
    nodes: int, jobs: Sequence[Contend], options: dict[str, Any], progress: Callable[[str, int, int], None]
) -> list[Tally]:
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
    return [tally(job, nodes, options, *measured[job.lock], findings[job.lock]) for job in jobs]


def tally(
    job: Contend, nodes: int, options: dict[str, Any], waits: list[float], messages: int, found: Findings
) -> Tally:
    name = options["algorithm"] if job.capacity == 1 else options["semaphore_algorithm"]
    counts = list(found.by_holder.values())
    ordered = sorted(waits)
    return Tally(
        lock=job.lock,
        algorithm=load(name).name,
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
    card = load(name)
    return card.bound(card.size(nodes * capacity, capacity))


def kill_holder(lock: str, options: dict[str, Any], say: Callable[[str], None] = lambda line: None) -> Crash:
    """Three nodes with leases: one holds the lock, another waits; the first is killed. Each step is said."""
    killed, waiting, third = names = ["node0", "node1", "node2"]
    say(f"Now a crash. {killed}, {waiting} and {third} share the lock `{lock}`, with a lease of {LEASE:g} s.")
    with Workers(names, lease=LEASE, shortcut=True, quiet=True, **options) as workers:
        before = workers.grab(killed, lock)[lock]
        if not isinstance(before, int):
            raise SoloistError(f"{killed} was not let in: {before}")
        process = workers.pid(killed)
        say(f"{killed} is inside, with the fence {before}; {waiting} waits.")
        workers.tell(waiting, Grab((lock,)))
        time.sleep(WAITING_SECONDS)
        say(f"kill -9 {process}, which is {killed}.")
        began = time.monotonic()
        workers.kill(killed)
        after = workers.hear(waiting)[lock]
        seconds = time.monotonic() - began
        if not isinstance(after, int):
            raise SoloistError(f"{waiting} was not let in: {after}")
        say(f"{waiting} is inside after {seconds * 1000:.0f} ms, with the fence {after}.")
        workers.free(waiting, lock)
    return Crash(lock, killed, process, waiting, seconds, before, after)


def recorded(nodes: int, lock: str, entries: int, options: dict[str, Any], traces: Path) -> list[Path]:
    """A short round for the lock, in which each node records what it does: the files."""
    with Workers([f"node{i}" for i in range(nodes)], traces=traces, **options) as workers:
        workers.contend(Contend(lock, 1, entries, inside=0.001))
    return sorted(traces.glob("*.jsonl"))
