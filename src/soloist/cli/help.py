"""What `--help` prints: plain text, which needs no library of its own, with sentences in full and examples that can be copied.

Examples are the indented lines of a docstring. They are set as they are; one that is too long is continued as a shell
allows it, by a backslash.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

VALUES = {"int": "N", "float": "X", "str": "TEXT", "bool": "", "Path": "FILE"}
"""What stands for the value of an option that names none itself, by its type."""
TYPE = re.compile(r" <(?:list\[)?(\w+)\]?>$")


class Command(TyperCommand):
    """A command whose help says no more than users need."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_usage(each) for each in self.params if each.param_type_name == "argument")]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        write_text(formatter, self.help or "")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_parameters(self, ctx, formatter)


class Group(TyperGroup):
    """Commands below a command."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        write_text(formatter, self.help or "")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        write_parameters(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        write_commands(formatter, {name: _first(each.help or "") for name, each in found.items() if each})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # help, and no complaint
            print(ctx.get_help())
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.list_commands(ctx) and not ctx.resilient_parsing:
            from soloist.core import unknown  # not before somebody erred: a list of commands needs no core

            raise unknown("command", args[0], [*self.list_commands(ctx), *([] if ctx.parent else ["help"])])
        return super().resolve_command(ctx, args)


class Commands(typer.Typer):
    """A Typer application whose groups and commands are those above."""

    def __init__(self, **options: Any) -> None:
        chosen = {"cls": Group, "add_completion": False, "no_args_is_help": True, "rich_markup_mode": None}
        # Without pretty exceptions: a bug should look like one, a plain traceback.
        super().__init__(**{**chosen, "pretty_exceptions_enable": False, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": Command, **options})


def write_commands(formatter: Any, summaries: Mapping[str, str]) -> None:
    with formatter.section("Commands"):
        formatter.write_dl(list(summaries.items()))


def write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for each in command.get_params(ctx):
        if record := each.get_help_record(ctx):
            left, text = record
            if each.param_type_name == "argument":
                left, text = _name(each), text.replace("  [required]", "").replace("[required]", "")
            sections[each.param_type_name].append((TYPE.sub(_value, left), text))
    for kind, rows in sections.items():
        if rows:
            with formatter.section(f"{kind.title()}s"):
                formatter.write_dl(rows)


def write_text(formatter: Any, text: str) -> None:
    """Paragraphs are broken between words; indented lines stay as they are, and together."""
    verbatim = False
    with formatter.indentation():
        for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
            if not (verbatim and block.startswith(" ")):
                formatter.write_paragraph()
            verbatim = block.startswith(" ")
            if verbatim:
                margin = " " * formatter.current_indent
                for line in broken(block.splitlines(), formatter.width - len(margin)):
                    formatter.write(f"{margin}{line}\n")
            else:
                formatter.write_text(" ".join(block.split()))


def broken(lines: Iterable[str], width: int) -> Iterable[str]:
    """Lines that fit: the rest of a long one goes on in the next, as in a shell."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while len(line) > width and (space := line.rfind(" ", len(indent), width - 1)) > 0:
            yield f"{line[:space]} \\"
            line = indent + line[space + 1 :]
        yield line


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _value(found: re.Match[str]) -> str:
    shown = VALUES.get(found[1], found[1].upper())
    return f" {shown}" if shown else ""


def _name(argument: Any) -> str:
    """As a manual page writes it: in capitals, with dots where there may be several."""
    shown = (argument.metavar or argument.name.upper()).removesuffix("...").strip("[]")
    return f"{shown}..." if argument.nargs != 1 else shown


def _usage(argument: Any) -> str:
    return _name(argument) if argument.required else f"[{_name(argument)}]"
