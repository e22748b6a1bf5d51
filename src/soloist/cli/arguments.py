"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from soloist.core import UsageError

Nodes = Annotated[int, typer.Option("--nodes", "-n", metavar="N", help="Number of sites.")]
K = Annotated[int, typer.Option("--k", metavar="K", help="How many may be inside together.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="λ", help="Requests per site and time unit; think time is exponential."),
]
Saturate = Annotated[
    bool, typer.Option("--saturate", help="Everybody asks again at once, instead of --rate.")
]
Entries = Annotated[int, typer.Option("--entries", metavar="M", help="Entries to measure.")]
Warmup = Annotated[
    int | None, typer.Option("--warmup", metavar="M", help="Entries to leave out before. (default: a tenth)")
]
SendCost = Annotated[str, typer.Option("--send-cost", metavar="Ts", help="Time a site spends per copy sent.")]
ReceiveCost = Annotated[
    str, typer.Option("--receive-cost", metavar="Tr", help="Time a site spends per message received.")
]
Latency = Annotated[
    str,
    typer.Option(
        "--latency",
        metavar="Tt",
        help="Time in transit: 0.8, 2ms, uniform:LOW,HIGH, exponential:MEAN or lognormal:MEAN,SIGMA.",
    ),
]
Channels = Annotated[
    str | None,
    typer.Option("--channels", metavar="fifo|any", help="Order on a link. (default: what the card asks for)"),
]
Inside = Annotated[str, typer.Option("--inside", metavar="E", help="Time spent inside.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="One seed, one run, to the byte.")]
Replications = Annotated[
    int,
    typer.Option("--replications", metavar="R", help="Runs with seeds S, S+1, …; the interval is over them."),
]
Jobs = Annotated[
    int, typer.Option("--jobs", metavar="J", help="Processes for replications; 0: one per core.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the algorithm; may be repeated."),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="FAULT",
        help="crash=2@10, pause=1@5+3, partition=0,1|2@10+5, loss=0.01 …; may be repeated (docs/simulating.md).",
    ),
]
Executor = Annotated[
    str | None, typer.Option("--executor", metavar="dask://HOST:PORT", help="Run on a Dask cluster.")
]
Workers = Annotated[
    int, typer.Option("--jobs", metavar="J", help="Processes; 0: one per core; 1: no others.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Forget the runs that are already in --out, and start anew.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]


def at_least(name: str, least: float, value: float, most: float = 1e9) -> None:
    if not least <= value <= most:
        raise UsageError(f"{name} must be from {least:g} to {most:g}, not {value:g}")


def algorithm_options(texts: Sequence[str] | None) -> dict[str, Any]:
    """`--option key=value`, taken apart."""
    options = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--option {text!r} should read KEY=VALUE, such as topology=line")
        options[key] = value
    return options
