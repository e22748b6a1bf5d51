"""`soloist bench page`: how fast the page of a run is."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from soloist.cli.arguments import Json, at_least
from soloist.cli.output import print_json, print_table, print_text, progress_bar


def page(
    events: Annotated[int, typer.Option(help="Steps of the run.")] = 10_000,
    rounds: Annotated[int, typer.Option(help="How often the page is opened; the slowest frames count.")] = 3,
    json: Json = False,
) -> None:
    """The page of a long run in a real browser: time until it is drawn, frames per second, bytes per event.

    Example:

        soloist bench page
    """
    from soloist.bench import page as page_bench

    at_least("--events", 10, events, 200_000)
    at_least("--rounds", 1, rounds, 100)
    with progress_bar("pages", json) as progress:
        measured = page_bench.measure(events, rounds, progress)
    if json:
        print_json({**msgspec.to_builtins(measured), "met": measured.met})
        return
    title = f"{measured.events:,} events, {measured.messages:,} messages, {measured.browser}"
    print_table(title, *page_bench.table(measured))
    print_text(f"The page has {measured.elements:,} elements.")
