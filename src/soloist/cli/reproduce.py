"""`soloist reproduce`: a paper's tables and figures, measured again, claim by claim."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from soloist.cli import arguments as arg
from soloist.cli.output import print_json, print_table, progress_bars
from soloist.core import UsageError
from soloist.lab import Seeds, SweepStopped
from soloist.lab.files import make_directory
from soloist.lab.plots import same_looks
from soloist.lab.report import Findings
from soloist.lab.reproduce import PAPERS, Paper, find_paper
from soloist.lab.workbench import Workbench

MOST_SEEDS = 1000


def reproduce(
    paper: Annotated[str | None, typer.Argument(help="Which; if left out, those that there are.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where all goes; by default reproduced/PAPER.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="S", help="Runs of each situation.")] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The first seed.")] = 1,
    scale: Annotated[
        float, typer.Option("--scale", metavar="X", help="Entries, as a multiple: 0.1 for a quick look.")
    ] = 1.0,
    svg: Annotated[bool, typer.Option("--svg", help="Figures as SVG instead of PNG.")] = False,
    executor: arg.Executor = None,
    jobs: arg.Workers = 0,
    fresh: arg.Fresh = False,
    json: arg.Json = False,
) -> None:
    """Measure again what a paper claims. The report says claim by claim what held, with figures and tables.

    The same seed gives the same report, to the byte. What was interrupted goes on where it stopped.

    Examples:

        soloist reproduce

        soloist reproduce bulgannawar-vaidya

        soloist reproduce survey --scale 0.1 --out /tmp/survey
    """
    if paper is None:
        print_papers(json)
        return
    chosen = find_paper(paper)
    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds must be from 1 to {MOST_SEEDS}, not {seeds}")
    if not 0 < scale <= 1000:
        raise UsageError(f"--scale must be above 0 and at most 1000, not {scale:g}")
    folder = out if out is not None else Path("reproduced") / paper
    command = f"soloist reproduce {paper} --seeds {seeds} --seed {seed} --scale {scale:g}"
    make_directory(folder)
    with progress_bars(json) as report:
        bench = Workbench(
            folder,
            Seeds(seeds, seed),
            scale,
            "svg" if svg else "png",
            executor,
            jobs,
            fresh,
            command,
            report,
        )
        findings = measured(chosen, bench)
    path = findings.write(folder, command)
    if json:
        print_json({"paper": paper, "report": str(path), "claims": findings.claims})
    else:
        print_claims(findings)
        print(f"\n{path}")


def measured(paper: Paper, bench: Workbench) -> Findings:
    try:
        with same_looks():
            return paper.reproduce(bench)
    except SweepStopped as stop:
        print(f"soloist: {stop}", file=sys.stderr)
        raise typer.Exit(1) from None


def print_papers(json: bool) -> None:
    if json:
        print_json([{"name": paper.name, "about": paper.about} for paper in PAPERS.values()])
        return
    print_table("Papers", ("name", "what is measured"), [(p.name, p.about) for p in PAPERS.values()])


MARKS = {"reproduced": "✓", "partly": "~", "not reproduced": "✗", "undecided": "?"}


def print_claims(findings: Findings) -> None:
    """Each claim, and under it what was measured."""
    width = min(shutil.get_terminal_size((110, 0)).columns, 110)
    print(f"{findings.title}\n")
    print(textwrap.fill(" ".join(findings.basis.split()), width) + "\n")
    for each in findings.claims:
        mark = f"  {MARKS[each.verdict]} {each.verdict:16}"
        print(textwrap.fill(each.text, width, initial_indent=mark, subsequent_indent=" " * len(mark)))
        print(textwrap.fill(each.evidence, width, initial_indent=" " * 22, subsequent_indent=" " * 22))
