"""`soloist doctor`: what is installed and what is missing for what; and whether a node can run here."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

import typer

from soloist.cli.arguments import Json
from soloist.cli.cluster import DEFAULT_CONFIGS, ConfigFile, NodeName
from soloist.cli.output import print_json
from soloist.core import UsageError
from soloist.doctor import Finding, examine, exit_code, summary

MARKS = {"ok": "ok", "absent": "-", "warning": "WARNING", "problem": "PROBLEM"}
WIDTH = 80


def doctor(config: ConfigFile = None, name: NodeName = None, json: Json = False) -> None:
    """Say what is installed, what is missing for what, and whether nodes can run here.

    Looks at packages and programs, at clocks, file limits, the loopback network and pidfds, and, where there is a
    cluster's file, at the ports, keys, disks and neighbours of its nodes. It starts nothing and changes nothing.
    The exit code is 1 if something cannot work (PROBLEM), and 0 otherwise: what is marked - is missing only for
    what is said there.

    Examples:

        soloist doctor

        soloist doctor --config cluster.toml --name a

        soloist doctor --json
    """
    if config and not config.exists():
        raise UsageError(f"cannot read {config}: there is no such file")
    path = config or next((each for each in DEFAULT_CONFIGS if each.exists()), None)
    found = examine(path, name)
    if json:
        print_json({"verdict": summary(found), "findings": found})
    else:
        print("\n".join(told(found, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))))
    raise typer.Exit(exit_code(found))


def told(findings: Sequence[Finding], width: int = WIDTH) -> Iterator[str]:
    """Topic by topic; what to do stands below what is wrong, in one line, so that it can be copied."""
    for topic in dict.fromkeys(each.topic for each in findings):
        yield f"{topic.title()}"
        for each in [one for one in findings if one.topic == topic]:
            head = f"  {MARKS[each.state]:<8}{each.name}: "
            yield from textwrap.wrap(
                head + each.said,
                max(width, 40),
                subsequent_indent=" " * 10,
                break_long_words=False,
                break_on_hyphens=False,
            )
            if each.remedy:
                yield f"{' ' * 12}{each.remedy}"
        yield ""
    yield summary(findings)
