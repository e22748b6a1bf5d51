"""What one search has shown. Plain values, so that a search may run in a process of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.check import properties as props
from soloist.check.counterexample import Step, script, walk
from soloist.check.explore import Graph
from soloist.check.liveness import Lasso
from soloist.check.report import Search

PROVED, BOUNDED, NOT_JUDGED = "proved", "for these requests", "not judged"


class Finding(msgspec.Struct):
    """The outcome of a search: promises that hold, or the one that is broken with a run that shows it."""

    search: Search
    holds: dict[str, str] = {}
    """How far each was judged: `PROVED` or `BOUNDED`."""
    how: dict[str, str] = {}
    """Under which assumptions, where there are some."""
    broken: str | None = None
    reason: str = ""
    trace: list[Step] = []
    loop: int | None = None
    script: str = ""
    cut: str = ""
    """Why the search proves nothing, if it was cut off."""
    bypass: int | None = None


def found(graph: Graph, name: str, **what: Any) -> Finding:
    """A finding about a graph; if the search was cut off or raised an alarm, that is the finding."""
    finding = Finding(summary(graph, name), **what)
    if not graph.complete:
        finding.holds = {}
    if graph.alarm is not None:
        path = graph.path(graph.alarm)
        show(finding, graph, path)
        finding.broken, finding.reason = props.forbidden(walk(graph.space, path))
    elif graph.cut:
        finding.cut = cut_off(graph)
    return finding


def show(finding: Finding, graph: Graph, path: list[int], loop: int | None = None) -> None:
    """Put a run into a finding."""
    finding.trace, finding.loop = walk(graph.space, path).steps, loop
    finding.script = script(finding.trace, graph.space)


def starves(finding: Finding, graph: Graph, lasso: Lasso) -> None:
    path = lasso.prefix + lasso.cycle[1:]
    walk(graph.space, path + lasso.cycle[1:])  # what comes back once comes back again
    show(finding, graph, path, len(lasso.prefix) - 1)
    finding.broken, finding.cut = "starvation", ""
    finding.reason = props.starving(walk(graph.space, path), lasso.site)


def summary(graph: Graph, name: str) -> Search:
    return Search(
        name=name,
        states=len(graph.states),
        transitions=graph.transitions,
        depth=len(graph.growth) - 1,
        complete=graph.complete,
        cut=graph.cut,
        cpu_seconds=graph.cpu,
    )


def cut_off(graph: Graph) -> str:
    whole = graph.growth[:-1]  # the last layer was cut off
    growing = "growing still" if whole[-1:] >= whole[-2:-1] else "shrinking"
    return (
        f"nothing wrong in {len(graph.states)} states, but the search was cut off at "
        f"{graph.cut} (depth {len(graph.growth)}, {growing}): this proves nothing"
    )
