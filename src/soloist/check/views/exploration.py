"""What a check of views found, for people and for machines."""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.check.explore import Limits, Watcher, memory_used
from soloist.check.views.model import Model
from soloist.check.views.progress import progresses
from soloist.check.views.search import search
from soloist.check.views.setting import Kit, Setting

PROPERTIES = {
    "exclusion": "two members have a hold that each of them takes for good",
    "fence": "a fence was given that is not above all fences before",
    "view": "two different views were decided for one epoch",
    "carry-over": "a view was decided that forgets a hold which is good at that moment",
    "break": "a lock is said to be broken while a hold that was to be taken away is good",
    "withheld": "somebody was let in past a registered hold that was neither released nor broken, before its delay was over",
    "progress": "from here nobody who is alive gets in, although nothing bad happens any more",
}
"""What is judged in every setting, and what it means if it is broken."""


class Exploration(msgspec.Struct, frozen=True):
    """The answer for one setting."""

    setting: str
    says: str
    verdict: str
    """holds, violated or incomplete"""
    property: str | None
    reason: str
    """What is wrong, or which limit was reached."""
    states: int
    transitions: int
    depth: int
    max_holds: int
    progress_tried: int
    """States from which progress was tried."""
    seconds: float
    memory_mib: int
    trace: list[str]

    def record(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def check_views(
    setting: Setting,
    limits: Limits | None = None,
    watch: Watcher | None = None,
    kit: Kit | None = None,
    every: int | None = None,
) -> Exploration:
    """Explore a setting. `every`: try progress from every so manyth state; None: from a sample; 0: never."""
    model = Model(setting, kit)
    judge = None if every == 0 else lambda state: progresses(model, state)
    found = search(model, limits, watch, judge, every)
    if found.property:
        verdict, reason = "violated", PROPERTIES[found.property]
    elif found.cut:
        verdict, reason = "incomplete", f"cut off at {found.cut}"
    else:
        verdict, reason = "holds", ""
    return Exploration(
        setting=setting.name,
        says=setting.says,
        verdict=verdict,
        property=found.property or None,
        reason=reason,
        states=len(found.states),
        transitions=found.transitions,
        depth=found.depth,
        max_holds=found.most_holds,
        progress_tried=found.judged,
        seconds=found.seconds,
        memory_mib=memory_used(),
        trace=found.words(),
    )


def exit_code(reports: list[Exploration]) -> int:
    """0 if all of them hold, 1 if something is violated, 3 if a search was cut off."""
    verdicts = {report.verdict for report in reports}
    return 1 if "violated" in verdicts else 3 if "incomplete" in verdicts else 0


def text(report: Exploration) -> str:
    """The report as people read it."""
    verdict = report.verdict.upper() + (f" {report.property}" if report.property else "")
    lines = [f"{report.setting}: {verdict}", f"  {report.says}"]
    if report.reason:
        lines.append(f"  {report.reason}")
    lines.append(
        f"  {report.states} states, {report.transitions} transitions, depth {report.depth}, "
        f"progress tried from {report.progress_tried}, {report.seconds:.1f} s"
    )
    return "\n".join(lines + [f"  {number:>3}  {step}" for number, step in enumerate(report.trace, start=1)])
