"""Files that people write, in TOML: msgspec says what is wrong, and this says where, and in plain words."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from soloist.core.errors import UsageError, unknown

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""A place in a file: `("vary", "rate")`, or `("algorithms", 1, "name")` with places in lists."""

KINDS = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number such as 0.5",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
}


class Document:
    """A file's text and what is in it."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}{_place_first(str(error))}") from None
        except RecursionError:
            raise UsageError(f"{path}: it is nested too deeply") from None

    @classmethod
    def read(cls, path: Path) -> Document:
        try:
            return cls(path.read_text(encoding="utf-8"), path)
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path} is not text in UTF-8") from None

    def convert(self, value: Any, kind: type[T], keys: Keys = ()) -> T:
        """What stands at that place, in the form that is used, or a complaint.

        Tables inside it are for later calls: msgspec does not say which of a table's keys an error is about.
        """
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at ")
            found = [int(index) if index else key for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", place)]
            if name := re.fullmatch(r"Object contains unknown field `(.*)`", message):
                struct: Any = kind
                known = [field.encode_name for field in msgspec.structs.fields(struct)]
                self.fail((*keys, name[1]), str(unknown("key", name[1], known)))
            wrong = functools.reduce(lambda inside, key: inside[key], found, value)
            self.fail((*keys, *found), in_plain_words(message, wrong))

    def where(self, keys: Keys) -> str:
        """File and line of a key, or of the part of it that is in the file: a list on one line has no keys inside."""
        parts = (keys[:length] for length in range(len(keys), 0, -1))
        line = next((line for part in parts if (line := line_of(self.text, part))), None)
        return f"{self.path}:{line}" if line else str(self.path)

    def fail(self, keys: Keys, problem: str) -> NoReturn:
        raise UsageError(f"{self.where(keys)}: {'.'.join(map(str, keys))}: {problem}") from None


def in_plain_words(message: str, value: Any) -> str:
    """What msgspec says, as people who write files would."""
    if missing := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"has no {missing[1]}"
    if message == "Expected `str` of length >= 1":
        return "is empty"
    if wrong := re.fullmatch(r"Expected `([^`]+)`(?:, got `(\w+)`| >= (\S+))", message):
        expected, got, least = wrong.groups()
        if least:
            return f"should be at least {least}, not {value!r}"
        kinds = " or ".join(KINDS.get(kind, kind) for kind in expected.split(" | ") if kind != "null")
        return f"should be {kinds}, not {KINDS.get(got, 'a date or time')}"
    return message


def _place_first(message: str) -> str:
    """Say where first, as compilers do."""
    if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL):
        what, line, column = found.groups()
        return f":{line}:{column}: this is no TOML: {what[:1].lower()}{what[1:]}"
    return f": this is no TOML: {message[:1].lower()}{message[1:]}"


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
