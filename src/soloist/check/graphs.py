"""Orders and strongly connected parts of what a search has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from soloist.check.explore import Graph
from soloist.core import Site


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


def is_acyclic(graph: Graph) -> bool:
    """Whether no run comes back to where it was."""
    return (graph.levels if graph.wide else in_order(graph)) is not None


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


def returning(graph: Graph, nodes: list[int]) -> Iterator[list[int]]:
    """Strongly connected parts of a sub-graph in which a run may go on and on."""
    if graph.wide:
        from soloist.check import sweeps

        nodes = sweeps.returning(graph, nodes)
    for part in components(nodes, graph.successors):
        if len(part) > 1 or part[0] in graph.successors(part[0]):
            yield part


def waiting_states(graph: Graph, site: Site) -> list[int]:
    if graph.wide:
        from soloist.check import sweeps

        return sweeps.waiting(graph, site)
    bit = 1 << graph.space.model.n + site
    return [i for i, phases in enumerate(graph.phases()[: graph.expanded]) if phases & bit]
