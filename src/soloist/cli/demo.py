"""`soloist demo`: the main job, nothing to configure."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from soloist.algorithms import load
from soloist.cli.arguments import Json
from soloist.cli.output import number, print_json, print_table, print_text, progress_bar, write_text
from soloist.core import PropertyViolated, UsageError
from soloist.demo import Tally, demonstrate, kill_holder, recorded
from soloist.net import Node
from soloist.net.cards import USUAL
from soloist.testing import Contend

MOST_DRAWN = 5
RECORDED_ENTRIES = 4
"""Entries that are recorded to be looked at: a run that one can follow."""
MOST_NODES = 100
"""Nodes. Each is a process, and all of them talk to each other."""


def demo(
    nodes: Annotated[int, typer.Option("--nodes", "-n", metavar="N", help="Processes.")] = 5,
    entries: Annotated[int, typer.Option("--entries", metavar="M", help="Entries of each, for each.")] = 200,
    algorithm: Annotated[str, typer.Option("--algorithm", metavar="NAME", help="For the lock.")] = USUAL[0],
    semaphore_algorithm: Annotated[
        str, typer.Option("--semaphore-algorithm", metavar="NAME", help="For the semaphore.")
    ] = USUAL[1],
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Record a short round, and write it as a page to look at."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Start a real cluster on this machine, let it contend, and prove exclusion from outside.

    Every node is a process; they talk TCP on loopback and share a lock and a semaphore of 2, with no lock server. A
    witness, a process of its own, is told of each entry and exit. Then a process that holds the lock is killed: how
    long it takes until the next one is in, and with which fence. Exit code 1 if something was seen that should not be.

    Examples:

        soloist demo

        soloist demo --nodes 8 --algorithm ricart-agrawala

        soloist demo --html demo.html
    """
    if not 1 <= nodes <= MOST_NODES or entries < 1:
        raise UsageError(
            f"nodes must be from 1 to {MOST_NODES}, and entries at least 1, not {nodes} and {entries}"
        )
    if load(algorithm).everybody_asks:
        raise UsageError(
            f"{algorithm} serves a node only while all the others ask, too: here some end before others"
        )
    jobs = [Contend("orders", 1, entries), Contend("gpu", 2, entries, inside=0.001)]
    options = {"algorithm": algorithm, "semaphore_algorithm": semaphore_algorithm}
    Node("node0", {"node0": "127.0.0.1:1"}, **options)  # type: ignore[arg-type]  # says what is wrong with them
    if html:
        write_text(html, "", "page")  # a bad path should not cost the demonstration
    if not json:
        print_text(
            f"{nodes} processes on 127.0.0.1, a lock `orders` and a semaphore `gpu` of 2; a witness watches."
        )
        print()
    with progress_bar("entries", json) as progress:
        tallies = demonstrate(nodes, jobs, options, lambda lock, done, total: progress(done, total))
    wrong = next((tally for tally in tallies if tally.problems), None)
    if not json:
        print_tallies(tallies)
        print()
    say = (lambda line: None) if json else print_text
    crash = None if wrong else kill_holder("orders", options, say)
    if json:
        print_json({"locks": tallies, "crash": crash})
    if wrong:
        raise PropertyViolated("exclusion", f"{wrong.lock}: {wrong.problems[0]}")
    if crash and crash.fence_after <= crash.fence_before:
        raise PropertyViolated("fence", f"{crash.lock}: {crash.fence_after} after {crash.fence_before}")
    if html:
        write_page(html, min(nodes, MOST_DRAWN), options, say)
    if not json:
        print_next(program())


def write_page(path: Path, nodes: int, options: dict[str, str], say: Callable[[str], None]) -> None:
    """A short round of its own: to record would slow down what was measured before."""
    from soloist.watch.export import html
    from soloist.watch.live import merge

    with tempfile.TemporaryDirectory(prefix="soloist-") as folder:
        trace = merge(recorded(nodes, "orders", RECORDED_ENTRIES, options, Path(folder)))
    write_text(path, html(trace), "page")
    say(
        f"Recorded: {nodes} nodes, {RECORDED_ENTRIES} entries each, {len(trace.messages())} messages. Open {path} in a browser to see it."
    )


def print_tallies(tallies: list[Tally]) -> None:
    columns = (
        "lock", "algorithm", ">entries", ">messages/entry", ">?at most", ">?wait p50", ">wait p99", ">?Jain",
        ">most inside", "verdict",
    )  # fmt: skip
    rows = [
        (
            o.lock,
            o.algorithm,
            str(o.entries),
            number(o.messages_per_entry, 2),
            number(o.bound),
            f"{o.p50 * 1000:.2f} ms",
            f"{o.p99 * 1000:.2f} ms",
            f"{o.jain:.3f}",
            f"{o.most_inside} of {o.capacity}",
            "VIOLATED" if o.problems else "holds",
        )
        for o in tallies
    ]
    print_table("Seen by the witness", columns, rows)


def print_next(soloist: str) -> None:
    print("\nNext:")
    for command, why in NEXT.items():
        print(f"\n  {soloist} {command}\n      {why}")
    if soloist != "soloist" and (activate := Path(sys.prefix, "bin", "activate")).exists():
        print(f"\nAfter `. {from_here(activate)}` the command is just `soloist`.")


NEXT = {
    "compare --nodes 15 --rate 0.1 --saturate": "what an entry costs, simulated",
    "check naimi-trehel --nodes 3 --rounds 2": "every order of events, proved",
}


def program() -> str:
    """How to call this program from here: by its name where a shell finds it, or else by its place."""
    called = Path(sys.argv[0])
    if called.name != "soloist":
        return f"{from_here(Path(sys.executable))} -m soloist"
    found = shutil.which("soloist")
    return "soloist" if found and called.exists() and called.samefile(found) else str(from_here(called))


def from_here(path: Path) -> Path:
    path, here = path.absolute(), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
