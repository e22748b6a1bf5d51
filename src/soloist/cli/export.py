"""`soloist export`: the graph of a small system, for Graphviz, SPIN and other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from soloist.algorithms import load_any
from soloist.algorithms.printed import find_printed
from soloist.check.export import FORMATS, SUFFIXES, exported
from soloist.cli import arguments as arg
from soloist.cli.arguments import algorithm_options, at_least
from soloist.cli.check import requests, without_mistakes
from soloist.cli.output import STANDARD_OUTPUT, write_text
from soloist.core import UsageError, unknown


def export(
    name: Annotated[str, typer.Argument(help="The algorithm, or a file of yours: my_lock.py.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="graph.dot, graph.pml or graph.json; - prints it.")
    ],
    nodes: arg.Nodes = 2,
    rounds: Annotated[
        str, typer.Option("--rounds", "-r", metavar="R", help="Requests of each site: 2, or 2,1,0 by site.")
    ] = "1",
    k: arg.K = 1,
    channels: arg.Channels = None,
    option: arg.Options = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="What a paper or the survey prints, errors and all.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="dot|promela|json", help="(default: as the file is called)"),
    ] = None,
    states: Annotated[int, typer.Option("--states", metavar="S", help="Refuse a graph of more.")] = 5000,
) -> None:
    """Write the graph of a small system: every state and every step, so that others can judge it again.

    It is what `soloist check` explores, without reductions. As DOT it is a picture; as Promela SPIN asserts
    exclusion and looks for deadlock in it; as JSON it is for programs of your own. States that must not be are in it,
    too.

    Examples:

        soloist export suzuki-kasami graph.dot --nodes 2

        soloist export ricart-agrawala graph.pml --nodes 3 --rounds 1

        soloist export ricart-agrawala graph.json --nodes 2 --printed
    """
    chosen = format or SUFFIXES.get(file.suffix, "")
    if not chosen:
        raise UsageError(f"--format should say dot, promela or json: {file} does not end as one of them does")
    if chosen not in FORMATS:
        raise unknown("format", chosen, FORMATS)
    at_least("--states", 1, states)
    card = find_printed(name) if printed else without_mistakes(name, load_any(name))
    found = exported(card, nodes, requests(rounds), k, channels, algorithm_options(option), states)
    write_text(file, FORMATS[chosen](found), "graph")
    if file not in STANDARD_OUTPUT:
        print(
            f"{found.title}: {len(found.states)} states, {len(found.steps)} steps, in {file}", file=sys.stderr
        )
