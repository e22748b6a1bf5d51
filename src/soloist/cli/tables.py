"""Tables for a terminal: whatever its width, no name and no figure is cut.

A column whose name starts with `>` holds figures and is set flush right; one that starts with `?` or `>?` may go where there
is no room; `BAR` is a column of bars, the first to go. Words of other columns may be set on several lines. If that is
not enough, the columns are spread over several tables, each with the first ones, which name the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

BAR = "?bar"
BLOCKS = " ▏▎▍▌▋▊▉█"
NARROW = 24
"""Characters: words are set on several lines down to this width; narrower columns are hard to read."""


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, two blanks apart: easy to read in a log and to cut with awk."""
    cells = [[title(column) for column in columns], *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    flush = [str.rjust if column.startswith(">") else str.ljust for column in columns]
    lines = (
        "  ".join(set_(cell, width) for set_, cell, width in zip(flush, row, widths, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def rich_tables(
    heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, keys: int = 1
) -> list[Table]:
    """The table, or several, for a terminal of that width. The first `keys` columns name the row."""
    shown = list(range(len(columns)))
    least = [_least(column, [row[i] for row in rows]) for i, column in enumerate(columns)]
    natural = [_widest([title(c), *(row[i] for row in rows)]) for i, c in enumerate(columns)]
    optional = [i for i in shown if "?" in columns[i][:2] and columns[i] != BAR]
    gone: list[str] = []
    if BAR in columns and _total([natural[i] for i in shown]) > width:
        shown.remove(columns.index(BAR))  # figures before pictures
    while optional and _total([least[i] for i in shown]) > width:
        gone.insert(0, title(columns[optional[-1]]))
        shown.remove(optional.pop())
    tables: list[Table] = []
    for group in _groups(shown, keys, least, width):
        spare = width - _total([least[i] for i in group])
        widths = []
        for i in group:
            words = _least(columns[i], [row[i] for row in rows], narrow=0)
            wider = min(natural[i] - least[i], spare) if spare > 0 else max(words - least[i], spare)
            spare -= wider
            widths.append(least[i] + wider)
        cells = [[row[i] for i in group] for row in rows]
        tables.append(_table(heading if not tables else "", [columns[i] for i in group], cells, widths))
    if gone:
        tables[-1].caption = f"(no room for: {', '.join(gone)})"
    return tables


def bar(value: float, largest: float, width: int = 16) -> str:
    """A horizontal bar, drawn to an eighth of a character."""
    eighths = round(8 * width * value / largest) if largest else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + BLOCKS[rest]).rstrip()


def title(column: str) -> str:
    return "" if column == BAR else column.lstrip(">?")


def _least(column: str, cells: Sequence[str], narrow: int = NARROW) -> int:
    """How narrow a column can be with each of its names and figures in one piece, and easy to read if there is room."""
    words = [word for text in (title(column), *cells) for word in text.split()]
    if column.startswith(">") or column == BAR:
        return _widest([*title(column).split(), *cells])
    return max(_widest(words), min(narrow, _widest(cells)))


def _widest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _total(widths: Sequence[int]) -> int:
    """With what Rich puts around columns: a blank at either end of the table, two between columns, and one after the last."""
    return sum(widths) + 2 * len(widths) + 1


def _groups(shown: Sequence[int], keys: int, least: Sequence[int], width: int) -> list[list[int]]:
    groups = [list(shown[:keys])]
    for i in shown[keys:]:
        if len(groups[-1]) > keys and _total([least[each] for each in (*groups[-1], i)]) > width:
            groups.append(list(shown[:keys]))
        groups[-1].append(i)
    return groups


def _table(
    heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(heading) if heading else None,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        width=_total(
            widths
        ),  # also where the terminal is narrower than a name and a figure: it will wrap the line
    )
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            Text(title(column)),
            justify="right" if column.startswith(">") else "left",
            vertical="top",
            style="green" if column == BAR else None,
            min_width=width,
            max_width=width,
            overflow="fold",
        )
    for row in rows:
        table.add_row(
            *(Text(cell, no_wrap=name.startswith(">")) for name, cell in zip(columns, row, strict=True))
        )
    return table
