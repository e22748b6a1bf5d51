"""The commands as one program: each is loaded when it is called, and of all others only what they are for is known."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from soloist import __version__
from soloist.cli import COMMANDS, load
from soloist.cli.help import Command, Commands, Group, write_commands

ABOUT = """Distributed locks without a lock server, and a laboratory for the algorithms behind them.

Examples:

    soloist demo

    soloist check naimi-trehel --nodes 3 --rounds 2

    soloist simulate --help
"""


class Interrupted(BaseException):
    """Ctrl-C. The parser would take a KeyboardInterrupt for itself, and end without a word."""


class Program(Group):
    _names_only = False
    """Whether somebody asks for names and what they mean: then no command is loaded."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except Interrupted as stop:
            raise KeyboardInterrupt(*stop.args) from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(*stop.args) from None

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return _named(cmd_name) if self._names_only else _loaded(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        write_commands(formatter, {name: summary for name, (_, summary) in COMMANDS.items()})

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self._names_only = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._names_only = False


def program() -> TyperGroup:
    """All of it, as something that can be called with the words of a command line."""
    made = Commands(name="soloist", cls=Program, help=ABOUT, add_completion=True)
    made.callback()(options)
    found = get_command(made)
    assert isinstance(found, Program)
    return found


def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=lambda wanted: show_version(wanted),
        is_eager=True,
        help="Show the version and exit.",
    ),
) -> None: ...


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"soloist {__version__}")
        raise typer.Exit


def _named(name: str) -> Command:
    return Command(name, help=COMMANDS[name][1], short_help=COMMANDS[name][1])


def _loaded(name: str) -> Any:
    group = load(name)
    if not isinstance(group, typer.Typer):
        function, group = group, Commands()
        group.command(name)(function)
    found = get_command(group)
    found.name = name
    return found
