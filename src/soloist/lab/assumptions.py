"""What each algorithm needs, and how it fails without: one assumption is dropped at a time, and every order of events tried.

Small systems first: two sites, then three; the first in which something breaks is told, with the shortest run that shows it. Limits are
numbers of states, so the matrix is the same wherever it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from soloist.algorithms import Card, find_any
from soloist.check import Limits, Report, check
from soloist.children import process_pool
from soloist.core import unknown

ASSUMPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "order": ("links keep the order of messages", {"channels": "any"}),
    "loss": ("no message is lost", {"loss": True, "faults": 1}),
    "duplication": ("no message arrives twice", {"duplicate": True, "faults": 1}),
    "crash": ("no site stops", {"crashes": 1}),
    "memory": ("a site that comes back knows its state", {"crashes": 1, "restart": "fresh"}),
}
"""Each assumption, and what the checker may do without it: once, where it can be counted."""

OUTCOMES = {
    "exclusion": "two inside",
    "error": "fails",
    "deadlock": "deadlocks",
    "livelock": "never ends",
}
"""What is said of a broken promise. `fails`: a step raises an error, such as a second token for a site that is inside."""

SAFETY = ("exclusion", "error")
LIVENESS = {"memory": ("livelock",)}
"""A site that is down may come back, so waiting for it is no deadlock; but can the end still be reached?"""

SIZES = (2, 3)
STATES = 40_000


class Broken(msgspec.Struct, frozen=True):
    """One cell of the matrix. `safe` tells of a cell that is not unsafe how far that was shown: proved, or open."""

    algorithm: str
    assumption: str
    outcome: str
    """One of `OUTCOMES`, or holds, or open: the search was cut off before anything broke."""
    nodes: int
    states: int
    safe: str = ""
    reason: str = ""
    script: str = ""

    @property
    def steps(self) -> int:
        return max(0, len(self.script.splitlines()) - 1)


def drop(algorithm: str, assumption: str, states: int = STATES) -> Broken:
    """Check one algorithm without one assumption: is it still safe; and if so, does it go on?"""
    card = find_any(algorithm)
    first = _smallest(card, assumption, SAFETY, states)
    if first.verdict == "violated":
        return _broken(first, assumption)
    safe = "proved" if first.verdict == "holds" else "open"
    second = _smallest(card, assumption, LIVENESS.get(assumption, ("deadlock",)), states)
    if second.verdict == "violated":
        return _broken(second, assumption, safe)
    outcome = "holds" if first.verdict == second.verdict == "holds" else "open"
    return Broken(algorithm, assumption, outcome, second.nodes, first.states + second.states, safe)


def _broken(report: Report, assumption: str, safe: str = "") -> Broken:
    outcome = OUTCOMES[report.property or "error"]
    reason = report.reason or ""
    return Broken(
        report.algorithm, assumption, outcome, report.nodes, report.states, safe, reason, report.script
    )


def _smallest(card: Card, assumption: str, judged: Sequence[str], states: int) -> Report:
    """The report of the smallest system in which something breaks, or else of the largest that was searched."""
    for nodes in SIZES:
        report = check(
            card,
            nodes=nodes,
            rounds=1,
            k=min(2, nodes - 1) if card.capacity == "K" else 1,
            properties=judged,
            limits=Limits(states=states),
            reductions=("messages",),  # the others are proved for sites that keep their state
            endless_states=0,
            **ASSUMPTIONS[assumption][1],
        )
        if report.verdict != "holds":
            break
    return report


def matrix(
    algorithms: Sequence[str],
    assumptions: Iterable[str] = (),
    jobs: int = 1,
    states: int = STATES,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Broken]:
    """All cells, algorithm by algorithm."""
    wanted = list(assumptions) or list(ASSUMPTIONS)
    for assumption in wanted:
        if assumption not in ASSUMPTIONS:
            raise unknown("assumption", assumption, ASSUMPTIONS)
    for name in algorithms:
        find_any(name)
    cells = [(name, assumption) for name in algorithms for assumption in wanted]
    found = []
    if jobs == 1:
        for name, assumption in cells:
            found.append(drop(name, assumption, states))
            progress(len(found), len(cells))
        return found
    with process_pool(min(jobs, len(cells))) as pool:
        for future in [pool.submit(drop, name, assumption, states) for name, assumption in cells]:
            found.append(future.result())
            progress(len(found), len(cells))
    return found
