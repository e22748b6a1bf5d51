"""What commands print: tables and progress bars on a terminal, plain text in a pipe, JSON if asked."""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.cli.tables import plain_table, rich_tables
from soloist.core import UsageError

if TYPE_CHECKING:  # loaded where a terminal wants it: it takes longer than many a command
    from rich.console import Console
    from rich.progress import Progress, TaskID

_picture: Console | None = None
"""Where tables go while a picture of them is being made."""


def print_json(value: Any) -> None:
    """One JSON document on standard output, indented for people."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], keys: int = 1) -> None:
    """A table: in full in a pipe, fitted to a terminal. `tables` says what the names of columns mean."""
    if _picture:
        _show(_picture, title, columns, rows, keys)
    if sys.stdout.isatty():
        from rich.console import Console

        _show(Console(highlight=False), title, columns, rows, keys)
    else:
        print(title)
        print(plain_table(columns, rows))


def _show(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], keys: int
) -> None:
    for table in rich_tables(title, columns, rows, console.width, keys):
        console.print(table, crop=False)


def print_text(text: str, first: str = "", other: str = "") -> None:
    """Prose: broken between words on a terminal, one line in a pipe. What follows `first` is indented by `other`."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(
            text,
            max(width, 20),
            initial_indent=first,
            subsequent_indent=other,
            break_long_words=False,
            break_on_hyphens=False,
        )
        print(text)
    else:
        print(first + text)


def print_facts(text: str) -> None:
    """Lines such as a name and what is to be said of it: on a terminal too narrow for them, broken between words."""
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns, 40)
        text = "\n".join(_broken(line, width) for line in text.split("\n"))
    print(text)


def _broken(line: str, width: int) -> str:
    """What goes on in the next line stands below what was said, not below its name."""
    if len(line) <= width:
        return line
    named = re.match(r"\s*\S.*?\s{2,}", line)
    place = named.end() if named and named.end() <= width // 2 else len(line) - len(line.lstrip())
    return textwrap.fill(
        line, width, subsequent_indent=" " * place, break_long_words=False, break_on_hyphens=False
    )


STANDARD_OUTPUT = (Path("-"), Path("/dev/stdout"))
"""To open the second one anew would cut off what a redirected file holds already."""


def write_text(path: Path, text: str, what: str) -> None:
    """Into a file, or to standard output for `-`."""
    if path in STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the {what} to {path}: {error.strerror}") from None


@contextmanager
def picture(path: Path | None, title: str) -> Iterator[None]:
    """Draw the tables that are printed meanwhile as an SVG file, as a terminal would show them."""
    global _picture
    if path is None:
        yield
        return
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    _picture = Console(record=True, width=110, file=StringIO(), force_terminal=True)
    try:
        yield
        # Rich's template names web fonts; a picture should load nothing from elsewhere.
        template = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        path.write_text(_picture.export_svg(title=title, code_format=template, unique_id="soloist"), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the picture to {path}: {error.strerror}") from None
    finally:
        _picture = None


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: as many decimals as matter."""
    if value is None:
        return "-"
    if math.isinf(value):
        return "∞"
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
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
