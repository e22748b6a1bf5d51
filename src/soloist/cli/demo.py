"""`soloist demo`: the main job, nothing to configure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soloist.algorithms import CATALOGUE
from soloist.cli.compare import Comparison, describe, print_comparisons
from soloist.cli.output import picture, progress_bar
from soloist.network import Lognormal, Network
from soloist.sim import Experiment, Saturated, Thinking, simulate

NODES = 15
LINKS = Lognormal(0.001, 0.5)


def demo(
    svg: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Also draw the tables, as SVG.")
    ] = None,
) -> None:
    """Run every algorithm at light and at heavy load, and compare what an entry costs.

    Examples:

        soloist demo

        soloist demo --picture docs/demo.svg
    """
    situations: list[Thinking | Saturated] = [Thinking(0.1), Saturated()]
    experiments = [
        Experiment(
            name, NODES, workload=load, network=Network(LINKS, fifo=True), entries=4000, replications=3
        )
        for load in situations
        for name in CATALOGUE
    ]
    print(
        f"{len(CATALOGUE)} algorithms, {NODES} sites, links of 1 ms on average (lognormal), 1 ms inside; 3 seeds."
    )
    print("Every run asserts exclusion, service and the published bound.\n")
    comparisons = []
    with progress_bar("simulating") as progress:
        for done, experiment in enumerate(experiments, start=1):
            comparisons.append(Comparison(describe(experiment), simulate(experiment, jobs=0)))
            progress(done, len(experiments))
    with picture(svg, "soloist demo"):
        print_comparisons(comparisons)
    entries = sum(c.result.entries for c in comparisons)
    messages = sum(c.result.messages for c in comparisons)
    print(f"{entries:,} entries, {messages:,} messages; never two inside, nobody left waiting.\n")
    print("Next:  soloist simulate naimi-trehel --nodes 1000 --rate 0.01")
    print("       soloist algorithms raymond-tree")
