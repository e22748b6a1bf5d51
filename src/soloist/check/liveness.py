"""Promises about runs that never end, judged on the whole graph.

*Starvation.* A site starves if it can wait for ever in a run that is weakly fair: no delivery,
release or timeout that stays possible from some moment on is put off for ever. (Asking is free:
nobody has to.) Such a run ends up in a strongly connected part of the graph in which the site
waits throughout. Going round the whole of that part is the fairest a run can be there, so the
part is a real starvation exactly if each action that is possible in all of its states is also taken
on one of its edges. Where messages may overtake each other, each of them counts by itself: it is followed
through the part, whatever reductions make of its numbers on the way, until it is received. If one
of them can not be, then none of the runs is fair: from its state all others are reached, and it is still under way
there. Parts are found among the states in which the site waits, not in the graph as a
whole: an edge that lets the site in is no excuse.

*Bypass.* The most entries of others while one site waits is a longest path among those states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import pairwise

import msgspec

from soloist.check.explore import Graph
from soloist.check.local import Item
from soloist.check.model import Action
from soloist.check.parts import LEFT_COUNT, WAITING_COUNT
from soloist.core import Site

UNBOUNDED_BYPASS = -1


class Lasso(msgspec.Struct, frozen=True):
    """A run that never ends: a way to a state, and a way from there back to it."""

    site: Site
    prefix: list[int]
    cycle: list[int]


# Order.


def in_order(graph: Graph) -> Iterable[int] | None:
    """All states, each before those that follow it; None if some run comes back to where it was."""
    offsets, targets = graph.offsets, graph.targets
    expanded = len(offsets) - 1
    if all(
        start == end or min(targets[start:end]) > here for here, (start, end) in enumerate(pairwise(offsets))
    ):
        return range(len(graph.states))
    incoming = [0] * len(graph.states)
    for target in targets:
        incoming[target] += 1
    order = [0] if not incoming[0] else []
    for here in order:
        for there in graph.successors(here) if here < expanded else ():
            incoming[there] -= 1
            if not incoming[there]:
                order.append(there)
    return order if len(order) == len(graph.states) else None


# Livelock.


def livelocked(graph: Graph) -> int | None:
    """The nearest state from which the end (all served, nobody waiting or inside) is out of reach."""
    reaches = bytearray(len(graph.states))
    for here, state in enumerate(graph.states):
        if not state & (LEFT_COUNT | WAITING_COUNT) and not graph.space.model.inside(state):
            reaches[here] = 1
    changed = True
    while changed:
        changed = False
        for here in range(len(graph.states) - 1, -1, -1):
            if not reaches[here] and any(reaches[there] for there in graph.successors(here)):
                reaches[here] = changed = True
    lost = reaches.find(0)
    return None if lost < 0 else lost


# Strongly connected parts.


def components(nodes: Iterable[int], follow: Callable[[int], Iterable[int]]) -> Iterator[list[int]]:
    """Strongly connected parts of a sub-graph (Tarjan, without recursion), those downstream first."""
    inside = set(nodes)
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in sorted(inside):
        if root in number:
            continue
        work: list[tuple[int, Iterator[int]]] = []

        def enter(node: int, work: list[tuple[int, Iterator[int]]] = work) -> None:
            number[node] = low[node] = len(number)
            stack.append(node)
            on_stack.add(node)
            work.append((node, iter(follow(node))))

        enter(root)
        while work:
            node, rest = work[-1]
            for child in rest:
                if child not in inside:
                    continue
                if child not in number:
                    enter(child)
                    break
                if child in on_stack:
                    low[node] = min(low[node], number[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part: list[int] = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    yield part


def waiting_states(graph: Graph, site: Site) -> list[int]:
    model = graph.space.model
    bit = 1 << model.n + site
    expanded = len(graph.offsets) - 1
    return [i for i, state in enumerate(graph.states[:expanded]) if model.phases(state) & bit]


# Starvation.

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
        for members in components(waiting_states(graph, site), graph.successors):
            start = min(members)
            if best and best[0] <= start:
                continue
            if len(members) == 1 and start not in graph.successors(start):
                continue
            part = Part(graph, members)
            if part.cyclic and not part.neglected():
                best = (start, site, part)
    if best is None:
        return None
    start, site, part = best
    return Lasso(site, graph.path(start), [graph.states[i] for i in part.tour(start)])


# Bypass.


def bypass(graph: Graph) -> int:
    """Most entries of others while one waits; `UNBOUNDED_BYPASS` if there is no bound."""
    order = in_order(graph)
    if order is not None:
        return _bypass_in_order(graph, order)
    bounds = [_bypass_of(graph, site) for site in range(graph.space.model.n)]
    return UNBOUNDED_BYPASS if UNBOUNDED_BYPASS in bounds else max(bounds)


def _bypass_in_order(graph: Graph, order: Iterable[int]) -> int:
    """One sweep: for each state the most entries that each waiting site can have seen until then.

    There are few different such vectors, so they are interned, and what an edge does to one is
    remembered.
    """
    n, phases = graph.space.model.n, [graph.space.model.phases(s) for s in graph.states]
    vectors: list[tuple[int, ...]] = [(0,) * n]
    numbers = {vectors[0]: 0}
    merged: dict[tuple[int, int], int] = {}
    moved: dict[tuple[int, int, int], int] = {}
    counted = [0] * len(graph.states)

    def intern(vector: tuple[int, ...]) -> int:
        number = numbers.setdefault(vector, len(vectors))
        if number == len(vectors):
            vectors.append(vector)
        return number

    for here in order:
        mine, before = counted[here], phases[here]
        for there in graph.successors(here):
            after = phases[there]
            number = mine
            if after != before:
                key = (mine, before, after)
                known = moved.get(key)
                number = moved[key] = (
                    intern(bypassed(vectors[mine], before, after)) if known is None else known
                )
            if number != counted[there]:
                pair = (number, counted[there])
                both = merged.get(pair)
                if both is None:
                    both = merged[pair] = intern(tuple(map(max, vectors[number], vectors[pair[1]])))
                counted[there] = both
    return max(map(max, vectors))


def bypassed(counts: tuple[int, ...], before: int, after: int) -> tuple[int, ...]:
    """How often each waiting site has been passed, after a step that changed the phases."""
    n = len(counts)
    entered = after & ~before & (1 << n) - 1
    entries = entered.bit_count()
    return tuple(counts[i] + entries if before >> n + i & 1 and after >> n + i & 1 else 0 for i in range(n))


def _bypass_of(graph: Graph, site: Site) -> int:
    """The longest path, by entries, among the states in which a site waits."""
    model = graph.space.model
    sites = (1 << model.n) - 1
    phases = [model.phases(state) & sites for state in graph.states]
    longest: dict[int, int] = {}
    for members in components(waiting_states(graph, site), graph.successors):
        together = set(members)
        most = 0
        for here in members:
            for there in graph.successors(here):
                entries = (phases[there] & ~phases[here]).bit_count()
                if there in together and entries:
                    return UNBOUNDED_BYPASS
                if there in longest:
                    most = max(most, longest[there] + entries)
        longest.update(dict.fromkeys(members, most))
    return max(longest.values(), default=0)
