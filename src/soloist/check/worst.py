"""The worst case by search: the run within the bounds that costs most.

With a bounded number of requests no run comes back to where it was, so the dearest run is a longest
path, found in one sweep from the end to the start. Where a run can come back while the cost grows
there is no worst case; then a cycle that costs is shown.

messages   messages sent in the whole run
wait       entries of others while one site waits: the bypass bound, with a run that reaches it
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from soloist.check.explore import Graph
from soloist.check.graphs import components, waiting_states
from soloist.core import Site, unknown

MEASURES = ("messages", "wait")


class Worst(msgspec.Struct, frozen=True):
    """The dearest run. Without a bound `cost` is None, and from state `loop` on the run repeats itself."""

    measure: str
    cost: int | None
    states: list[int]
    loop: int | None = None
    site: Site | None = None
    """Who waits."""


Edges = Callable[[int], list[tuple[int, int]]]
"""From a state to what each step from it costs, and where it leads."""


def worst(graph: Graph, measure: str) -> Worst:
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    if measure == "messages":
        return _dearest(graph, measure, range(len(graph.states)), _messages(graph), start=0)
    runs = [
        _dearest(graph, measure, waiting_states(graph, site), _entries(graph), site=site)
        for site in range(graph.space.model.n)
    ]
    return max(runs, key=lambda run: float("inf") if run.cost is None else run.cost)


def _messages(graph: Graph) -> Edges:
    actions, states, index = graph.space.actions, graph.states, graph.index
    return lambda here: [(action.sent, index[target]) for action, target in actions(states[here])]


def _entries(graph: Graph) -> Edges:
    model = graph.space.model
    sites = (1 << model.n) - 1
    inside = [phases & sites for phases in graph.phases()]
    return lambda here: [
        ((inside[there] & ~inside[here]).bit_count(), there) for there in graph.successors(here)
    ]


def _dearest(
    graph: Graph,
    measure: str,
    nodes: Collection[int],
    edges: Edges,
    start: int | None = None,
    site: Site | None = None,
) -> Worst:
    """The dearest way through `nodes`, from `start` or from wherever it is dearest."""
    among = set(nodes)
    dearest: dict[int, tuple[int, int]] = {}
    for members in components(among, graph.successors):
        together = set(members)
        if len(members) > 1 or members[0] in graph.successors(members[0]):
            loop = _costly_loop(together, edges)
            if loop:
                prefix = graph.path(loop[0])
                states = prefix + [graph.states[i] for i in loop[1:]]
                return Worst(measure, None, states, len(prefix) - 1, site)
        _work_out(together, among, edges, dearest)
    if not dearest:
        return Worst(measure, 0, [graph.states[0]], site=site)
    first = start if start is not None else max(sorted(dearest), key=lambda here: dearest[here][0])
    return Worst(measure, dearest[first][0], graph.path(first) + _onward(graph, first, dearest), site=site)


def _work_out(together: set[int], among: set[int], edges: Edges, dearest: dict[int, tuple[int, int]]) -> None:
    """The dearest way on from each of these states; everything downstream is known already."""
    for here in together:
        ways = [
            (cost + dearest[there][0], there)
            for cost, there in edges(here)
            if there in among and there not in together
        ]
        dearest[here] = max(ways, key=lambda way: way[0], default=(0, here))


def _onward(graph: Graph, here: int, dearest: dict[int, tuple[int, int]]) -> list[int]:
    way = []
    while dearest[here][1] != here:
        here = dearest[here][1]
        way.append(graph.states[here])
    return way


def _costly_loop(together: set[int], edges: Edges) -> list[int]:
    """A way round with a step that costs something; empty if going round is free."""
    for start in sorted(together):
        for cost, there in edges(start):
            if cost and there in together:
                return [start, *_back(there, start, together, edges)]
    return []


def _back(here: int, to: int, together: set[int], edges: Edges) -> list[int]:
    came = {here: here}
    queue = [here]
    for node in queue:
        for _, there in edges(node):
            if there in together and there not in came:
                came[there] = node
                queue.append(there)
    way = [to]
    while way[-1] != here:
        way.append(came[way[-1]])
    return way[::-1]
