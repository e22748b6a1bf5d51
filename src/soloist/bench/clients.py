"""Many clients of three nodes, killed at random: exclusion, how soon a dead client's lock goes on, and what stays behind.

All that are inside say so to a witness, which runs here. A client is killed every so often, as a rule one that holds the lock; from
the kill until somebody else is inside with it is what we measure. PostgreSQL has as many clients, in the same run; it has no
semaphores, so all of them want the lock. Clients of ours have their node on their host: from elsewhere a client that dies is
waited for as long as its session says.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from soloist.bench import client_process
from soloist.bench.client_process import LOCK, System
from soloist.bench.lock_peers import PEERS, postgres_command
from soloist.net.client import operator
from soloist.testing import Statement, Witness, ports
from soloist.testing.testimony import WitnessServer

KILL_SECONDS = 0.25
"""Seconds from one kill to the next."""
HOLDERS = 0.8
"""Share of those who are killed that hold the lock."""
START_SECONDS = 120.0
PRELOADED = [client_process.__name__, "soloist.net.client.sync", "psycopg"]
"""What clients need of either system, so that those who come in place of the killed take no processor from the others."""
NODES = ("a", "b", "c")
NODE = "import soloist.children as c; c.die_with_parent(); import soloist.cli as s; s.entry_point()"
"""As `soloist`, but it does not outlive us."""
PEER = "postgresql"
Progress = Callable[[int, int], None]

TIMES = 2.0
"""How much longer than PostgreSQL's a dead client's lock may take until it is passed on, at the 99th percentile."""
STUCK_SECONDS = 5.0
"""Seconds after a kill by which somebody must have had the lock."""
LEAKED_SHARE, LEAKED_MB = 0.1, 4.0
"""More memory than with all clients there, by this share and so many megabytes: it is not given back."""
LEAKED_FILES = 2
"""More open files than before the first client came."""


class Node(msgspec.Struct, frozen=True):
    """What a node has before its clients come, when all are there, and when they have all gone."""

    memory_mb: tuple[float, float, float]
    files: tuple[int, int, int]
    names: tuple[int, int, int]
    clients: int
    """That it still believes to have, in the end."""

    def leaks(self) -> Iterator[str]:
        """What it did not give back."""
        _, full, after = self.memory_mb
        if after > full * (1 + LEAKED_SHARE) + LEAKED_MB:
            yield f"{after:.0f} MB, and {full:.0f} with all clients there"
        if self.files[2] > self.files[0] + LEAKED_FILES:
            yield f"{self.files[2]} open files, and {self.files[0]} before the first client"
        if self.names[2] > self.names[1]:
            yield f"{self.names[2]} names, and {self.names[1]} with all clients there"
        if self.clients:
            yield f"{self.clients} clients that are gone"


class Found(msgspec.Struct, frozen=True):
    system: str
    clients: int
    entries: int
    kills: int
    passed_on: int
    """Kills of a holder of the lock."""
    p50_ms: float | None
    p99_ms: float | None
    most_ms: float | None
    problems: list[str]
    nodes: dict[str, Node] = {}
    missing: str | None = None
    stuck: bool = False
    """Whether the lock of the last holder that was killed was still to be had by nobody."""


def shortcomings(ours: Found, theirs: Found) -> Iterator[tuple[str, str]]:
    """What is not as it should be: of which kind, and in words."""
    for problem in ours.problems:
        yield "exclusion", problem
    if ours.stuck or not ours.passed_on:
        yield "recovery", "nobody got the lock of a client that was killed"
    for name, node in ours.nodes.items():
        for leak in node.leaks():
            yield "leak", f"node {name} keeps {leak}"
    if ours.p99_ms and theirs.p99_ms and ours.p99_ms > TIMES * theirs.p99_ms:
        yield (
            "recovery",
            f"a dead client's lock goes on after {ours.p99_ms:.1f} ms (p99), "
            f"and after {theirs.p99_ms:.1f} ms in PostgreSQL: more than {TIMES:g} times that",
        )


class Timed(Witness):
    """Notes how long it took from a kill until the next one was in."""

    def __init__(self) -> None:
        super().__init__()
        self.killed = 0.0
        """When the holder was, whom nobody has followed yet."""
        self.took: list[float] = []

    @property
    def stuck(self) -> bool:
        return bool(self.killed) and time.monotonic() > self.killed + STUCK_SECONDS

    def hear(self, statement: Statement) -> None:
        super().hear(statement)
        if statement.event == "enter" and statement.lock == LOCK and self.killed:
            self.took.append(time.monotonic() - self.killed)
            self.killed = 0.0


async def measure(
    system: System, clients: int, seconds: float, seed: int, progress: Progress = lambda done, total: None
) -> Found:
    if system == PEER:
        peer = next(peer for peer in PEERS if peer.name == PEER)
        if missing := peer.missing():
            return Found(system, clients, 0, 0, 0, None, None, None, [], missing=missing)
        many = msgspec.structs.replace(
            peer, command=postgres_command, options=("-c", f"max_connections={2 * clients + 20}")
        )
        with many.serving() as where:
            return await _run(system, [where], clients, seconds, seed, progress, {})
    async with _daemons() as (urls, pids):
        return await _run(system, urls, clients, seconds, seed, progress, pids)


async def _run(
    system: System,
    where: list[str],
    clients: int,
    seconds: float,
    seed: int,
    progress: Progress,
    pids: dict[str, int],
) -> Found:
    witness, chance, numbers = Timed(), random.Random(seed), iter(range(10**9))
    server = WitnessServer(witness)
    at = await server.start()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    crowd: dict[str, Any] = {}

    def start() -> None:
        number = next(numbers)
        process = context.Process(
            target=client_process.work, args=(system, where[number % len(where)], at, number), daemon=True
        )
        process.start()
        crowd[str(number)] = process

    kills, empty = 0, await _look(where, pids)
    try:
        for _ in range(clients):
            start()
            await asyncio.sleep(0)
        await _all_in(witness, clients)
        full = await _look(where, pids)
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < seconds:
            progress(int(passed), int(seconds))
            await asyncio.sleep(KILL_SECONDS)
            _kill(witness, crowd, chance)
            kills += 1
            start()
        await _followed(witness)
    finally:
        for process in crowd.values():
            process.kill()
            process.join()
    await asyncio.sleep(0.5)
    after = await _look(where, pids)
    server.close()
    nodes = {name: _node(empty[name], full[name], after[name]) for name in pids}
    return _found(system, clients, witness, kills, nodes)


def _found(system: System, clients: int, witness: Timed, kills: int, nodes: dict[str, Node]) -> Found:
    took = sorted(1000 * each for each in witness.took)
    return Found(
        system,
        clients,
        witness.entries,
        kills,
        len(took),
        statistics.median(took) if took else None,
        took[-(-99 * len(took) // 100) - 1] if took else None,
        took[-1] if took else None,
        witness.problems(),
        nodes,
        stuck=witness.stuck,
    )


def _kill(witness: Timed, crowd: dict[str, Any], chance: random.Random) -> None:
    """Somebody who holds the lock, as a rule: then the clock runs until the next one has it."""
    inside = [each.holder for each in witness.inside if each.lock == LOCK and each.holder in crowd]
    holder = inside[0] if inside and chance.random() < HOLDERS and not witness.killed else None
    victim = holder or chance.choice(sorted(crowd))
    process = crowd.pop(victim)
    if holder:
        witness.killed = time.monotonic()
    process.kill()
    process.join()


async def _followed(witness: Timed) -> None:
    """Until somebody has the lock of the holder that was killed last."""
    while witness.killed and not witness.stuck:
        await asyncio.sleep(0.01)


async def _all_in(witness: Timed, clients: int) -> None:
    """Until all have been inside once."""
    end = time.monotonic() + START_SECONDS
    while True:
        seen = {holder for found in witness.findings().values() for holder in found.by_holder}
        if len(seen) >= clients:
            return
        if time.monotonic() > end:
            raise RuntimeError(f"only {len(seen)} of {clients} clients have come so far")
        await asyncio.sleep(0.1)


@asynccontextmanager
async def _daemons() -> AsyncIterator[tuple[list[str], dict[str, int]]]:
    """Their URLs, and their processes by name."""
    with ports(*NODES) as addresses, TemporaryDirectory(prefix="soloist-bench-") as folder:
        lines = "".join(f'{name} = "{where}"\n' for name, where in addresses.items())
        file = Path(folder, "cluster.toml")
        file.write_text(
            'cluster = "bench"\ncontrol = "{name}.sock"\ndata_dir = "{name}"\nlease = 10\n[nodes]\n' + lines
        )
        words = [sys.executable, "-c", NODE, "node", "--config", str(file), "--grace", "0s", "--name"]
        nothing = asyncio.subprocess.DEVNULL
        started = {name: await asyncio.create_subprocess_exec(*words, name, stderr=nothing) for name in NODES}
        try:
            for name in NODES:
                await _ready(Path(folder, f"{name}.sock"))
            yield [f"unix:{folder}/{name}.sock" for name in NODES], {n: p.pid for n, p in started.items()}
        finally:
            for process in started.values():
                process.kill()
                await process.wait()


async def _ready(control: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            async with operator.operate(control) as client, client.lock("ready"):
                return
        except Exception:
            await asyncio.sleep(0.1)
    raise RuntimeError(f"no node came up at {control}")


Look = tuple[float, int, int, int]


async def _look(where: list[str], pids: dict[str, int]) -> dict[str, Look]:
    """Megabytes, open files, names met and clients of each node."""
    found = {}
    for (name, pid), url in zip(pids.items(), where, strict=False):
        async with operator.operate(Path(url.removeprefix("unix:"))) as client:
            status = await operator.status(client)
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        found[name] = (resident, len(os.listdir(f"/proc/{pid}/fd")), status.locks, status.clients - 1)
    return found


def _node(empty: Look, full: Look, after: Look) -> Node:
    return Node(
        memory_mb=(empty[0], full[0], after[0]),
        files=(empty[1], full[1], after[1]),
        names=(empty[2], full[2], after[2]),
        clients=after[3],
    )
