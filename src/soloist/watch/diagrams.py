"""Sequence diagrams for other programs: Mermaid and PlantUML. A message is drawn where it arrives."""

from __future__ import annotations

from collections.abc import Iterator

from soloist.watch.trace import Message, Step, Trace
from soloist.watch.words import sentence, title

NOTED = ("crash", "restart", "pause", "resume", "cut", "heal", "note", "timeout", "duplicate")


def mermaid(trace: Trace) -> str:
    return "\n".join(_mermaid(trace)) + "\n"


def _mermaid(trace: Trace) -> Iterator[str]:
    messages = trace.messages()
    yield "sequenceDiagram"
    yield f"  %% {title(trace)}"
    for site in range(trace.head.nodes):
        yield f"  participant s{site} as {_safe(trace.name(site))}"
    for step in trace.steps:
        if message := _drawn(step, messages):
            arrow = "-x" if step.what == "lose" else "->>"
            yield f"  s{message.sender}{arrow}s{message.to}: {_safe(str(message.body))}"
        elif step.what in NOTED:
            yield f"  Note over s{step.site}: {_safe(sentence(trace, step, messages))}"
        elif step.what == "request":
            yield f"  Note over s{step.site}: asks"
        if step.exit:
            yield f"  deactivate s{step.site}"
        if step.enter:
            yield f"  activate s{step.site}"


def plantuml(trace: Trace) -> str:
    return "\n".join(_plantuml(trace)) + "\n"


def _plantuml(trace: Trace) -> Iterator[str]:
    messages = trace.messages()
    yield "@startuml"
    yield f"title {_safe(title(trace))}"
    for site in range(trace.head.nodes):
        yield f'participant "{_safe(trace.name(site))}" as s{site}'
    for step in trace.steps:
        if message := _drawn(step, messages):
            arrow = "->x" if step.what == "lose" else "->"
            yield f"s{message.sender} {arrow} s{message.to} : {_safe(str(message.body))}"
        elif step.what in NOTED:
            yield f"hnote over s{step.site} : {_safe(sentence(trace, step, messages))}"
        elif step.what == "request":
            yield f"hnote over s{step.site} : asks"
        if step.exit:
            yield f"deactivate s{step.site}"
        if step.enter:
            yield f"activate s{step.site}"
    yield "@enduml"


def _drawn(step: Step, messages: dict[int, Message]) -> Message | None:
    if step.what in ("deliver", "lose") and step.message is not None:
        return messages[step.message]
    return None


def _safe(words: str) -> str:
    """Without the signs that end a label there."""
    return " ".join(words.replace(";", ",").replace("#", "no. ").replace('"', "'").split())
