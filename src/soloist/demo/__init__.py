"""The demonstration: a real cluster on this machine, a real lock, a real witness.

Each node is a process of its own; they talk TCP on loopback. All of them contend for a lock, then for a semaphore, and
report every entry and exit to another process, which proves that never more were inside than may be.
"""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import msgspec

from soloist.algorithms import find
from soloist.children import deaf
from soloist.core import SoloistError
from soloist.demo import witness, worker
from soloist.demo.witness import Findings
from soloist.demo.worker import Done, Job
from soloist.net.ports import free_ports

PATIENCE = 60.0
"""Seconds without any answer after which the demonstration counts as failed."""


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


class Cluster:
    """Worker processes, one a node, and a witness."""

    def __init__(self, nodes: int, options: dict[str, str] | None = None) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.names = [f"node{i}" for i in range(nodes)]
        self.options = options or {}
        self.processes: list[BaseProcess] = []
        self.workers: list[Connection] = []

    def start(self) -> None:
        self.witness = self._spawn(witness.run)
        port = receive(self.witness)
        peers = {
            name: f"127.0.0.1:{free}"
            for name, free in zip(self.names, free_ports(len(self.names)), strict=True)
        }
        self.workers = [self._spawn(worker.run, name, peers, self.options, port) for name in self.names]
        for pipe in self.workers:
            receive(pipe)

    def _spawn(self, target: Callable[..., None], *arguments: Any) -> Connection:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=target, args=(*arguments, theirs), daemon=True)
        with deaf():
            process.start()
        theirs.close()
        self.processes.append(process)
        return ours

    def contend(self, job: Job, progress: Callable[[int, int], None]) -> tuple[list[float], int]:
        """Waits and messages of all nodes."""
        for pipe in self.workers:
            pipe.send(job)
        self._follow(len(self.workers) * job.entries, progress)
        done: list[Done] = [receive(pipe) for pipe in self.workers]
        for pipe in self.workers:
            pipe.send("late")  # the last exits of some make others send a little more
        messages = sum(receive(pipe) for pipe in self.workers)
        return [wait for one in done for wait in one.waits], messages

    def _follow(self, total: int, progress: Callable[[int, int], None]) -> None:
        before = self._count()
        quiet = 0.0
        seen = before
        while seen - before < total and not all(pipe.poll() for pipe in self.workers):
            if self.workers[0].poll(0.1):
                self.workers[-1].poll(0.1)
            now = self._count()
            quiet = 0.0 if now > seen else quiet + 0.1
            seen = now
            if quiet > PATIENCE:
                raise SoloistError(f"no entry in {PATIENCE:g} s: the cluster is stuck")
            progress(seen - before, total)

    def _count(self) -> int:
        self.witness.send("count")
        return int(receive(self.witness))

    def findings(self) -> dict[str, Findings]:
        self.witness.send("findings")
        found: dict[str, Findings] = receive(self.witness)
        return found

    def kill(self) -> None:
        """For when something went wrong: nobody may be listening any more."""
        for process in self.processes:
            process.kill()

    def stop(self) -> None:
        for pipe in self.workers:
            with suppress(OSError):  # it may be dead already
                pipe.send(None)
        for process in self.processes:
            process.join(5)
            if process.is_alive():
                process.kill()


@contextmanager
def cluster(nodes: int, options: dict[str, str] | None = None) -> Iterator[Cluster]:
    one = Cluster(nodes, options)
    try:
        one.start()
        yield one
    except BaseException:
        one.kill()
        raise
    finally:
        one.stop()


def demonstrate(
    nodes: int, jobs: list[Job], options: dict[str, str], progress: Callable[[str, int, int], None]
) -> list[Outcome]:
    """Run the jobs on a real cluster, one after another."""
    measured = {}
    with cluster(nodes, options) as running:
        for job in jobs:
            measured[job.lock] = running.contend(job, partial(progress, job.lock))
        findings = running.findings()
    return [outcome(job, nodes, options, *measured[job.lock], findings[job.lock]) for job in jobs]


def outcome(
    job: Job, nodes: int, options: dict[str, str], waits: list[float], messages: int, found: Findings
) -> Outcome:
    name = options["algorithm"] if job.capacity == 1 else options["semaphore_algorithm"]
    counts = list(found.by_node.values())
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


def receive(pipe: Connection) -> Any:
    """The next thing a process says; a process that says nothing has failed."""
    try:
        if not pipe.poll(PATIENCE):
            raise SoloistError(f"a process of the cluster said nothing for {PATIENCE:g} s")
        return pipe.recv()
    except EOFError:
        raise SoloistError("a process of the cluster died") from None
