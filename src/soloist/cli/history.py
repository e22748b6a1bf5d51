"""`soloist history`: what a lock service did, judged by the lines that its users wrote down."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from soloist.cli.arguments import Json
from soloist.cli.help import Commands
from soloist.cli.output import print_json
from soloist.core.errors import printable
from soloist.durations import duration
from soloist.history import check as judge
from soloist.history import text
from soloist.history.timeline import WIDTH

history = Commands(
    help="Judge what any lock service did, by the lines that its users logged.",
)


@history.callback()
def group() -> None: ...


@history.command()
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="The history; several files are one history; `-` reads standard input."
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            "--k", metavar="K", help="How many may be inside together. (default: 1, or what a trace says)"
        ),
    ] = None,
    skew: Annotated[
        str,
        typer.Option(
            "--skew", metavar="TIME", help="Clocks of processes differ by so much at most, such as 5ms."
        ),
    ] = "0",
    bypass: Annotated[
        int | None,
        typer.Option(
            "--bypass", metavar="B", help="A request may be passed by B later ones at most; 0: in order."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Judge a history of any lock service: overlaps, fences, and the order of requests.

    One event a line, as JSON: time (seconds, or a date), process, event ("acquire" when it is in, "release" when it leaves;
    "request", "cancel" and "end" where they are known), lock, and fence where there is one. Histories of Jepsen and Maelstrom
    (history.edn, or as JSON) and our own traces are read as they are. The exit code is 0 if nothing is wrong, 1 if something
    is, and 3 if the history leaves it open.

    Examples:

        soloist history check locks.jsonl

        soloist history check a.jsonl b.jsonl --skew 5ms

        soloist history check pool.jsonl --k 3 --bypass 10 --json

        soloist history check store/latest/history.edn
    """
    report = judge(files, k=k, skew=duration(skew, "--skew"), bypass=bypass)
    if json:
        print_json(report.record())
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        print("\n".join(map(printable, text(report, max(width, 40)).split("\n"))))
    raise typer.Exit(report.exit_code())
