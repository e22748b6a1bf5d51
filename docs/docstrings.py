"""Our docstrings are Markdown of the plainest kind; autodoc wants reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

CODE = re.compile(r"(``.+?``|`[^`]+`|\*\*[^*]+\*\*)")
"""What is marked up alike in both: code, and what is bold."""
MEANT_LITERALLY = re.compile(r"([\\*|`]|(?<=\w)_(?!\w))")
"""What would be markup in reStructuredText, and is none in our docstrings."""
ITEM = re.compile(r"(?:[-*] |\d+\. )")


def in_rst(lines: Iterable[str]) -> list[str]:
    return list(_lines(lines))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    """Blocks that are indented, after an empty line, are literal; lists stand apart; all else is text."""
    before, literal, in_list = "", False, False
    for line in lines:
        indented = line.startswith("    ")
        if literal and (indented or not line.strip()):
            yield line
            before = line
            continue
        literal = False
        if indented and not before.strip() and not in_list:
            literal = True
            yield "::"
            yield ""
            yield line
        else:
            starts = bool(ITEM.match(line))
            if starts and before.strip() and not in_list:
                yield ""
            if line.strip() and not line.startswith(" "):
                in_list = starts
            yield _text(line)
        before = line


def _text(line: str) -> str:
    return "".join(
        part if CODE.fullmatch(part) else MEANT_LITERALLY.sub(r"\\\1", part) for part in CODE.split(line)
    )
