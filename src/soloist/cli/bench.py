"""`soloist bench`: our speed and that of others, in one run."""

from __future__ import annotations

from typing import Annotated

import typer

from soloist.bench import checker as checker_bench
from soloist.bench import simulator as simulator_bench
from soloist.cli.arguments import Json
from soloist.cli.output import print_json, print_table, progress_bar

bench = typer.Typer(help="Our speed beside that of others, in one run, as ratios.", no_args_is_help=True)


@bench.command()
def simulator(
    messages: Annotated[int, typer.Option(help="Messages a measurement.")] = 300_000,
    rounds: Annotated[int, typer.Option(help="Measurements of each; the best counts.")] = 5,
    json: Json = False,
) -> None:
    """Messages per CPU second: this simulator, SimPy doing the same work, and a bare heap.

    Example:

        soloist bench simulator
    """
    with progress_bar("measuring", json) as progress:
        rows = simulator_bench.measure(messages=messages, rounds=rounds, progress=progress)
    if json:
        print_json(rows)
        return
    columns = ("nodes", "delay", ">ours/s", ">SimPy/s", ">bare heap/s", ">x SimPy", ">of bare heap")
    print_table(
        "Messages (bare heap: pops) per CPU second",
        columns,
        [
            (
                str(r.nodes),
                r.delay,
                f"{r.ours:,.0f}",
                f"{r.simpy:,.0f}",
                f"{r.bare_heap:,.0f}",
                f"{r.times_simpy:.1f}",
                f"{r.share_of_heap:.2f}",
            )
            for r in rows
        ],
    )


@bench.command()
def checker(
    repeat: Annotated[int, typer.Option(help="Measurements of each; the best counts.")] = 5,
    json: Json = False,
) -> None:
    """States per CPU second: this checker, and SPIN on a model of the same steps where it is installed.

    Example:

        soloist bench checker
    """
    rows = checker_bench.measure(repeat=repeat)
    if json:
        print_json(rows)
    else:
        print_table("Ricart-Agrawala, states per CPU second", *checker_bench.table(rows))
