"""Sequence diagrams for other programs: Mermaid and PlantUML. A message is drawn where it arrives.

A site that is inside has a bar. Where a site enters or leaves without a message, it sends one to itself: PlantUML begins and ends bars at
messages only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from soloist.watch.lanes import Stretch, stretches
from soloist.watch.trace import Message, Step, Trace
from soloist.watch.words import sentence, title

MERMAID_MOST = 50_000
"""Characters that Mermaid draws; who embeds it may allow more (maxTextSize)."""
NOTED = ("crash", "restart", "pause", "resume", "cut", "heal", "note", "timeout", "duplicate")
PLANTUML_SIGNS = r'["<~%\\]|([*/_\[\]-])(?=\1)'
"""Those of the second part only where they are doubled."""


class Line(msgspec.Struct, frozen=True):
    """What both have, each with its own signs."""

    what: Literal["message", "lost", "note", "activate", "deactivate"]
    site: int
    to: int = 0
    text: str = ""


def mermaid(trace: Trace) -> str:
    lines = ["sequenceDiagram", f"  %% {_mermaid_text(title(trace))}"]
    lines += [
        f"  participant s{site} as {_mermaid_text(trace.name(site))}" for site in range(trace.head.nodes)
    ]
    lines += [f"  {_mermaid(line)}" for line in _lines(trace)]
    # A bar without an end is not drawn.
    lines += [f"  deactivate s{each.site}" for each in _bars(trace) if each.open]
    return "\n".join(lines) + "\n"


def _mermaid(line: Line) -> str:
    text = _mermaid_text(line.text)
    match line.what:
        case "message" | "lost":
            arrow = "-x" if line.what == "lost" else "->>"
            return f"s{line.site}{arrow}s{line.to}: {text}"
        case "note":
            return f"Note over s{line.site}: {text}"
        case bar:
            return f"{bar} s{line.site}"


def plantuml(trace: Trace) -> str:
    lines = ["@startuml", f"title {_plantuml_text(title(trace))}"]
    lines += [
        f'participant "{_plantuml_text(trace.name(site))}" as s{site}' for site in range(trace.head.nodes)
    ]
    return "\n".join([*lines, *map(_plantuml, _lines(trace)), "@enduml"]) + "\n"


def _plantuml(line: Line) -> str:
    text = _plantuml_text(line.text)
    match line.what:
        case "message" | "lost":
            arrow = "->x" if line.what == "lost" else "->"
            return f"s{line.site} {arrow} s{line.to} : {text}"
        case "note":
            return f"hnote over s{line.site} : {text}"
        case bar:
            return f"{bar} s{line.site}"


def _bars(trace: Trace) -> list[Stretch]:
    return [each for each in stretches(trace) if each.doing == "inside"]


def _lines(trace: Trace) -> Iterator[Line]:
    bars, messages = _bars(trace), trace.messages()
    ends = {each.last for each in bars if not each.open}
    begins = {each.first for each in bars}
    changes = ends | begins
    for step in trace.steps:
        if line := _drawn(trace, step, messages, step.n in changes):
            yield line
        if step.n in ends:
            yield Line("deactivate", step.site)
        if step.n in begins:
            yield Line("activate", step.site)


def _drawn(trace: Trace, step: Step, messages: dict[int, Message], changes: bool) -> Line | None:
    if step.what in ("deliver", "lose") and step.message is not None:
        message = messages[step.message]
        what: Literal["lost", "message"] = "lost" if step.what == "lose" else "message"
        return Line(what, message.sender, message.to, str(message.body))
    if changes:
        return Line("message", step.site, step.site, sentence(trace, step, messages, brief=True))
    if step.what == "request":
        return Line("note", step.site, text="asks")
    if step.what in NOTED:
        return Line("note", step.site, text=sentence(trace, step, messages))
    return None


def _mermaid_text(text: str) -> str:
    """On one line, and as entities the signs that end a label there, or begin a tag, a formula or a comment."""
    return re.sub(r"[#;<$%]", lambda sign: f"#{ord(sign[0])};", " ".join(text.split()))


def _plantuml_text(text: str) -> str:
    """On one line, and as code points the signs that would make a link, bold, a function or a new line of it."""
    return re.sub(PLANTUML_SIGNS, lambda sign: f"<U+{ord(sign[0]):04X}>", " ".join(text.split()))
