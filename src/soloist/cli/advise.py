"""`soloist advise`: which algorithm to use, with the figures and the reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from soloist.cli import arguments as arg
from soloist.cli.output import number, print_json, print_table, print_text, progress_bar
from soloist.core import UsageError
from soloist.durations import duration
from soloist.lab import Seeds
from soloist.lab.advise import Advice, span
from soloist.lab.advise import advise as find_advice
from soloist.lab.situation import Situation, read_traces
from soloist.sim import Estimate


def advise(
    nodes: Annotated[
        int | None, typer.Option("--nodes", "-n", metavar="N", help="Nodes of the cluster.")
    ] = None,
    k: arg.K = 1,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="λ", help="Requests per node and second; 1 if not given."),
    ] = None,
    saturate: arg.Saturate = False,
    latency: Annotated[
        str, typer.Option("--latency", metavar="T", help="Mean time a message takes.")
    ] = "1ms",
    jitter: Annotated[str, typer.Option("--jitter", metavar="T", help="Its standard deviation.")] = "0",
    inside: Annotated[str, typer.Option("--inside", metavar="T", help="How long the lock is held.")] = "1ms",
    overhead: Annotated[
        str, typer.Option("--overhead", metavar="T", help="What a node spends on a message, at either end.")
    ] = "25us",
    fair: Annotated[
        str,
        typer.Option("--fair", metavar="ORDER", help="strict: by timestamp; causal; or none in particular."),
    ] = "none",
    max_bytes: Annotated[
        float | None, typer.Option("--max-bytes", metavar="B", help="Largest mean size of a message.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="WHAT", help="Rank by time, messages, bytes or fairness.")
    ] = "time",
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="NAME", help="Leave this one out; may be repeated."),
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option("--trace", metavar="FILE", help="Read the situation from a trace; one a node."),
    ] = None,
    lock: Annotated[
        str | None, typer.Option("--lock", metavar="NAME", help="Which lock of the traces.")
    ] = None,
    entries: Annotated[
        int, typer.Option("--entries", metavar="M", help="Entries to simulate in each run.")
    ] = 600,
    seeds: Annotated[int, typer.Option("--seeds", metavar="S", help="Runs of each algorithm.")] = 5,
    seed: arg.Seed = 1,
    executor: arg.Executor = None,
    jobs: arg.Workers = 0,
    json: arg.Json = False,
) -> None:
    """Simulate the catalogue in your situation, rank it, and say why.

    Times may have a unit (2ms, 30us), and are seconds without one. Traces come from `soloist node --trace` or
    `soloist simulate --trace`; what they tell replaces the options above.

    Examples:

        soloist advise --nodes 12 --rate 0.2 --latency 2ms --jitter 1ms --inside 5ms

        soloist advise --nodes 12 --rate 50 --fair strict

        soloist advise --nodes 30 --k 3 --saturate --by messages

        soloist advise --trace a.jsonl --trace b.jsonl --lock orders
    """
    if rate is not None and saturate:
        raise UsageError("--rate and --saturate exclude each other; give one of them")
    if trace:
        found = read_traces(trace, lock)
        situation = msgspec.structs.replace(found, fair=fair, max_bytes=max_bytes)
    else:
        if nodes is None:
            raise UsageError(
                "--nodes is missing; say how large the cluster is, or give its traces with --trace"
            )
        situation = Situation(
            nodes,
            k,
            None if saturate else 1.0 if rate is None else rate,
            duration(latency, "--latency"),
            duration(jitter, "--jitter"),
            duration(inside, "--inside"),
            duration(overhead, "--overhead"),
            fair,  # type: ignore[arg-type]
            max_bytes,
        )
    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, not {seeds}")
    with progress_bar("simulating the catalogue", json) as progress:
        advice = find_advice(
            situation,
            by,  # type: ignore[arg-type]
            without=without or (),
            seeds=Seeds(seeds, seed),
            entries=entries,
            executor=executor,
            jobs=jobs,
            progress=progress,
        )
    print_json(advice) if json else print_advice(advice, bool(trace))


def print_advice(advice: Advice, read: bool) -> None:
    s = advice.situation
    if read:
        rate = "all the time" if s.rate is None else f"{s.rate:.3g} requests per node and second"
        print_text(
            f"The traces show {s.nodes} nodes, {rate}, latency {span(s.latency)} ± {span(s.jitter)}, "
            f"{span(s.inside)} inside."
        )
        print()
    columns = ("algorithm", ">to enter", ">?p99", ">messages", ">bytes", ">?sync", ">passed by", "")
    rows = [
        (
            each.algorithm,
            span(each.time.mean) + doubt(each.time),
            span(each.time_p99),
            number(each.messages.mean, 2),
            number(round(each.bytes.mean)),
            span(each.sync_delay) if each.sync_delay is not None else "-",
            number(each.fairness.mean, 1),
            "as good" if each.tied and place else "",
        )
        for place, each in enumerate(advice.ranking)
    ]
    print_table(f"Best first, by {advice.by}", columns, rows)
    print()
    for reason in advice.reasons:
        print_text(reason, "- ", "  ")
    for name, why in advice.ruled_out.items():
        print_text(f"Not {name}: {why}.", "- ", "  ")
    print(f"\nIn cluster.toml:\n\n    {advice.config}")


def doubt(time: Estimate) -> str:
    """None where all seeds agree but for rounding."""
    return f" ± {span(time.half_width)}" if time.half_width > 1e-9 * time.mean else ""
