"""What the parser complains of, in our words: what is wrong, with which value, and what would be right."""

from __future__ import annotations

import re
from typing import Any

UNREADABLE = re.compile(r"path ('.*') is not readable", re.IGNORECASE)
EXTRA = re.compile(r"unexpected extra arguments? ?(?:\(s\))? ?\((.*)\)", re.IGNORECASE)


def in_words(error: Any) -> str:
    """One sentence. What is not known here is said as the parser says it."""
    said: str = error.format_message()
    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    helped = f"`{context.command_path} --help` has examples" if context else "--help has examples"
    if type(error).__name__ == "MissingParameter" and parameter is not None:
        meaning = re.split(r"\. |\.$|;", parameter.help or "")[0]
        meaning = f": {meaning[:1].lower()}{meaning[1:]}" if meaning else ""
        return f"{_name(parameter)} is missing{meaning}; {helped}"
    if type(error).__name__ == "NoSuchOption":
        return _no_such_option(error.option_name, context)
    if type(error).__name__ == "BadOptionUsage" and "requires" in said:
        return f"{error.option_name} needs a value"
    if parameter is not None and (wanted := _wanted(error.message)):
        return f"{_name(parameter)} should be {wanted}, not {_given(error)}"
    if found := UNREADABLE.search(said):
        return f"cannot read {found[1][1:-1]}: permission denied"
    if found := EXTRA.search(said):
        return f"one word too many: {found[1]}; {helped}"
    return said


def _no_such_option(name: str, context: Any) -> str:
    """With the nearest that there are."""
    from difflib import get_close_matches

    parameters = context.command.get_params(context) if context else []
    known = {each.lstrip("-"): each for one in parameters for each in one.opts if each.startswith("--")}
    near = [known[each] for each in get_close_matches(name.lstrip("-"), known)]
    if near:
        return f"unknown option {name}; did you mean {' or '.join(near)}?"
    return f"unknown option {name}" + (f"; `{context.command_path} --help` lists all" if context else "")


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
