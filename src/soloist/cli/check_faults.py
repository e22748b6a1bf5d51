"""How `--fault` of `soloist check` becomes a setting: the kinds that the simulator has, at every moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from soloist.core import UsageError, unknown

CHECKED: dict[str, dict[str, Any]] = {
    "loss": {"loss": True},
    "duplicate": {"duplicate": True},
    "reorder": {"channels": "any"},
    "crash": {},
    "restart": {"restart": "snapshot"},
    "restart-new": {"restart": "fresh"},
}
"""What each of them means here."""


def checked_faults(texts: Iterable[str] | None, **settings: Any) -> dict[str, Any]:
    """The settings of a check with these faults added; `crash` allows one crash more each time it is given."""
    for text in texts or ():
        kind, equals, _ = text.partition("=")
        if kind not in CHECKED:
            raise _no_fault_of_a_check(kind)
        if equals:
            raise UsageError(f"fault {text!r} should read {kind}: a check tries every moment and every site")
        settings = {**settings, **CHECKED[kind]}
        if kind == "crash":
            settings["crashes"] += 1
    if texts and settings["restart"] != "never" and not settings["crashes"]:
        raise UsageError(f"restart {settings['restart']} needs a crash before it; add --fault crash")
    return settings


def _no_fault_of_a_check(kind: str) -> UsageError:
    from soloist.sim.faults import FORMS  # a check needs no simulator, unless to say this

    if kind in FORMS:
        return UsageError(f"fault {kind} belongs to `simulate`; a check has {', '.join(CHECKED)}")
    return unknown("fault", kind, CHECKED)
