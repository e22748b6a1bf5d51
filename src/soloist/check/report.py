"""What a check found, for people and for machines."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec

from soloist.check.counterexample import Step
from soloist.core import Site


class Search(msgspec.Struct, frozen=True):
    """One pass over one space."""

    name: str
    states: int
    transitions: int
    depth: int
    complete: bool
    cut: str
    """Which limit ended it, if one did."""
    cpu_seconds: float


class Vacuity(msgspec.Struct, frozen=True):
    """What really happened: a promise kept because nothing happens is worth nothing."""

    phases: tuple[str, ...]
    phases_unreached: tuple[str, ...]
    messages: tuple[str, ...]
    messages_unreached: tuple[str, ...]
    handler_runs: int


class WorstCase(msgspec.Struct, frozen=True):
    measure: str
    cost: int | None
    """None: there is no bound."""
    site: Site | None


class Report(msgspec.Struct):
    """The answer to a check."""

    algorithm: str
    nodes: int
    rounds: tuple[int, ...]
    k: int
    channels: str
    verdict: str
    """holds, violated or incomplete"""
    property: str | None
    """The promise that was broken."""
    states: int
    transitions: int
    max_inside: int
    bypass_bound: int | str | None
    """Most entries of others while one waits; `unbounded` if there is no bound."""
    seconds: float
    reason: str = ""
    """Why the last step is wrong, or what each waiting site waits for; or which limit was reached."""
    trace: list[Step] = []
    loop: int | None = None
    """From this step on the trace repeats itself."""
    script: str = ""
    """The trace as commands."""
    properties: dict[str, str] = {}
    """Each promise that was to be judged: proved (for the requests of this report; starvation: where sites never
    stop asking), for these requests (where only that much is known of starvation), not judged, or violated."""
    how: dict[str, str] = {}
    """What is to be said about a promise besides: the assumptions under which it was judged."""
    bypass_scope: str = ""
    """Whether the bound is for endless requests or only within those given."""
    growth: list[int] = []
    reductions: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    """Reductions that the search went without: they rely on declarations, and these were not proved for this code."""
    network: dict[str, Any] = {}
    options: dict[str, str] = {}
    searches: list[Search] = []
    vacuity: Vacuity | None = None
    worst: WorstCase | None = None
    memory_mib: int = 0
    notes: list[str] = []
    """What went wrong on the way, without harm to what was found."""

    def record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = msgspec.structs.asdict(self)
        values["trace"] = [step.record() for step in self.trace]
        return values

    def exit_code(self) -> int:
        """As `soloist check` ends: 0, 1 if a promise is broken, 3 if it is not known."""
        return {"holds": 0, "violated": 1}.get(self.verdict, 3)

    def _repr_html_(self) -> str:
        """In a notebook: as on a terminal."""
        return f"<pre>{escape(text(self))}</pre>"


def text(report: Report) -> str:
    """The report as people read it: verdict, figures, and the run that shows what is wrong."""
    lines = [_title(report), "", *_facts(report)]
    if report.trace:
        lines += ["", *_trace(report)]
    return "\n".join(lines)


def _title(r: Report) -> str:
    rounds = f"{r.rounds[0]} each" if len(set(r.rounds)) == 1 else ",".join(map(str, r.rounds))
    k = f", K={r.k}" if r.k > 1 else ""
    options = "".join(f", {name}={value}" for name, value in r.options.items())
    network = "".join(f", {_fault(name, value)}" for name, value in r.network.items())
    verdict = r.verdict.upper() + (f" {r.property}" if r.property else "")
    return f"{r.algorithm}, N={r.nodes}{k}{options}, requests {rounds}, channels {r.channels}{network}: {verdict}"


def _fault(name: str, value: object) -> str:
    return name if value is True else f"{name} {value}"


def _facts(r: Report) -> list[str]:
    facts = [(r.verdict, r.reason)] if r.reason else []
    facts += [(f"  {name}", _outcome(r, name)) for name in r.properties]
    facts.append(("inside at once", f"{r.max_inside} at most, {r.k} allowed"))
    if r.bypass_bound is not None:
        facts.append(
            ("bypass bound", f"{r.bypass_bound} entries of others while one waits, {r.bypass_scope}")
        )
    if r.worst:
        facts.append((f"worst {r.worst.measure}", _worst(r.worst)))
    for search in r.searches:
        cut = f", cut off at {search.cut}" if search.cut else ""
        facts.append(
            (
                search.name,
                f"{search.states} states, {search.transitions} transitions, depth {search.depth}{cut}",
            )
        )
    facts.append(("reductions", ", ".join(r.reductions) or "none"))
    if r.withheld:
        repeats = "duplicate" in r.network or r.network.get("restart") == "fresh"
        where = "with such faults" if repeats else "for its code"
        facts.append(
            ("not relied on", f"{', '.join(r.withheld)}: what the class declares is not proved {where}")
        )
    if r.vacuity:
        facts.append(("reached", _vacuity(r.vacuity)))
    facts.append(("growth", _growth(r.growth)))
    facts += [("note", note) for note in r.notes]
    facts.append(("time", f"{r.seconds:.2f} s, {r.memory_mib} MiB"))
    return [f"  {name:<16} {value}" for name, value in facts]


def _outcome(r: Report, name: str) -> str:
    return ", ".join(filter(None, (r.properties[name], r.how.get(name))))


def _worst(worst: WorstCase) -> str:
    who = f" (site {worst.site} waits)" if worst.site is not None else ""
    return ("no bound" if worst.cost is None else str(worst.cost)) + who + "; the run is below"


def _vacuity(v: Vacuity) -> str:
    missing = (*v.phases_unreached, *v.messages_unreached)
    never = f"; NEVER reached: {', '.join(missing)}" if missing else "; nothing was left out"
    return f"{', '.join(v.phases)}; {', '.join(v.messages) or 'no messages'}{never}"


def _growth(growth: list[int]) -> str:
    """New states by depth; a long list is thinned out."""
    every = max(1, -(-len(growth) // 16))
    shown = growth[::every]
    step = f" (every {every} steps deep)" if every > 1 else ""
    return f"{' '.join(map(str, shown))}{step}"


def _trace(r: Report) -> list[str]:
    lines = []
    for number, step in enumerate(r.trace, start=1):
        if r.loop is not None and number - 1 == r.loop:
            lines.append("  from here again and again:")
        lines.append(f"  {number:>3}  {step.command}")
        lines += [f"         {event}" for event in step.events]
    return lines
