"""`soloist bench clients`: many programs that come and go, and are killed."""

from __future__ import annotations

import asyncio
import random
from typing import Annotated

import typer

from soloist.bench import clients as bench
from soloist.bench.client_process import System
from soloist.cli.arguments import Json, at_least
from soloist.cli.output import print_json, print_table, print_text, progress_bar
from soloist.core import PropertyViolated

SYSTEMS: tuple[System, ...] = ("client", "postgresql")


def clients(
    minutes: Annotated[float, typer.Option(help="How long, for each.")] = 5.0,
    clients: Annotated[int, typer.Option(help="Processes.")] = 200,
    seed: Annotated[int | None, typer.Option(help="Who is killed when. (default: drawn)")] = None,
    json: Json = False,
) -> None:
    """Clients of three nodes share a lock and a semaphore while they are killed at random, beside as many of PostgreSQL.

    A witness is told of every entry. How soon the lock of a client that was killed goes on to the next one, and whether
    anything of the dead stays behind at the nodes: memory, files, names. Exit code 1 if two were inside, if something stays
    behind, or if it takes more than twice as long as in PostgreSQL (p99).

    Examples:

        soloist bench clients --minutes 5 --clients 200

        soloist bench clients --minutes 0.2 --clients 20 --seed 7
    """
    at_least("--minutes", 0.01, minutes, 10_000)
    at_least("--clients", 2, clients, 2000)
    seed = random.randrange(2**32) if seed is None else seed
    at_least("--seed", 0, seed, 2**63)
    found = []
    for system in SYSTEMS:
        with progress_bar(system, json) as progress:
            found.append(asyncio.run(bench.measure(system, clients, 60 * minutes, seed, progress)))
    if json:
        print_json({"seed": seed, "rows": found})
    else:
        _print(found, seed)
    if wrong := list(bench.shortcomings(*found)):
        raise PropertyViolated(wrong[0][0], f"{'; '.join(words for _, words in wrong)} (seed {seed})")


def _print(found: list[bench.Found], seed: int) -> None:
    columns = (
        "system",
        ">clients",
        ">entries",
        ">kills",
        ">of holders",
        ">p50 ms",
        ">p99 ms",
        ">most ms",
        ">problems",
    )
    rows = [
        (
            each.system,
            *map(str, (each.clients, each.entries, each.kills, each.passed_on)),
            *("-" if ms is None else f"{ms:.1f}" for ms in (each.p50_ms, each.p99_ms, each.most_ms)),
            str(len(each.problems)),
        )
        for each in found
        if not each.missing
    ]
    print_table(f"From kill -9 of a client until the next one has its lock (seed {seed})", columns, rows)
    ours, theirs = found
    if theirs.missing:
        print_text(f"postgresql was not measured: {theirs.missing}")
    elif ours.p99_ms and theirs.p99_ms:
        print_text(
            f"p99: {ours.p99_ms / theirs.p99_ms:.2f} times PostgreSQL's; at most {bench.TIMES:g} is what we want."
        )
    _print_nodes(ours)


def _print_nodes(ours: bench.Found) -> None:
    nodes = [
        (
            name,
            *(
                " → ".join(f"{a:.0f}" for a in figures)
                for figures in (each.memory_mb, each.files, each.names)
            ),
            str(each.clients),
        )
        for name, each in ours.nodes.items()
    ]
    print_table(
        "Nodes, before their clients, with them, and when these have gone",
        ("node", ">MB", ">files", ">names", ">clients left"),
        nodes,
    )
