"""What the parser complains of, in our words: what is wrong, with which value, and what would be right."""

from __future__ import annotations

import re
from typing import Any

EXTRA = re.compile(r"unexpected extra arguments? ?(?:\(s\))? ?\((.*)\)", re.IGNORECASE)


def in_words(error: Any) -> str:
    """One sentence. What is not known here is said as the parser says it."""
    said: str = error.format_message()
    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    helped = f"`{context.command_path} --help` has examples" if context else "--help has examples"
    if type(error).__name__ == "MissingParameter" and parameter is not None:
        meaning = re.split(r"\. |\.$|;", parameter.help or "")[0]
        return f"{_name(parameter)} is missing{f': {meaning}' if meaning else ''}; {helped}"
    if parameter is not None and (wanted := _wanted(error.message)):
        return f"{_name(parameter)} should be {wanted}, not {_given(error)}"
    if found := EXTRA.search(said):
        return f"one word too many: {found[1]}; {helped}"
    return said


def _name(parameter: Any) -> str:
    """As its help has it."""
    if parameter.param_type_name == "option":
        return str(next((name for name in parameter.opts if name.startswith("--")), parameter.opts[0]))
    return (parameter.metavar or parameter.name.upper()).removesuffix("...").strip("[]")  # type: ignore[no-any-return]


def _wanted(message: str) -> str:
    """Of the messages of a conversion that failed; there are two kinds, by what else is installed."""
    if "valid" not in message:
        return ""
    if "integer" in message:
        return "a whole number"
    return "a number" if "number" in message or "float" in message else ""


def _given(error: Any) -> str:
    cause = error.__cause__ or error.__context__
    if hasattr(cause, "errors"):
        return repr(cause.errors()[0].get("input"))
    quoted = re.match(r"('.*?'|\".*?\")", error.message)
    return quoted[1] if quoted else "what was given"
