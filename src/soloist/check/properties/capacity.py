"""Capacity: where K may be inside, K really can. Judged on the whole graph."""

from __future__ import annotations

from soloist.check.explore import Graph
from soloist.check.finding import PROVED, Finding
from soloist.check.properties._property import Property


class Capacity(Property):
    name = "capacity"
    says = "K sites can be inside together"
    look = "What does the one that waits still need, although a place is free?"
    on_graph = True

    def judge(self, graph: Graph, finding: Finding) -> None:
        setting = graph.space.setting
        most = min(setting.size.k, setting.requesters)
        if graph.most_inside >= most:
            finding.holds[self.name] = PROVED
            return
        finding.broken = self.name
        finding.reason = f"{graph.most_inside} inside at most, though {most} may be together"
