"""What each algorithm needs, and how it fails without: one assumption is dropped at a time, and every order of events tried.

Small systems first: two sites, then three; the first in which something breaks is told, with the shortest run that shows it. Limits are
numbers of states, so the matrix is the same wherever it is made.

Where an algorithm has timers, they run out only when nothing is under way any more, as if they were long enough; without that assumption
they run out at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from soloist.algorithms import Card, load_any
from soloist.check import Limits, Report, Space, check, explore, setting
from soloist.check.setting import ALL
from soloist.children import process_pool
from soloist.core import IDLE, INSIDE, Port, unknown
from soloist.sim.script import Script

ASSUMPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "order": ("links keep the order of messages", {"channels": "any"}),
    "loss": ("no message is lost", {"loss": True, "faults": 1}),
    "duplication": ("no message arrives twice", {"duplicate": True, "faults": 1}),
    "crash": ("no site stops", {"crashes": 1}),
    "memory": ("a site that comes back knows its state", {"crashes": 1, "restart": "fresh"}),
    "timing": ("no timer runs out too soon", {"slow": ()}),
}
"""Each assumption, and what the checker may do without it: once, where it can be counted."""

OUTCOMES = {
    "exclusion": "two inside",
    "error": "fails",
    "deadlock": "deadlocks",
    "livelock": "starves",
}
"""What is said of a broken promise. `fails`: a step raises an error, such as a second token for a site that is inside. `starves`: there
is a state from which not all can be served."""
TOKEN_LOST, NO_TIMER = "token lost", "no timer"
"""A deadlock in which nobody who is alive has the token; and an algorithm to which timing is nothing."""

SAFETY = ("exclusion", "error")

SIZES = (2, 3)
STATES = 40_000


class Broken(msgspec.Struct, frozen=True):
    """One cell of the matrix. `safe` tells of a cell that is not unsafe how far that was shown: proved, or open."""

    algorithm: str
    assumption: str
    outcome: str
    """One of `OUTCOMES`, or token lost, holds, no timer, or open: the search was cut off before anything broke."""
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
    card = load_any(algorithm)
    timers = has_timers(card)
    if assumption == "timing" and not timers:
        return Broken(algorithm, assumption, NO_TIMER, SIZES[-1], 0)
    first = _smallest(card, assumption, SAFETY, states)
    if first.verdict == "violated":
        return _broken(card, first, assumption)
    safe = "proved" if first.verdict == "holds" else "open"
    second = _smallest(card, assumption, _liveness(assumption, timers), states)
    if second.verdict == "violated":
        return _broken(card, second, assumption, safe)
    outcome = "holds" if first.verdict == second.verdict == "holds" else "open"
    return Broken(algorithm, assumption, outcome, second.nodes, first.states + second.states, safe)


def _liveness(assumption: str, timers: bool) -> tuple[str, ...]:
    """A site that is down may come back, so waiting for it is no deadlock; nor is it one if timers go on for ever. But can the end still
    be reached?"""
    if assumption == "memory":
        return ("livelock",)
    return ("deadlock", "livelock") if timers else ("deadlock",)


@cache
def has_timers(card: Card) -> bool:
    """Whether a site ever sets one, with the usual options."""
    graph = explore(Space(setting(card, SIZES[0], 1)), Limits(states=2000))
    sites = (site for part in graph.space.model.parts[: SIZES[0]] for site in part.things)
    return any(site.timers for site in sites)


def _broken(card: Card, report: Report, assumption: str, safe: str = "") -> Broken:
    outcome = OUTCOMES[report.property or "error"]
    if report.property == "deadlock" and card.family == "token" and nobody_has_the_token(report.script):
        outcome = TOKEN_LOST
    reason = report.reason or ""
    return Broken(
        report.algorithm, assumption, outcome, report.nodes, report.states, safe, reason, report.script
    )


def nobody_has_the_token(script: str) -> bool:
    """Where a run has come to a standstill: could none of those who are alive and idle enter at once?"""
    end = Script()
    for command in script.splitlines():
        end.run(command)
    for port in end.ports:
        if port.process.me not in end.down and port.process.phase is IDLE:
            copy = type(port.process).restore(port.process.snapshot())
            Port(copy).acquire()
            if copy.phase is INSIDE:
                return False
    return True


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
            **{"slow": (ALL,) if has_timers(card) else (), **ASSUMPTIONS[assumption][1]},
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
        load_any(name)
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
