"""The promises, each in a file of its own: what it says, how it is judged, what is told when it is broken."""

from __future__ import annotations

from collections.abc import Iterable

from soloist.check.counterexample import Walk
from soloist.check.properties._property import Property
from soloist.check.properties.capacity import Capacity
from soloist.check.properties.causal import Causal
from soloist.check.properties.deadlock import Deadlock
from soloist.check.properties.error import Error
from soloist.check.properties.exclusion import Exclusion
from soloist.check.properties.fence import Fence
from soloist.check.properties.livelock import Livelock
from soloist.check.properties.starvation import Starvation
from soloist.check.properties.timestamp import Timestamp
from soloist.check.setting import Setting
from soloist.core import UsageError, several, unknown

PROPERTIES: dict[str, Property] = {
    each.name: each
    for each in (
        Exclusion(),
        Error(),
        Deadlock(),
        Capacity(),
        Livelock(),
        Starvation(),
        Timestamp(),
        Causal(),
        Fence(),
    )
}
"""In the order in which they are judged and reported."""


def promised(setting: Setting) -> frozenset[str]:
    """What an algorithm must keep: everything, but of the orders only the one that its card claims."""
    return frozenset(name for name, each in PROPERTIES.items() if each.is_promised(setting))


def chosen(names: Iterable[str] | None, setting: Setting) -> frozenset[str]:
    """The properties to judge: those asked for, or all that are promised."""
    if names is None:
        return promised(setting)
    names = several("properties", names)
    for name in sorted(names, key=str):
        if name not in PROPERTIES:
            raise unknown("property", name, PROPERTIES)
    for each in among(names):
        if refusal := each.refusal(setting):
            raise UsageError(refusal)
    return names


def among(names: Iterable[str]) -> list[Property]:
    """Those of these names, in order."""
    wanted = frozenset(names)
    return [each for name, each in PROPERTIES.items() if name in wanted]


def forbidden(walk: Walk) -> tuple[str, str]:
    """Which promise the last step of a run has broken, and how, in words. What a step has done wrong goes first."""
    wrong = walk.wrong.partition(": ")[0]
    for each in sorted(PROPERTIES.values(), key=lambda each: each.name != wrong):
        if words := each.complaint(walk):
            return each.name, words
    raise AssertionError("a run ends where nothing is wrong")
