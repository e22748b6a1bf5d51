"""Where in a TOML file something stands, so that a complaint can name the line."""

from __future__ import annotations

import tomllib
from typing import Any

Keys = tuple[str | int, ...]
"""A place in a file: `("vary", "rate")`, or `("algorithms", 1, "name")` with places in lists."""


def line_of(text: str, keys: Keys) -> int | None:
    """The line where a key is set: the start of the first statement with which the file has it."""
    lines = text.splitlines(keepends=True)
    start = 1
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a statement
        if has(data, keys):
            return start
        start = end + 1
    return None


def has(data: Any, keys: Keys) -> bool:
    """Whether there is anything at that place."""
    for key in keys:
        keys_here = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if key not in keys_here:
            return False
        data = data[key]
    return True
