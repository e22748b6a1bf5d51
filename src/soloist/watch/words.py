"""A step in words, for the terminal and for readers who point at it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from soloist.watch.trace import Message, Step, Trace, shown

FAULTS = {
    "crash": "crashes",
    "restart": "comes back",
    "pause": "is paused",
    "resume": "goes on",
}
WAITS = re.compile(r"site (\d+) waits with .*?(?=; |\. |$)")
"""As the checker says it: with all variables."""


def sentence(trace: Trace, step: Step, messages: Mapping[int, Message], brief: bool = False) -> str:
    """What happened and what it caused, without the site's name; in brief, without what is in the messages."""
    message = messages.get(step.message) if step.message is not None else None
    body = "" if message is None else message.body.kind if brief else str(message.body)
    match step.what:
        case "begin":
            cause = "begins"
        case "request":
            cause = "asks"
        case "release":
            cause = "leaves"
        case "deliver" if message:
            cause = f"gets {body} from {trace.name(message.sender)}"
        case "timeout":
            cause = f"timer {step.timer} runs out"
        case "lose" if message:
            cause = f"{body} to {trace.name(message.to)} is lost"
        case "duplicate" if message:
            cause = f"{body} to {trace.name(message.to)} will arrive twice"
        case "cut":
            cause = f"links are cut: {step.text}"
        case "heal":
            cause = f"links are whole again: {step.text}"
        case "note":
            cause = step.text or ""
        case other:
            cause = FAULTS.get(other, other)
    return "; ".join([cause, *effects(trace, step, brief)])


def effects(trace: Trace, step: Step, brief: bool = False) -> list[str]:
    """What is sent, by message, and whether the site enters."""
    to: dict[str, list[str]] = {}
    for sent in step.sent:
        to.setdefault(sent.kind if brief else str(sent), []).append(trace.name(sent.to))
    found = [f"{message} to {', '.join(sites)}" for message, sites in to.items()]
    if not step.enter:
        return found
    return ["enters", *found] if brief else [*found, "enters"]  # the entry should not be cut off


def details(trace: Trace, step: Step, messages: Mapping[int, Message]) -> str:
    """All that a step says, over several lines."""
    time = f" at {step.t:g} {trace.head.unit}".rstrip() if step.t is not None else ""
    lines = [f"step {step.n}{time}, site {trace.name(step.site)}: {sentence(trace, step, messages)}"]
    lines += [f"{name} = {shown(value)}" for name, value in step.changed.items()]
    lines += [f"{trace.name(int(site))} {why}" for site, why in step.why.items() if why]
    if step.text and step.what not in ("cut", "heal", "note"):
        lines.append(step.text)
    return "\n".join(lines)


def waiting(trace: Trace) -> dict[int, str]:
    """Who waits for what at the end."""
    why: dict[str, str | None] = {}
    for step in trace.steps:
        why.update(step.why)
    return {
        int(site): reason for site, reason in sorted(why.items(), key=lambda each: int(each[0])) if reason
    }


def plainly(reason: str, why: Mapping[int, str]) -> str:
    """What the checker says, with what those who wait wait for in the place of their variables."""

    def told(match: re.Match[str]) -> str:
        known = why.get(int(match[1]), "waits")
        return f"site {match[1]} {'waits' if known.startswith('waits with') else known}"

    return WAITS.sub(told, reason)


def title(trace: Trace) -> str:
    """What the trace is of, in one line."""
    head = trace.head
    k = f", K={head.k}" if head.k > 1 else ""
    seed = f", seed {head.seed}" if head.seed is not None else ""
    lock = f", lock {head.lock}" if head.lock else ""
    printed = " as printed" + (f" ({head.erratum})" if head.erratum else "") if head.printed else ""
    return f"{head.title or head.algorithm}{printed}, {head.nodes} sites{k}{lock}{seed} ({head.origin})"
