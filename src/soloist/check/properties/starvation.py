"""Starvation: a site waits for ever although nothing is put off for ever.

A site starves if it can wait for ever in a run that is weakly fair: no delivery,
release or timeout that stays possible from some moment on is put off for ever. (Asking is free:
nobody has to.) Such a run ends up in a strongly connected part of the graph in which the site
waits throughout. Going round the whole of that part is the fairest a run can be there, so the
part is a real starvation exactly if each action that is possible in all of its states is also taken
on one of its edges. Where messages may overtake each other, each of them counts by itself: it is followed
through the part, whatever reductions make of its numbers on the way, until it is received. If one
of them can not be, then none of the runs is fair: from its state all others are reached, and it is still under way
there. Parts are found among the states in which the site waits, not in the graph as a
whole: an edge that lets the site in is no excuse.

It is judged where sites never stop asking (the endless search); as long as that was not done, on the requests of the main
search, which shows little.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import msgspec

from soloist.check.bypass import UNBOUNDED_BYPASS
from soloist.check.counterexample import Walk, walk, why_waiting
from soloist.check.explore import Graph
from soloist.check.finding import BOUNDED, PROVED, Finding, show
from soloist.check.graphs import is_acyclic, returning, waiting_states
from soloist.check.local import Item
from soloist.check.properties._property import Property
from soloist.check.setting import UNBOUNDED, Setting
from soloist.check.steps import Action
from soloist.core import Site


class Starvation(Property):
    name = "starvation"
    says = "whoever waits gets in, if no message and no exit is put off for ever"
    look = "Serve requests in some order: of arrival, of time stamps, or in turn."
    on_graph = True
    endless = True

    def is_promised(self, setting: Setting) -> bool:
        return setting.card.fairness != "none" and not self.refusal(setting)

    def refusal(self, setting: Setting) -> str:
        if setting.timeouts == UNBOUNDED:
            return ""
        return f"{self.name} cannot be judged where timers stop running out; leave out timeouts"

    def judge(self, graph: Graph, finding: Finding) -> None:
        """On bounded requests: only a run that comes back to where it was can starve anybody."""
        lasso = None if is_acyclic(graph) else starvation(graph)
        if lasso:
            self._break(finding, graph, lasso)
        else:
            finding.holds[self.name] = BOUNDED
            finding.how[self.name] = "sites that never stop asking were not tried (--endless)"

    def judge_endless(self, graph: Graph, finding: Finding, asking: str) -> None:
        lasso = starvation(graph)
        if lasso:
            self._break(finding, graph, lasso)
        elif not graph.cut:
            finding.holds[self.name], finding.how[self.name] = PROVED, asking

    def _break(self, finding: Finding, graph: Graph, lasso: Lasso) -> None:
        path = lasso.prefix + lasso.cycle[1:]
        walk(graph.space, path + lasso.cycle[1:])  # what comes back once comes back again
        show(finding, graph, path, len(lasso.prefix) - 1)
        finding.broken, finding.cut, finding.bypass = self.name, "", UNBOUNDED_BYPASS
        finding.reason = told(walk(graph.space, path), lasso.site)


def told(walk: Walk, site: Site) -> str:
    first = f"site {site} waits for ever while the cycle is repeated, though every message arrives"
    return "; ".join([first, *(each for each in why_waiting(walk) if each != f"site {site} waits")])


# Fair cycles.


class Lasso(msgspec.Struct, frozen=True):
    """A run that never ends: a way to a state, and a way from there back to it."""

    site: Site
    prefix: list[int]
    cycle: list[int]


Edge = tuple[Action, int]


class Part:
    """A strongly connected part of the states in which a site waits, with its edges."""

    def __init__(self, graph: Graph, members: list[int]) -> None:
        self.graph = graph
        self.space = graph.space
        self.states = graph.states
        self.members = set(members)
        self.edges: dict[int, list[Edge]] = {}
        self.raw: dict[int, list[int]] = {}
        """Where these edges lead to before reductions."""
        self.enabled: dict[int, set[Hashable]] = {}
        for here in members:
            self._look(graph, here)

    def _look(self, graph: Graph, here: int) -> None:
        space, edges, targets = self.space, [], []
        graph.pause()
        self.enabled[here] = set()
        for action, raw in space.model.actions(graph.states[here]):
            if duty := self.duty(action):
                self.enabled[here].add(duty)
            there = graph.index.get(space.normal(raw))
            if there is not None and there in self.members:
                edges.append((action, there))
                targets.append(raw)
        self.edges[here], self.raw[here] = edges, targets

    def duty(self, action: Action) -> Hashable:
        """What weak fairness asks for: each link's next message, or each message if they may overtake."""
        if action.event == "deliver":
            which = action.message if self.space.setting.channels == "any" else -1
            return ("deliver", action.site, action.sender, which)
        if action.event in ("release", "timeout"):
            return (action.event, action.site, action.timer)
        return None

    @property
    def cyclic(self) -> bool:
        return any(self.edges.values())

    def neglected(self) -> set[Hashable]:
        """Duties that are possible throughout and never done."""
        always = set.intersection(*self.enabled.values())
        taken = {self.duty(action) for edges in self.edges.values() for action, _ in edges}
        return {duty for duty in always - taken if not self._is_message(duty)} | self._undelivered()

    def _is_message(self, duty: Hashable) -> bool:
        """Whether the duty is to receive one message; it may look different in each state."""
        return isinstance(duty, tuple) and duty[0] == "deliver" and duty[3] >= 0

    def _undelivered(self) -> set[Hashable]:
        """Messages under way that are received nowhere in this part. Looking from one state is enough."""
        if self.space.setting.channels != "any":
            return set()
        start = min(self.members)
        things = self.space.model.things(self.states[start])[:-1]
        return {
            ("deliver", site, item.sender, item.message)
            for site, local in enumerate(things)
            for item in set(local.inbox)
            if not self._delivered(start, site, item)
        }

    def _delivered(self, start: int, site: Site, item: Item) -> bool:
        """Follow a message from state to state until it is received, or is gone in another way."""
        seen = {(start, item)}
        queue = [(start, item)]
        for here, item in queue:
            self.graph.pause()
            for (action, there), raw in zip(self.edges[here], self.raw[here], strict=True):
                after = None if _removes(action, site, item) else self.space.follow(item, site, raw)
                if after is None:
                    return True
                if (there, after) not in seen:
                    seen.add((there, after))
                    queue.append((there, after))
        return False

    def tour(self, start: int) -> list[int]:
        """A round trip that neglects nothing: each duty done, or not possible, somewhere on the way."""
        duties = set.union(*self.enabled.values()) - self._excused_at(start)
        way = [start]
        while duties and (leg := self._walk(way[-1], partial(self._serves, duties))):
            for action, there in leg:
                duties -= {self.duty(action)} | self._excused_at(there)
                way.append(there)
        if way[-1] != start or len(way) == 1:
            way += [there for _, there in self._walk(way[-1], lambda _, there: there == start) or ()]
        return way

    def _excused_at(self, here: int) -> set[Hashable]:
        return set.union(*self.enabled.values()) - self.enabled[here]

    def _serves(self, duties: set[Hashable], action: Action, there: int) -> bool:
        return self.duty(action) in duties or bool(duties - self.enabled[there])

    def _walk(self, start: int, wanted: Callable[[Action, int], bool]) -> list[Edge] | None:
        """The shortest way from here whose last edge is wanted."""
        came: dict[int, tuple[int, Action]] = {}
        queue = [start]
        for here in queue:
            for action, there in self.edges[here]:
                if wanted(action, there):
                    leg = [(action, there)]
                    while here != start:
                        before, step = came[here]
                        leg.append((step, here))
                        here = before
                    return leg[::-1]
                if there not in came and there != start:
                    came[there] = (here, action)
                    queue.append(there)
        return None


def _removes(action: Action, site: Site, item: Item) -> bool:
    """Whether a step takes a message out of the inbox of a site."""
    if action.event in ("deliver", "lose"):
        return (action.site, action.sender, action.message) == (site, item.sender, item.message)
    return action.event == "crash" and action.site == site


def starvation(graph: Graph) -> Lasso | None:
    """The nearest fair cycle on which a site waits for ever, or None if there is none."""
    best: tuple[int, Site, Part] | None = None
    for site in range(graph.space.model.n):
        for members in returning(graph, waiting_states(graph, site)):
            start = min(members)
            if best and best[0] <= start:
                continue
            part = Part(graph, members)
            if part.cyclic and not part.neglected():
                best = (start, site, part)
    if best is None:
        return None
    start, site, part = best
    return Lasso(site, graph.path(start), [graph.states[i] for i in part.tour(start)])
