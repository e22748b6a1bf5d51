"""EDN, as far as histories of Jepsen and Maelstrom use it: keywords are text, and a tag is left out."""

from __future__ import annotations

import re
from typing import Any

TOKEN = re.compile(
    r"""[\s,]*(?:(?P<open>\#?\{|[\[(])|(?P<close>[\])}])|(?P<tag>\#[A-Za-z][\w.:/-]*)"""
    r"""|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<atom>[^\s,\[\](){}"]+))""",
    re.DOTALL,
)
CLOSING = {"{": "}", "#{": "}", "[": "]", "(": ")"}
CONSTANTS = {"nil": None, "true": True, "false": False}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DEEPEST = 50
"""Levels of nesting: no history has as many."""


def read(line: str) -> Any:
    """The one value on a line; `ValueError` says why there is none."""
    value, rest = _value(line, 0, 0)
    if line[rest:].strip(" \t\r\n,"):
        raise ValueError("there is more after the first value")
    return value


def _token(line: str, at: int) -> re.Match[str]:
    if (token := TOKEN.match(line, at)) is None:
        raise ValueError("it ends too early")
    return token


def _value(line: str, at: int, depth: int) -> tuple[Any, int]:
    token = _token(line, at)
    if depth > DEEPEST:
        raise ValueError("it is nested too deeply")
    if token["tag"]:
        return _value(line, token.end(), depth)
    if opened := token["open"]:
        items, end = _items(line, token.end(), CLOSING[opened], depth + 1)
        return (_mapping(items) if opened == "{" else items), end
    if token["close"]:
        raise ValueError(f"{token['close']} closes nothing")
    if token["text"] is not None:
        return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), token["text"]), token.end()
    return _atom(token["atom"]), token.end()


def _items(line: str, at: int, closing: str, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while (token := _token(line, at))["close"] != closing:
        value, at = _value(line, at, depth)
        items.append(value)
    return items, token.end()


def _mapping(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2:
        raise ValueError("a map has a key without a value")
    keys = items[::2]
    if any(isinstance(key, list | dict) for key in keys):
        raise ValueError("a map has a key that is no word")
    return dict(zip(keys, items[1::2], strict=True))


def _atom(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    if word.startswith(":"):
        return word[1:]
    try:
        return int(word.rstrip("N"))
    except ValueError:
        pass
    try:
        return float(word.rstrip("M"))
    except ValueError:
        return word
