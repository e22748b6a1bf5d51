"""The command line. Each command is a module; this one puts them together and reports errors."""

from __future__ import annotations

import os
import sys

import typer
from typer.exceptions import TyperException

from soloist import __version__
from soloist.cli.advise import advise
from soloist.cli.algorithms import algorithms
from soloist.cli.bench import bench
from soloist.cli.check import check
from soloist.cli.cluster import holders, keys, node, run, status
from soloist.cli.compare import compare
from soloist.cli.demo import demo
from soloist.cli.reproduce import reproduce
from soloist.cli.simulate import simulate
from soloist.cli.sweep import sweep
from soloist.core import PropertyViolated, UsageError

app = typer.Typer(
    name="soloist",
    help="Distributed mutual exclusion: run, compare, prove and hold.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a bug should look like one: a plain traceback
)
for command in (
    demo,
    algorithms,
    simulate,
    compare,
    sweep,
    reproduce,
    advise,
    check,
    node,
    run,
    status,
    holders,
    keys,
):
    app.command()(command)
app.add_typer(bench, name="bench")


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"soloist {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show it."),
) -> None: ...


def main(arguments: list[str] | None = None) -> int:
    """Run a command line. Whatever is wrong is said in one line: 2 for bad usage, 1 for a broken promise."""
    try:
        return int(app(arguments, prog_name="soloist", standalone_mode=False) or 0)
    except TyperException as error:
        return complain(error.format_message(), 2)
    except UsageError as error:
        return complain(str(error), 2)
    except PropertyViolated as error:
        return complain(f"{error.property} violated: {error}", 1)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; there is nobody to tell
        return 0
    except KeyboardInterrupt:
        return complain("interrupted", 130)


def complain(message: str, code: int) -> int:
    print(f"soloist: {' '.join(message.split())}", file=sys.stderr)
    return code


def entry_point() -> None:
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone. Python would flush once more at the end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
