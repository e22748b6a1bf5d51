"""Livelock: steps go on, and yet the end is out of reach. Judged on the whole graph of the main search."""

from __future__ import annotations

from soloist.check.counterexample import Walk, under_way, walk, why_waiting
from soloist.check.explore import Graph
from soloist.check.finding import PROVED, Finding, show
from soloist.check.parts import LEFT_COUNT, WAITING_COUNT
from soloist.check.properties._property import Property
from soloist.check.setting import UNBOUNDED, Setting


class Livelock(Property):
    name = "livelock"
    says = "from every state all requests can still be served"
    look = "Which message is answered by one that causes it again?"
    on_graph = True

    def is_promised(self, setting: Setting) -> bool:
        """One that serves a site only while all the others ask, too, promises nothing to those that ask more often
        than others."""
        return not (setting.card.everybody_asks and len(set(setting.rounds)) > 1) and not self.refusal(
            setting
        )

    def refusal(self, setting: Setting) -> str:
        if setting.timeouts == UNBOUNDED:
            return ""
        return f"{self.name} cannot be judged where timers stop running out; leave out timeouts"

    def judge(self, graph: Graph, finding: Finding) -> None:
        lost = livelocked(graph)
        if lost is None:
            finding.holds[self.name] = PROVED
            return
        path = graph.path(lost)
        show(finding, graph, path)
        finding.broken, finding.reason = self.name, told(walk(graph.space, path))


def livelocked(graph: Graph) -> int | None:
    """The nearest state from which the end (all served, nobody waiting or inside) is out of reach."""
    if graph.wide:
        from soloist.check import sweeps

        return sweeps.lost(graph, graph.levels)
    reaches = bytearray(len(graph.states))
    for here, counts in enumerate(graph.counts()):
        if not counts & (LEFT_COUNT | WAITING_COUNT) and not graph.space.model.inside(counts):
            reaches[here] = 1
    changed = True
    while changed:
        changed = False
        for here in range(len(graph.states) - 1, -1, -1):
            if not reaches[here] and any(reaches[there] for there in graph.successors(here)):
                reaches[here] = changed = True
    lost = reaches.find(0)
    return None if lost < 0 else lost


def told(walk: Walk) -> str:
    held = under_way(walk)
    return "; ".join(
        [
            "from here the end (everybody served) cannot be reached any more",
            *why_waiting(walk),
            f"under way: {', '.join(held)}" if held else "nothing is under way",
        ]
    )
