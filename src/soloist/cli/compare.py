"""`soloist compare`: several algorithms side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from soloist.algorithms import CATALOGUE, Card, load_any
from soloist.cli import arguments as arg
from soloist.cli.arguments import algorithm_options
from soloist.cli.output import number, picture, print_json, print_table, print_text, progress_bar
from soloist.cli.simulate import interval, young
from soloist.cli.situations import network
from soloist.cli.tables import BAR, bar
from soloist.core import UsageError, unknown
from soloist.durations import duration
from soloist.lab import Point, plots
from soloist.sim import Estimate, Experiment, Result, Saturated, Thinking, simulate
from soloist.sim.faults import faults

T = TypeVar("T", int, float)


class Comparison(msgspec.Struct, frozen=True):
    """One algorithm in one situation."""

    load: str
    rate: float | None
    """None: saturated."""
    result: Result


def compare(
    names: Annotated[
        list[str] | None, typer.Argument(help="Algorithms; if left out, all that fit and rest when idle.")
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option("--nodes", "-n", metavar="N,…", help="Numbers of sites; may be repeated. (default: 10)"),
    ] = None,
    k: arg.K = 1,
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", metavar="λ,…", help="Requests per site and time unit; may be repeated."),
    ] = None,
    saturate: arg.Saturate = False,
    entries: arg.Entries = 3000,
    warmup: arg.Warmup = None,
    send_cost: arg.SendCost = "0",
    receive_cost: arg.ReceiveCost = "0",
    latency: arg.Latency = "0.001",
    channels: arg.Channels = None,
    inside: arg.Inside = "0.001",
    seed: arg.Seed = 1,
    replications: arg.Replications = 1,
    jobs: arg.Jobs = 1,
    option: arg.Options = None,
    fault: arg.Faults = None,
    svg: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Also draw the tables, as SVG.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Also draw a figure over the sweep: .png or .svg."),
    ] = None,
    figure: Annotated[
        str, typer.Option("--figure", metavar="WHAT", help="Draw messages, time, sync, words or throughput.")
    ] = "messages",
    log: Annotated[
        str, typer.Option("--log", metavar="x|y|xy", help="Logarithmic axes of the figure. (default: none)")
    ] = "",
    show: Annotated[bool, typer.Option("--show", help="Open the plot in a window, too.")] = False,
    json: arg.Json = False,
) -> None:
    """Compare algorithms in the same situations, with the same seeds.

    Examples:

        soloist compare --nodes 10,30 --rate 0.001

        soloist compare naimi-trehel raymond-tree --nodes 100 --rate 0.01,1 --saturate --picture costs.svg

        soloist compare lamport maekawa naimi-trehel --nodes 5,10,20,40 --replications 5 --plot costs.png
    """
    if svg and svg.suffix != ".svg":
        raise UsageError(f"--picture {svg}: tables are drawn as .svg; --plot draws figures as .png, too")
    check_figure(figure, log)
    if plot:
        plots.check_path(plot)
    names = names or [name for name, card in CATALOGUE.items() if fits(card, k)]
    cards = [load_any(name) for name in names]
    options, broken = options_of(cards, option), faults(fault or ())
    experiments = [
        Experiment(
            algorithm=name,
            nodes=n,
            k=k,
            options={o.name: options[o.name] for o in card.options if o.name in options},
            workload=load,
            network=network(card, k, latency, send_cost, receive_cost, channels),
            inside=duration(inside, "--inside"),
            entries=entries,
            warmup=warmup,
            seed=seed,
            replications=replications,
            faults=broken,
        )
        for n in numbers(nodes, int, "--nodes must be numbers such as 10,30") or [10]
        for load in loads(rate, saturate)
        for name, card in zip(names, cards, strict=True)
    ]
    for experiment in experiments:  # complain about any of them before the first one runs
        experiment.size()
    comparisons = []
    with progress_bar("comparing", json) as progress:
        for done, experiment in enumerate(experiments, start=1):
            comparisons.append(
                Comparison(describe(experiment), rate_of(experiment), simulate(experiment, jobs=jobs))
            )
            progress(done, len(experiments))
    if plot:
        draw(comparisons, plot, figure, log, show)
    with picture(svg, "soloist compare"):
        print_json(comparisons) if json else print_comparisons(comparisons)


def check_figure(figure: str, log: str) -> None:
    if figure not in FIGURES:
        raise unknown("figure", figure, FIGURES)
    if not set(log) <= {"x", "y"}:
        raise UsageError(f"--log should be x, y or xy, not {log!r}")


def options_of(cards: list[Card], given: list[str] | None) -> dict[str, Any]:
    """The options of the algorithms: each is one that some of them have."""
    options = algorithm_options(given)
    for key in options:
        if not any(key == known.name for card in cards for known in card.options):
            raise UsageError(f"none of the algorithms has an option {key!r}")
    return options


def fits(card: Card, k: int) -> bool:
    """Whether it can be compared unasked: one that talks even when nobody asks would take for ever."""
    return card.light is not None and (card.capacity == "K" or k == 1)


def numbers(texts: list[str] | None, kind: Callable[[str], T], wanted: str) -> list[T]:
    """`1,2` and `3`, taken apart and in order; what is there twice counts once."""
    try:
        return sorted({kind(part) for text in texts or () for part in text.split(",")})
    except ValueError:
        raise UsageError(f"{wanted}, not {','.join(texts or ())!r}") from None


def loads(rates: list[str] | None, saturate: bool) -> list[Thinking | Saturated]:
    """Light to heavy. Here several rates and saturation go together: each is a situation."""
    values = numbers(rates, float, "--rate must be numbers such as 0.001,1")
    found: list[Thinking | Saturated] = [Thinking(value) for value in values]
    if saturate:
        found.append(Saturated())
    return found or [Thinking(1.0)]


def rate_of(experiment: Experiment) -> float | None:
    return experiment.workload.rate if isinstance(experiment.workload, Thinking) else None


def describe(experiment: Experiment) -> str:
    load = experiment.workload
    return f"rate {load.rate:g}" if isinstance(load, Thinking) else "saturated"


FIGURES: dict[str, tuple[str, Callable[[Result], Estimate]]] = {
    "messages": ("messages per entry", lambda r: r.messages_per_entry),
    "time": ("time to enter (time units)", lambda r: Estimate(r.response_time.mean, r.response_time.ci95)),
    "sync": (
        "from exit to entry (time units)",
        lambda r: Estimate(r.sync_delay.mean or 0.0, r.sync_delay.ci95),
    ),
    "words": ("words per message", lambda r: Estimate(r.words_per_message or 0.0, None)),
    "throughput": ("entries per time unit", lambda r: r.throughput),
}


def draw(comparisons: list[Comparison], path: Path, figure: str, log: str, show: bool) -> None:
    """One line per algorithm, over the rates or else over the numbers of sites; what else varies is in its name."""
    loads = {c.load for c in comparisons}
    over_rates = len(loads) > 1
    sizes = {c.result.nodes for c in comparisons}
    name, value = FIGURES[figure]
    series: dict[str, list[Point]] = {}
    for c in comparisons:
        if over_rates and c.rate is None:
            continue  # saturation is no point on an axis of rates
        label = c.result.algorithm + (f", N={c.result.nodes}" if over_rates and len(sizes) > 1 else "")
        found = value(c.result)
        x = c.rate if over_rates else c.result.nodes
        series.setdefault(label, []).append(Point(x, found.mean, found.ci95, c.result.replications))
    plots.lines(
        series,
        path,
        title=(f"N={sizes.pop()}" if len(sizes) == 1 else "") if over_rates else next(iter(loads)),
        x="rate (requests per site and time unit)" if over_rates else "sites (N)",
        y=name,
        log=log,
        show=show,
    )


def print_comparisons(comparisons: list[Comparison]) -> None:
    """One table per situation, the cheapest algorithm first."""
    situations: dict[tuple[int, str], list[Result]] = {}
    for comparison in comparisons:
        situations.setdefault((comparison.result.nodes, comparison.load), []).append(comparison.result)
    for (nodes, load), results in situations.items():
        print_situation(f"N={nodes}, {load}", results)
        print()
        if not results[0].warmed_up:
            print_text(young(results[0]))
            print()


def print_situation(title: str, results: list[Result]) -> None:
    largest = max(r.messages_per_entry.mean for r in results)
    columns = (
        "algorithm",
        ">messages/entry",
        BAR,
        "?at most",
        ">light",
        ">to enter",
        ">sync",
        ">words",
        ">Jain",
    )
    rows = [
        (
            r.algorithm,
            number(r.messages_per_entry.mean, 2) + interval(r.messages_per_entry.ci95),
            bar(r.messages_per_entry.mean, largest),
            r.bound,
            number(r.light_load, 2),
            number(r.response_time.mean, 4),
            number(r.sync_delay.mean, 4),
            number(r.words_per_message, 2),
            number(r.fairness.jain, 3),
        )
        for r in sorted(results, key=lambda r: r.messages_per_entry.mean)
    ]
    print_table(title, columns, rows)
