"""`soloist bench recovery`, `nemesis` and `leases`: how crashes are survived, and what that costs."""

from __future__ import annotations

import random
import string
from collections import Counter
from typing import Annotated

import typer

from soloist.bench import leases as leases_bench
from soloist.bench import recovery as recovery_bench
from soloist.cli.arguments import Json, at_least
from soloist.cli.bench_bars import print_bars, print_measured
from soloist.cli.output import print_json, print_table, print_text, progress_bar
from soloist.core import PropertyViolated, UsageError
from soloist.testing.judge import SLACK_SECONDS, Judgement
from soloist.testing.namespaces import Namespaces
from soloist.testing.nemesis import KINDS, Nemesis, possible_kinds

MOST_NODES = len(string.ascii_lowercase)
SHOWN = 10
"""Lines of what is late, and of problems."""


def recovery(
    systems: Annotated[list[str] | None, typer.Argument(help="Only these. (default: all)")] = None,
    rounds: Annotated[int, typer.Option(help="Kills of each.")] = recovery_bench.ROUNDS,
    slow_rounds: Annotated[
        int, typer.Option("--slow-rounds", help="Kills of those that take a lease, a TTL or a session.")
    ] = recovery_bench.SLOW_ROUNDS,
    json: Json = False,
) -> None:
    """From kill -9 of a lock's holder until the next one is in: ours, PostgreSQL, Redis, ZooKeeper.

    Examples:

        soloist bench recovery

        soloist bench recovery "soloist, one host" postgresql --rounds 50
    """
    at_least("--rounds", 1, rounds, 10_000)
    at_least("--slow-rounds", 1, slow_rounds, 10_000)
    with progress_bar("kills", json) as progress:
        rows = recovery_bench.measure(rounds, slow_rounds, systems or (), progress=progress)
    bars = recovery_bench.bars(rows)
    if json:
        print_measured(rows, bars)
        return
    print_table("From kill -9 of the holder until the next one is in", *recovery_bench.table(rows))
    for row in rows:
        if row.missing:
            print_text(f"{row.system} was not measured: {row.missing}")
    print_bars(bars)


def nemesis(
    minutes: Annotated[float, typer.Option(help="How long.")] = 10.0,
    seed: Annotated[int | None, typer.Option(help="Which faults come when. (default: drawn)")] = None,
    nodes: Annotated[int, typer.Option("--nodes", "-n", help="Processes.")] = 5,
    lease: Annotated[float, typer.Option(help="Seconds.")] = 2.0,
    kinds: Annotated[str | None, typer.Option(help=f"Of {','.join(KINDS)}. (default: all)")] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="Without proxies: ends of processes are seen, nothing is cut.")
    ] = False,
    apart: Annotated[
        bool, typer.Option("--apart", help="In network namespaces, as on hosts of their own. Only as root.")
    ] = False,
    json: Json = False,
) -> None:
    """Kill, stop and cut off the nodes of a real cluster while they contend, and judge what they noted.

    Every node is a process. It notes in a file that outlives it from when until when each of its holds was good, and
    writes with its fence to a store that refuses older ones. Two holds that were good at once, a fence that does not
    grow, a grant where no majority is heard for a lease: that is a problem. A lock that is not entered again within a
    lease and a second of the last fault is late. Exit code 1 if there is either.

    Examples:

        soloist bench nemesis --minutes 10 --seed 7

        soloist bench nemesis --minutes 1 --kinds kill,pause --direct

        soloist bench nemesis --minutes 10 --apart
    """
    at_least("--minutes", 0.01, minutes, 10_000)
    at_least("--nodes", 3, nodes, MOST_NODES)
    at_least("--lease", 0.5, lease, 60)
    named = [name.strip() for name in kinds.split(",")] if kinds is not None else None
    chosen = possible_kinds(named, direct, apart)
    if apart and (lacking := Namespaces.missing()):
        raise UsageError(f"--apart: {lacking}")
    seed = random.randrange(2**32) if seed is None else seed
    at_least("--seed", 0, seed, 2**63)
    if not json:
        print_text(
            f"{nodes} processes, a lease of {lease:g} s, {minutes:g} minutes of {', '.join(chosen)}; seed {seed}."
        )
    with (
        progress_bar("seconds", json) as progress,
        Nemesis(
            string.ascii_lowercase[:nodes],
            seed=seed,
            lease=lease,
            kinds=chosen,
            direct=direct,
            apart=apart,
            quiet=True,
        ) as running,
    ):
        seconds = minutes * 60
        found = running.haunt(seconds, lambda share: progress(int(share * seconds), int(seconds)))
    print_json(found) if json else _print_judgement(found, lease)
    if found.problems:
        raise PropertyViolated("exclusion", f"{found.problems[0]} (seed {seed})")
    if found.late:
        raise PropertyViolated("recovery", f"{found.late[0]} (seed {seed})")


def _print_judgement(found: Judgement, lease: float) -> None:
    kinds = Counter(fault.kind for fault in found.faults if fault.kind)
    shown = {
        "entries": f"{found.entries:,}",
        "recoveries": f"{found.recoveries:,}",
        "views begun": str(found.epochs),
        **{f"faults: {kind}": str(number) for kind, number in sorted(kinds.items())},
        "holds lost, and told so": str(found.losses),
        **{f"refused: {kind}": str(number) for kind, number in sorted(found.errors.items())},
        "writes taken by the store": f"{found.writes:,}",
        "writes refused as stale": str(found.stale),
        "worst recovery": f"{found.worst:.2f} s",
        **{f"worst after: {kind}": f"{worst:.2f} s" for kind, worst in sorted(found.worst_by.items())},
        f"locks late (beyond {lease + SLACK_SECONDS:g} s)": str(len(found.late)),
        "problems": str(len(found.problems)),
    }
    print_table(f"{found.seconds:.0f} s, seed {found.seed}", ("what", ">count"), list(shown.items()))
    for line in (*found.late[:SHOWN], *found.problems[:SHOWN]):
        print_text(line)


def leases(
    rounds: Annotated[int, typer.Option(help="Pairs of measurements; the median ratio counts.")] = 20,
    seconds: Annotated[float, typer.Option(help="How long each measurement lasts.")] = 1.0,
    processes: Annotated[int, typer.Option(help="Contending processes.")] = 4,
    lease: Annotated[float, typer.Option(help="Seconds.")] = 10.0,
    json: Json = False,
) -> None:
    """What leases cost while nothing fails: the same lock with and without, in pairs.

    Example:

        soloist bench leases
    """
    at_least("--rounds", 1, rounds, 100_000)
    at_least("--seconds", 0.01, seconds, 3600)
    at_least("--processes", 2, processes, 100)
    at_least("--lease", 0.5, lease, 3600)
    with progress_bar("measuring", json) as progress:
        costs = leases_bench.measure(rounds, seconds, processes, lease, progress)
    if json:
        print_json(costs)
        return
    print_table(
        f"{leases_bench.ALGORITHM}, a lease of {lease:g} s beside none", *leases_bench.table(costs), keys=2
    )
    print_text(
        f"A ratio above 1 is what the lease costs. Wanted: a bound of at most {leases_bench.AIM:g} for each."
    )
