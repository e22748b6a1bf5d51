"""`soloist check`: prove an algorithm for a small system, or show the shortest way it fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from soloist.algorithms import Card, load_any
from soloist.algorithms.printed import find_printed
from soloist.check import REDUCTIONS, UNBOUNDED, Limits, Progress, Report, advice, mistakes, text
from soloist.check import check as run_check
from soloist.check.explore import Watcher
from soloist.check.judge import ENDLESS_STATES
from soloist.cli import arguments as arg
from soloist.cli.arguments import algorithm_options
from soloist.cli.check_carry import run_carry
from soloist.cli.check_faults import checked_faults
from soloist.cli.check_views import run_views
from soloist.cli.output import print_facts, print_json, write_text
from soloist.core import UsageError, unknown
from soloist.own import is_own

Names = list[str] | None


def check(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The algorithm (`soloist algorithms` lists them), or a file of yours: my_lock.py. `views`: membership. `carry`: held locks in a new epoch. `drop`: what algorithms need."
        ),
    ] = None,
    settings: Annotated[
        Names,
        typer.Argument(
            metavar="[NAME]...",
            help="With `views`: these settings only; with `carry`: these algorithms; with `drop`: these and these assumptions.",
        ),
    ] = None,
    nodes: arg.Nodes = 3,
    rounds: Annotated[
        str, typer.Option("--rounds", "-r", metavar="R", help="Requests of each site: 2, or 2,1,0 by site.")
    ] = "2",
    k: arg.K = 1,
    channels: arg.Channels = None,
    loss: Annotated[bool, typer.Option("--loss", help="Any message may be lost.")] = False,
    duplicate: Annotated[bool, typer.Option("--duplicate", help="Any message may arrive twice.")] = False,
    faults: Annotated[
        int | None, typer.Option("--faults", metavar="F", help="At most F losses and duplications in a run.")
    ] = None,
    crashes: Annotated[int, typer.Option("--crashes", metavar="C", help="At most C crashes in a run.")] = 0,
    restart: Annotated[
        str,
        typer.Option(
            "--restart",
            metavar="never|snapshot|fresh",
            help="A crashed site stays down, or comes back as it was, or as it began; its mail is lost.",
        ),
    ] = "never",
    fault: Annotated[
        Names,
        typer.Option(
            "--fault",
            metavar="FAULT",
            help="loss, duplicate, reorder, crash, restart, restart-new: at every moment; may be repeated.",
        ),
    ] = None,
    timeouts: Annotated[
        int | None,
        typer.Option("--timeouts", metavar="T", help="At most T timers run out in a run."),
    ] = None,
    slow: Annotated[
        Names,
        typer.Option(
            "--slow",
            metavar="TIMER",
            help="This timer, or `all`, runs out only when no message is under way; may be repeated.",
        ),
    ] = None,
    last: Annotated[
        Names,
        typer.Option(
            "--last",
            metavar="TIMER",
            help="This timer, or `all`, runs out only when waiting is in vain: nothing is under way, nobody inside.",
        ),
    ] = None,
    property: Annotated[
        Names, typer.Option("--property", metavar="NAME", help="Judge only this; may be repeated.")
    ] = None,
    no_reduction: Annotated[
        Names,
        typer.Option(
            "--no-reduction",
            metavar="NAME",
            help="Search without messages, values, clocks, early, receiver, or all.",
        ),
    ] = None,
    worst: Annotated[
        str | None,
        typer.Option("--worst", metavar="messages|wait", help="Find the run that costs most."),
    ] = None,
    states: Annotated[int, typer.Option("--states", metavar="S", help="Give up after S states.")] = 5_000_000,
    memory: Annotated[int, typer.Option("--memory", metavar="MIB", help="Give up at so many MiB.")] = 8192,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="T", help="Give up after T seconds, judging included.")
    ] = 3600.0,
    endless: Annotated[
        int,
        typer.Option("--endless", metavar="S", help="Give up endless requests after S states; 0: never try."),
    ] = ENDLESS_STATES,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", metavar="J", help="Cores that a large search may use; 0: all. The answer is the same."
        ),
    ] = 0,
    option: arg.Options = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Check what a paper or the survey prints, errors and all.")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write the run that is shown as a script of commands."),
    ] = None,
    watch_run: Annotated[
        bool, typer.Option("--watch", help="Show the run as a timeline, with who waits for what.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the run as a page to look at in a browser."),
    ] = None,
    all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="With `views` and `carry`: the large settings, too; with `drop`: recovery and variants, too.",
        ),
    ] = False,
    drop: Annotated[
        str | None,
        typer.Option("--drop", metavar="NAME", help="As `drop`: of this algorithm, or of `all`."),
    ] = None,
    json: arg.Json = False,
) -> None:
    """Prove an algorithm for a small system, or show the shortest way it fails.

    Every order of events is tried, over the very code that is simulated and deployed. The exit code
    is 0 if all promises hold, 1 if one is broken, 3 if a limit (or Ctrl-C) ended the search early, or
    if starvation could be judged for these requests only (--property leaves it out).

    Examples:

        soloist check ricart-agrawala --nodes 3 --rounds 2

        soloist check lamport --nodes 2 --channels any

        soloist check naimi-trehel --nodes 4 --rounds 2,1,1,0 --worst wait

        soloist check suzuki-kasami --nodes 2 --loss --faults 1

        soloist check ricart-agrawala --nodes 2 --rounds 1 --printed

        soloist check mishra-srimani-recovery --rounds 1 --crashes 1 --slow Treply --last T

        soloist check lamport --nodes 2 --channels any --html lamport.html

        soloist check ricart-agrawala --nodes 4 --rounds 1 --channels any --jobs 2

        soloist check views epochs voters-change

        soloist check carry naimi-trehel kakugawa

        soloist check drop lamport order duplication

        soloist check my_lock.py --nodes 3 --rounds 1
    """
    name, settings, all = _wanted(name, settings or [], all, drop)
    network = checked_faults(
        fault, channels=channels, loss=loss, duplicate=duplicate, crashes=crashes, restart=restart
    )
    network |= {"slow": tuple(slow or ()), "last": tuple(last or ())}
    if faults is not None and not network["loss"] and not network["duplicate"]:
        raise UsageError("--faults counts losses and duplications; add --loss or --duplicate")
    limits = Limits(states=states, memory=memory, seconds=seconds)
    if name in SUITES:
        with watcher(json or name == "drop") as watch:
            SUITES[name](settings, all, limits, json, watch)
    if settings or all:
        raise UsageError(
            f"only {', '.join(SUITES)} have settings; leave out {' '.join(settings or ['--all'])}"
        )
    card = find_printed(name) if printed else without_mistakes(name, load_any(name))
    with watcher(json) as watch:
        report = run_check(
            card,
            nodes=nodes,
            rounds=requests(rounds),
            k=k,
            options=algorithm_options(option),
            properties=property or None,
            reductions=reductions(no_reduction or []),
            limits=limits,
            worst=worst,
            endless_states=_not_negative("endless", endless),
            watch=watch,
            jobs=jobs,
            faults=UNBOUNDED if faults is None else _not_negative("faults", faults),
            timeouts=UNBOUNDED if timeouts is None else _not_negative("timeouts", timeouts),
            **network,
        )
    if trace:
        write_script(trace, report)
    print_json(report.record()) if json else print_facts(told(name, report))
    if html or (watch_run and not json):
        show_run(report, card, printed, watch_run and not json, html)
    raise typer.Exit(report.exit_code())


def told(name: str, report: Report) -> str:
    """With advice, where it is the user's own that was checked."""
    hint = advice(report) if is_own(name) else ""
    return f"{text(report)}\n\n{hint}" if hint else text(report)


