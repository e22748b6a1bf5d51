"""`soloist check views`: the rules of membership, explored in small settings."""

from __future__ import annotations

import typer

from soloist.check import Limits
from soloist.check.explore import Watcher
from soloist.check.views import ALL, Exploration, check_views, exit_code, find_setting, text
from soloist.cli.output import print_json


def run_views(names: list[str], all: bool, limits: Limits, json: bool, watch: Watcher | None) -> None:
    """Check the named settings; with none named the small ones, or all of them."""
    chosen = [find_setting(name) for name in names]
    chosen = chosen or [setting for setting in ALL if all or setting.size == "small"]
    reports: list[Exploration] = []
    for setting in chosen:
        report = check_views(setting, limits, watch)
        reports.append(report)
        if not json:
            print(text(report), flush=True)
    if json:
        print_json({"settings": [report.record() for report in reports]})
    elif len(reports) > 1:
        states = sum(report.states for report in reports)
        print(f"{len(reports)} settings, {states} states, {summary(reports)}")
    raise typer.Exit(exit_code(reports))


def summary(reports: list[Exploration]) -> str:
    counts = dict.fromkeys(("violated", "incomplete", "holds"), 0)
    for report in reports:
        counts[report.verdict] += 1
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
