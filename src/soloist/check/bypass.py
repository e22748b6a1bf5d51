"""The most entries of others while one site waits: a longest path among the states in which it does."""

from __future__ import annotations

from collections.abc import Iterable

from soloist.check.explore import Graph
from soloist.check.graphs import components, in_order, waiting_states
from soloist.core import Site

UNBOUNDED_BYPASS = -1


def bypass(graph: Graph) -> int:
    """Most entries of others while one waits; `UNBOUNDED_BYPASS` if there is no bound."""
    if graph.wide and graph.levels is not None:
        from soloist.check import sweeps

        return sweeps.bypass(graph, graph.levels)
    if not graph.wide and (order := in_order(graph)) is not None:
        return _bypass_in_order(graph, order)
    bounds = [_bypass_of(graph, site) for site in range(graph.space.model.n)]
    return UNBOUNDED_BYPASS if UNBOUNDED_BYPASS in bounds else max(bounds)


def _bypass_in_order(graph: Graph, order: Iterable[int]) -> int:
    """One sweep: for each state the most entries that each waiting site can have seen until then.

    There are few different such vectors, so they are interned, and what an edge does to one is
    remembered.
    """
    n, phases = graph.space.model.n, graph.phases()
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
    phases = [phases & sites for phases in graph.phases()]
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