def without_mistakes(name: str, card: Card) -> Card:
    """Say all that is certainly wrong with a file of the user's own: a line each, with what to do."""
    found = mistakes(card) if is_own(name) else []
    for each in found[:-1]:
        print(f"soloist: {name}:{each.line}: {each.text}", file=sys.stderr)
    if found:
        raise UsageError(f"{name}:{found[-1].line}: {found[-1].text}")
    return card


def _wanted(
    name: str | None, settings: list[str], all: bool, drop: str | None
) -> tuple[str, list[str], bool]:
    """What is to be checked, with which settings, and whether with all of them. `--drop X` is another word for `drop X`."""
    if drop is not None:
        every = drop in ("all", "--all")
        return "drop", [*([] if every else [drop]), *([name] if name else []), *settings], every or all
    if name is None:
        raise UsageError(
            "check what? Give an algorithm, such as ricart-agrawala; `soloist algorithms` lists them"
        )
    return name, settings, all


def run_drop(names: list[str], all: bool, limits: Limits, json: bool, watch: Watcher | None) -> None:
    """Only this one needs the laboratory."""
    from soloist.cli.check_drop import run_drop

    run_drop(names, all, limits, json)


SUITES = {"views": run_views, "carry": run_carry, "drop": run_drop}
"""What can be checked besides an algorithm."""


def requests(text: str) -> int | list[int]:
    """`2` for everybody, or `2,1,0` by site."""
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"--rounds should read 2, or 2,1,0 by site, not {text!r}") from None
    if max(numbers) > 1000:  # as with crashes and faults
        raise UsageError(f"--rounds must be at most 1000, not {max(numbers)}")
    return numbers[0] if len(numbers) == 1 else numbers


def reductions(without: list[str]) -> list[str]:
    for name in without:
        if name not in (*REDUCTIONS, "all"):
            raise unknown("reduction", name, [*REDUCTIONS, "all"])
    return [name for name in REDUCTIONS if name not in without and "all" not in without]


def _not_negative(name: str, number: int) -> int:
    if number < 0:
        raise UsageError(f"{name} must not be negative, but is {number}")
    return number


def write_script(path: Path, report: Report) -> None:
    write_text(path, report.script, "trace")


def show_run(report: Report, card: Card, printed: bool, timeline: bool, page: Path | None) -> None:
    """The run of a report, for people to look at."""
    from soloist.watch import of_report
    from soloist.watch import text as timeline_text
    from soloist.watch.export import html

    if not report.trace:
        print("There is no run to look at: none breaks a promise.", file=sys.stderr)
        return
    run = of_report(report, card, printed)
    if timeline:
        print(f"\n{timeline_text.text(run)}", end="")
    if page:
        write_text(page, html(run), "page")


@contextmanager
def watcher(json: bool) -> Iterator[Watcher | None]:
    """States, depth, rate and memory on standard error, if that is a terminal."""
    if json or not sys.stderr.isatty():
        yield None
        return
    with Status("searching", console=Console(stderr=True)) as status:
        yield lambda progress: status.update(describe(progress))


def describe(p: Progress) -> str:
    rate = p.states / p.seconds if p.seconds else 0
    return f"{p.search}: {p.states:,} states, depth {p.depth}, {rate:,.0f} states/s, {p.memory} MiB"
