"""The command line. Each command is a module; this one puts them together and reports errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from errno import ENOSPC
from importlib import import_module
from keyword import iskeyword
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from soloist import __version__
from soloist.core import PropertyViolated, SoloistError, UsageError

COMMANDS = {
    "demo": "demo",
    "algorithms": "algorithms",
    "simulate": "simulate",
    "compare": "compare",
    "sweep": "sweep",
    "reproduce": "reproduce",
    "advise": "advise",
    "check": "check",
    "watch": "watch",
    "node": "cluster",
    "run": "cluster",
    "status": "cluster",
    "holders": "cluster",
    "break": "breaking",
    "members": "members",
    "join": "members",
    "leave": "members",
    "init": "members",
    "keys": "cluster",
    "bench": "bench",
}
"""Each command, and the module that it is a function of."""
MAY_STAND_ALONE = {"--example": "list"}
"""Options of `watch` whose value may be left out, and what is meant then."""
FULL = "cannot write the output: no space is left on the device"


def app(arguments: Sequence[str]) -> typer.Typer:
    """A program with the command that is asked for, and no other: to load all of them takes longer than most of
    them do. Help, and what is no command, need all."""
    made = typer.Typer(
        name="soloist",
        cls=Program,
        help="Distributed mutual exclusion: run, compare, prove, watch and hold.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,  # a bug should look like one: a plain traceback
    )
    made.callback()(options)
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        word = f"{name}_" if iskeyword(name) else name
        command = getattr(import_module(f"soloist.cli.{COMMANDS[name]}"), word)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(command)
    return made


class Interrupted(SoloistError):
    """Ctrl-C. Typer would take a KeyboardInterrupt for itself, and end without a word."""


class Program(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(f"interrupted: {stop}" if str(stop) else "interrupted") from None


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"soloist {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show it."),
) -> None: ...


def main(arguments: list[str] | None = None) -> int:
    """Run a command line. Whatever is wrong is said in one line: 2 for bad usage, 1 for a broken promise."""
    given = completed(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(app(given)(given, prog_name="soloist", standalone_mode=False) or 0)
    except TyperException as error:
        return complain(error.format_message(), 2)
    except UsageError as error:
        return complain(str(error), 2)
    except PropertyViolated as error:
        return complain(f"{error.property} violated: {error}", 1)
    except Interrupted as stop:
        return complain(str(stop), 130)
    except SoloistError as error:
        return complain(str(error), 1)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; there is nobody to tell
        return 0
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        return complain(FULL, 2)
    except KeyboardInterrupt:  # while a command was being loaded
        return complain("interrupted", 130)


def completed(arguments: list[str]) -> list[str]:
    """With the values that were left out."""
    if arguments[:1] != ["watch"]:
        return arguments
    found = []
    for word, after in zip(arguments, [*arguments[1:], "--"], strict=True):
        alone = word in MAY_STAND_ALONE and after.startswith("-")
        found += [word, MAY_STAND_ALONE[word]] if alone else [word]
    return found


def complain(message: str, code: int) -> int:
    print(f"soloist: {' '.join(message.split())}", file=sys.stderr)
    return code


def entry_point() -> None:
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()  # whoever read it has gone
    except OSError as error:
        drop_output()
        if not code:  # otherwise it has been said
            code = complain(
                FULL if error.errno == ENOSPC else f"cannot write the output: {error.strerror}", 2
            )
    sys.exit(code)


def drop_output() -> None:
    """Python would flush once more at the end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
