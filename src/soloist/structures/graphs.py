"""Connected graphs over the sites 0..N-1: who can send to whom."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import combinations

from soloist.core.errors import UsageError
from soloist.core.message import Site
from soloist.structures.trees import Edge, Tree, balanced, checked, scattered, scrambled, written


class Graph:
    """A graph as lists of neighbours, in ascending order."""

    def __init__(self, n: int, edges: Iterable[Edge], name: str = "given") -> None:
        near: list[set[Site]] = [set() for _ in range(n)]
        for a, b in edges:
            near[a].add(b)
            near[b].add(a)
        self.neighbours = tuple(tuple(sorted(sites)) for sites in near)
        self.name = name

    def __str__(self) -> str:
        return self.name

    @property
    def n(self) -> int:
        return len(self.neighbours)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return tuple((a, b) for a, near in enumerate(self.neighbours) for b in near if a < b)

    @property
    def is_tree(self) -> bool:
        return len(self.edges) == self.n - 1

    def distances(self, origin: Site) -> list[int]:
        """From one site to all; -1 where there is no way."""
        distance = [-1] * self.n
        distance[origin] = 0
        reached = [origin]
        for site in reached:
            for other in self.neighbours[site]:
                if distance[other] < 0:
                    distance[other] = distance[site] + 1
                    reached.append(other)
        return distance

    @cached_property
    def diameter(self) -> int:
        """D: the longest distance between two sites."""
        return max(max(self.distances(site)) for site in range(self.n))

    @cached_property
    def mean_distance(self) -> float:
        """Mean distance between two sites drawn independently (they may be the same one)."""
        return sum(sum(self.distances(site)) for site in range(self.n)) / self.n**2

    @cached_property
    def mean_flood(self) -> float:
        """Mean number of messages that tell everybody, over all sites that may start."""
        return sum(self.flood(site) for site in range(self.n)) / self.n

    def flood(self, origin: Site) -> int:
        """Messages until everybody knows, if all links are equally fast: each site tells those neighbours
        that were not told yet as far as the news it got says."""
        news = [(site, {origin, *self.neighbours[origin]}) for site in self.neighbours[origin]]
        knows = {origin}
        for site, told in news:
            if site not in knows:
                knows.add(site)
                more = told | {site, *self.neighbours[site]}
                news += [(other, more) for other in self.neighbours[site] if other not in told]
        return len(news)


def full(n: int) -> Graph:
    return Graph(n, combinations(range(n), 2), "full")


def ring(n: int) -> Graph:
    return Graph(n, [(i, (i + 1) % n) for i in range(n) if n > 1], "ring")


def line(n: int) -> Graph:
    return Graph(n, [(i, i + 1) for i in range(n - 1)], "line")


def tree(n: int) -> Graph:
    """The balanced binary tree."""
    return from_tree(balanced(n))


def scattered_graph(n: int) -> Graph:
    """A graph drawn once and for all: a random tree, and about half as many edges more."""
    trunk = scattered(n).parent
    more = [(i, scrambled(n + i) % i) for i in range(2, n, 2)]
    return Graph(n, [*((i, trunk[i]) for i in range(1, n)), *more], "random")


def from_tree(given: Tree) -> Graph:
    return Graph(len(given.parent), [(i, given.parent[i]) for i in range(1, len(given.parent))], given.name)


SHAPES = {"full": full, "ring": ring, "line": line, "tree": tree, "random": scattered_graph}


def from_edges(n: int, edges: Iterable[Edge]) -> Graph:
    """A graph given by its edges; one that is not connected is refused."""
    edges = checked(n, edges, "graph")
    for a, b in edges:
        if a == b:
            raise UsageError(f"topology must not join site {a} to itself: every edge has two ends")
    given = Graph(n, edges)
    distances = given.distances(0)
    if -1 in distances:
        raise UsageError(
            f"topology is not connected: site {distances.index(-1)} cannot be reached from site 0"
        )
    return given


def graph(value: str | Iterable[Edge] | Graph | Tree, n: int, k: int = 1) -> Graph:
    """A graph from what a user wrote: a shape's name, edges like `0-1,1-2,2-0`, a graph or a tree."""
    if isinstance(value, Tree):
        value = from_tree(value)
    if isinstance(value, Graph):
        if value.n != n:
            raise UsageError(f"topology has {value.n} sites, but there are {n}")
        return from_edges(n, value.edges) if -1 in value.distances(0) else value
    if not isinstance(value, str):
        return from_edges(n, value)
    if value in SHAPES:
        return SHAPES[value](n)
    return from_edges(n, written(value, SHAPES))
