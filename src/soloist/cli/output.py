"""What commands print: tables and progress bars on a terminal, plain text in a pipe, JSON if asked."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from soloist.core import UsageError

BAR = ""
BLOCKS = " ▏▎▍▌▋▊▉█"

_picture: Console | None = None
"""Where tables go while a picture of them is being made."""


def print_json(value: Any) -> None:
    """One JSON document on standard output, indented for people."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table. A column whose name starts with `>` is set flush right; `BAR` is a column of bars."""
    if _picture:
        _picture.print(rich_table(title, columns, rows, _picture.width))
    if sys.stdout.isatty():
        console = Console()
        console.print(rich_table(title, columns, rows, console.width))
    else:
        print(title)
        print(plain_table(columns, rows))


def rich_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    if BAR in columns and len(plain_table(columns, rows).split("\n", 1)[0]) + len(columns) > width:
        place = columns.index(BAR)  # figures before pictures
        columns, rows = _drop(columns, place), [_drop(row, place) for row in rows]
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        style = "green" if column == BAR else None
        table.add_column(column.lstrip(">"), justify=justify, style=style, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _drop(row: Sequence[str], index: int) -> list[str]:
    return [cell for place, cell in enumerate(row) if place != index]


@contextmanager
def picture(path: Path | None, title: str) -> Iterator[None]:
    """Draw the tables that are printed meanwhile as an SVG file, as a terminal would show them."""
    global _picture
    if path is None:
        yield
        return
    _picture = Console(record=True, width=110, file=StringIO(), force_terminal=True)
    try:
        yield
        # Rich's template names web fonts; a picture should load nothing from elsewhere.
        template = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        path.write_text(_picture.export_svg(title=title, code_format=template, unique_id="soloist"))
    except OSError as error:
        raise UsageError(f"cannot write the picture to {path}: {error.strerror}") from None
    finally:
        _picture = None


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, two blanks apart: easy to read in a log and to cut with awk."""
    cells = [[column.lstrip(">") for column in columns], *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    flush = [str.rjust if column.startswith(">") else str.ljust for column in columns]
    lines = (
        "  ".join(set_(cell, width) for set_, cell, width in zip(flush, row, widths, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def bar(value: float, largest: float, width: int = 16) -> str:
    """A horizontal bar, drawn to an eighth of a character."""
    eighths = round(8 * width * value / largest) if largest else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + BLOCKS[rest]).rstrip()


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: as many decimals as matter."""
    if value is None:
        return "-"
    if value == round(value) and abs(value) < 1e9:
        return str(round(value))
    return (
        f"{value:.{digits}g}" if abs(value) < 10**-digits else f"{value:.{digits}f}".rstrip("0").rstrip(".")
    )


@contextmanager
def progress_bar(label: str, json: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, if that is a terminal: call the result with (done, total)."""
    if json or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with _progress() as display:
        task = display.add_task(label, total=None)
        yield lambda done, total: display.update(task, completed=done, total=total)


@contextmanager
def progress_bars(json: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """The same for work of several parts, a bar each: call the result with (part, done, total)."""
    if json or not sys.stderr.isatty():
        yield lambda part, done, total: None
        return
    with _progress() as display:
        tasks: dict[str, TaskID] = {}

        def report(part: str, done: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = display.add_task(part, total=total)
            display.update(tasks[part], completed=done, total=total)

        yield report


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
