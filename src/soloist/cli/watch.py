"""`soloist watch`: a run to look at, as a timeline, a picture, a page, or for other programs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from soloist.algorithms import load_any
from soloist.algorithms.printed import find_printed
from soloist.cli import arguments as arg
from soloist.cli import watch_server as pages
from soloist.cli.arguments import algorithm_options
from soloist.cli.cluster import find_member
from soloist.cli.output import print_table, write_text
from soloist.cli.situations import network, workload
from soloist.core import PropertyViolated, UsageError
from soloist.durations import duration
from soloist.own import is_own
from soloist.sim import Experiment
from soloist.sim.faults import faults
from soloist.watch import Trace
from soloist.watch.diagrams import MERMAID_MOST
from soloist.watch.examples import examples, find_example
from soloist.watch.export import html as page_of
from soloist.watch.formats import export
from soloist.watch.live import merge
from soloist.watch.puzzles import puzzles
from soloist.watch.runs import commands_of, of_script, of_simulation
from soloist.watch.setup import Setup, fragment
from soloist.watch.svg import svg as picture_of
from soloist.watch.text import WIDTH
from soloist.watch.text import text as timeline
from soloist.watch.trace import parse, text_of
from soloist.watch.validate import validate as first_impossible
from soloist.watch.workloads import unit_of, usual

LIST = "list"
FILES = (".jsonl", ".txt", ".json", ".trace", ".script")
"""What a file is called. Anything else that does not exist is taken for the name of an algorithm."""


def watch(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME | FILE...",
            help="An algorithm or a file of yours, to be simulated; or a trace, the traces of all nodes of a cluster, or a script.",
        ),
    ] = None,
    nodes: arg.Nodes = 5,
    k: arg.K = 1,
    rate: arg.Rate = None,
    saturate: arg.Saturate = False,
    requests: Annotated[
        str | None,
        typer.Option("--requests", metavar="LIST", help="Requests at given times: 0@0,2@1.5 (SITE@TIME)."),
    ] = None,
    entries: Annotated[int, typer.Option("--entries", metavar="M", help="Entries to see.")] = 10,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", metavar="Tt", help="Time in transit, as for `simulate`. (default: exponential:1)"
        ),
    ] = None,
    channels: arg.Channels = None,
    inside: Annotated[
        str | None, typer.Option("--inside", metavar="E", help="Time spent inside. (default: 1)")
    ] = None,
    seed: arg.Seed = 1,
    option: arg.Options = None,
    fault: arg.Faults = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Run what a paper or the survey prints, errors and all.")
    ] = False,
    example: Annotated[
        str | None,
        typer.Option("--example", metavar="[ID]", help="A figure of the paper; without ID: which there are."),
    ] = None,
    lock: Annotated[
        str | None, typer.Option("--lock", metavar="NAME", help="Which lock of the nodes' traces.")
    ] = None,
    epoch: Annotated[
        int | None, typer.Option("--epoch", metavar="E", help="Which epoch of them. (default: the longest)")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the timeline; so it is if nothing else is asked for.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write it as a picture.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one page that needs nothing else.")
    ] = None,
    export_as: Annotated[
        str | None,
        typer.Option(
            "--export", metavar="FORMAT", help="Print it as jsonl, shiviz, mermaid, plantuml or chrome."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", help="Of the local server. (default: a free one)"),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address of the page, and open no browser.")
    ] = False,
    shared: Annotated[
        str | None,
        typer.Option("--open", metavar="FRAGMENT", help="A run that somebody has played and shared."),
    ] = None,
    puzzle: Annotated[
        str | None,
        typer.Option("--puzzle", metavar="[ID]", help="Beat the paper; without ID: which puzzles there are."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="NAME", help="Another algorithm beside it, with the same requests."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Look at a live cluster: the dashboard."),
    ] = None,
    member: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NODE", help="Which node the dashboard asks; otherwise one that runs here."
        ),
    ] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Is it a behaviour of the algorithm? The first impossible step is shown."
        ),
    ] = False,
) -> None:
    """Look at a run: of the simulator, of a paper's figure, of a live cluster, or one that was written by hand.

    Nodes record themselves with `trace = "FILE"` in the cluster's file or `soloist node --trace FILE`; give the files of all of them. What
    --export prints goes to standard output. The exit code is 1 if --validate finds a step that is impossible.

    On a terminal, if nothing else is asked for, a page opens in the browser, where the run can be played on: by a server on this machine,
    for whoever has the address it prints, until Ctrl-C. --config opens the dashboard of a cluster that runs here.

    Examples:

        soloist watch suzuki-kasami --nodes 5 --seed 3

        soloist watch lodha-kshemkalyani --example fig3 --html fig3.html

        soloist watch --example

        soloist watch a.jsonl b.jsonl c.jsonl --lock orders --svg orders.svg

        soloist watch naimi-trehel --fault crash=2@10 --export mermaid

        soloist watch trace.jsonl --validate

        soloist watch --puzzle ricart-agrawala-r1

        soloist watch --config cluster.toml
    """
    if done_without_a_run(what or [], example, puzzle, shared, config, member, port or 0, not no_browser):
        return
    if not what:
        raise UsageError(
            "what to watch is missing: give an algorithm, a trace or a script, or --example list"
        )
    what = without_own(what)
    if example:
        trace = find_example(what[0], example).trace()
    elif not is_own(what[0]) and any(Path(each).exists() or each.endswith(FILES) for each in what):
        trace = of_files([Path(each) for each in what], lock, epoch)
    elif len(what) > 1:
        raise UsageError(f"one algorithm at a time; {what[1]!r} is too much, and is no file either")
    else:
        card = find_printed(what[0]) if printed else load_any(what[0])
        unit = unit_of(card)
        asked = rate is not None or saturate or requests
        trace = of_simulation(
            Experiment(
                algorithm=what[0],
                nodes=nodes,
                k=k,
                options=algorithm_options(option),
                workload=workload(rate, saturate, requests) if asked else usual(card),
                network=network(card, k, latency or f"exponential:{unit}", "0", "0", channels),
                inside=duration(inside or str(unit), "--inside"),
                entries=entries,
                warmup=0,
                seed=seed,
                printed=printed,
                faults=faults(fault or ()),
            )
        )
    if not (text or svg or html or export_as or validate) and wants_page(port, no_browser, beside):
        pages.play(trace, None, port or 0, not no_browser, beside)
        return
    show(trace, text, svg, html, export_as)
    if validate:
        judge(trace)


def without_own(what: list[str]) -> list[str]:
    """The traces, of runs of an algorithm of the user's own: its file is loaded, so that its name is known."""
    if all(is_own(each) for each in what):
        return what
    load_own(what)
    return [each for each in what if not is_own(each)]


