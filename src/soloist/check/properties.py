"""The promises, by name, and what is said when one is broken."""

from __future__ import annotations

from collections.abc import Iterable

from soloist.check.counterexample import Walk, under_way, why_waiting
from soloist.check.setting import Setting
from soloist.core import Process, UsageError, unknown

PROPERTIES = {
    "exclusion": "at most K sites are inside at any time",
    "error": "no step raises an error",
    "deadlock": "whenever somebody waits, something is due",
    "capacity": "K sites can be inside together",
    "livelock": "from every state all requests can still be served",
    "starvation": "whoever waits gets in, if no message and no exit is put off for ever",
    "timestamp": "entries come in the order of their requests' timestamps",
    "causal": "a request made in knowledge of another enters after it",
    "fence": "a counter carried by the messages grows from entry to entry",
}
HISTORY = ("timestamp", "causal", "fence")
"""Promises about the past of a run: judged in a pass that remembers it."""


def promised(setting: Setting) -> frozenset[str]:
    """What an algorithm must keep: everything, but of the orders only the one that its card claims. One that serves
    a site only while all the others ask, too, promises nothing to those that ask more often than others."""
    card = setting.card
    names = set(PROPERTIES) - {"timestamp", "causal"}
    if card.fairness in ("timestamp", "causal"):
        names.add(card.fairness)
    if card.fairness == "none":
        names.discard("starvation")
    if card.everybody_asks and len(set(setting.rounds)) > 1:
        names.discard("livelock")
    if setting.size.k > 1:
        names.discard("fence")
    return frozenset(names)


def chosen(names: Iterable[str] | None, setting: Setting) -> frozenset[str]:
    """The properties to judge: those asked for, or all that are promised."""
    if names is None:
        return promised(setting)
    names = frozenset(names)
    for name in sorted(names):
        if name not in PROPERTIES:
            raise unknown("property", name, PROPERTIES)
    if "timestamp" in names and setting.card.process.timestamp is Process.timestamp:
        raise UsageError(f"{setting.card.name} gives its requests no timestamps to be served by")
    if "fence" in names and setting.size.k > 1:
        raise UsageError("a fence grows from holder to holder only where k is 1")
    return names


def forbidden(walk: Walk) -> tuple[str, str]:
    """Which promise the last step of a run has broken, and how, in words."""
    if walk.wrong:
        name, _, words = walk.wrong.partition(": ")
        return name, words if name != "error" else f"{last(walk)}, and its handler fails: {words}"
    k = walk.model.setting.size.k
    if len(walk.inside) > k:
        return "exclusion", f"{last(walk)}, and now {sites(walk.inside)} are inside; at most {k} may be"
    return "deadlock", "nothing is under way and nobody is inside, yet " + "; ".join(why_waiting(walk))


def last(walk: Walk) -> str:
    """The last step in words."""
    if not walk.steps:
        return "at the start"
    step = walk.steps[-1]
    match step.action:
        case "deliver":
            return f"site {step.site} receives {step.message} from site {step.sender}"
        case "acquire":
            return f"site {step.site} asks"
        case "release":
            return f"site {step.site} leaves"
        case "timeout":
            return f"the timer {step.timer} of site {step.site} runs out"
        case other:
            return f"{other} at site {step.site}"


def livelock(walk: Walk) -> str:
    held = under_way(walk)
    return "; ".join(
        [
            "from here the end (everybody served) cannot be reached any more",
            *why_waiting(walk),
            f"under way: {', '.join(held)}" if held else "nothing is under way",
        ]
    )


def starving(walk: Walk, site: int) -> str:
    return "; ".join(
        [
            f"site {site} waits for ever while the cycle is repeated, though every message arrives",
            *why_waiting(walk),
        ]
    )


def sites(numbers: list[int]) -> str:
    return "sites " + " and ".join(map(str, numbers))
