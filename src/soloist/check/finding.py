"""What one search has shown. Plain values, so that a search may run in a process of its own."""

from __future__ import annotations

import msgspec

from soloist.check.counterexample import Step, script, walk
from soloist.check.explore import Graph
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
    scope: str = "within these requests"
    """For which requests that holds."""


def show(finding: Finding, graph: Graph, path: list[int], loop: int | None = None) -> None:
    """Put a run into a finding."""
    finding.trace, finding.loop = walk(graph.space, path).steps, loop
    finding.script = script(finding.trace, graph.space)


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