def load_own(what: list[str]) -> None:
    for each in what:
        if is_own(each):
            load_any(each)


def done_without_a_run(
    what: list[str],
    example: str | None,
    puzzle: str | None,
    shared: str | None,
    config: Path | None,
    member: str | None,
    port: int,
    browse: bool,
) -> bool:
    """Lists, the dashboard, and runs that were played elsewhere."""
    if example == LIST:
        print_examples()
    elif puzzle == LIST:
        print_puzzles()
    elif config:
        found, chosen = find_member(config, member)
        pages.dashboard(found, chosen, port, browse)
    elif shared or puzzle:
        load_own(what)
        pages.play(None, shared or fragment(Setup(puzzle=puzzle)), port, browse)
    else:
        return False
    return True


def wants_page(port: int | None, no_browser: bool, beside: str | None) -> bool:
    """Users who redirect the output want text; and so do those who have no server to show anything else."""
    if port is not None or no_browser or beside:
        return True
    if not sys.stdout.isatty():
        return False
    if not pages.can_serve():
        print(f"soloist: to see this as a page, and play on: {pages.INSTALL}", file=sys.stderr)
    return pages.can_serve()


def of_files(paths: list[Path], lock: str | None, epoch: int | None) -> Trace:
    """One trace or script, or what the nodes of a cluster have recorded."""
    content = text_of(paths[0])
    first = content.partition("\n")[0]
    if len(paths) > 1 or is_of_a_node(first):
        return merge(paths, lock, epoch)
    if not first.startswith("{"):
        commands = [line for line in commands_of(content) if not line.startswith("#")]
        if not commands or commands[0].split()[0] != "start":
            raise UsageError(
                f"{paths[0]} is {'neither a trace nor a script' if content.strip() else 'empty'}: a trace begins with a line "
                'that has "soloist": "trace", and a script with `start NAME nodes=N`'
            )
        return of_script(commands_of(content))
    return parse(content.splitlines(), str(paths[0]))


def is_of_a_node(line: str) -> bool:
    try:
        head = msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return False
    return isinstance(head, dict) and head.get("origin") == "live" and "node" in head


def show(trace: Trace, text: bool, svg: Path | None, html: Path | None, export_as: str | None) -> None:
    if svg:
        write_text(svg, picture_of(trace), "picture")
    if html:
        write_text(html, page_of(trace), "page")
    if export_as:
        sys.stdout.write(exported := export(trace, export_as))
        if export_as == "mermaid" and len(exported) > MERMAID_MOST:
            text_is = f"this diagram has {len(exported):,} characters, and Mermaid draws {MERMAID_MOST:,}"
            print(f"soloist: {text_is}: see fewer --entries, or allow more (maxTextSize)", file=sys.stderr)
    if text or not (svg or html or export_as):
        width = max(shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH, 40)
        sys.stdout.write(timeline(trace, width))


def judge(trace: Trace) -> None:
    wrong = first_impossible(trace)
    if wrong:
        step = trace.steps[wrong.step]
        raise PropertyViolated(
            "behaviour",
            f"step {wrong.step} ({step.what} at site {trace.name(step.site)}) is impossible: {wrong.why}",
        )
    print(f"All {len(trace.steps)} steps are steps of {trace.head.algorithm}, one after another.")


def print_puzzles() -> None:
    rows = [(each.id, str(len(each.best)), each.goal) for each in puzzles().values()]
    print_table("Beat the paper", ("ID", ">best known", "what to do"), rows)


def print_examples() -> None:
    rows = [(each.algorithm, each.id, each.about) for each in examples()]
    print_table("Worked examples of the papers", ("algorithm", "ID", "what it shows"), rows)
