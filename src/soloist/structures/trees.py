"""Logical trees over the sites 0..N-1, rooted at site 0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from soloist.core.errors import UsageError, unknown
from soloist.core.message import Site

Edge = tuple[Site, Site]


class Tree:
    """A tree as a list of parents: `parent[i]` is the neighbour of i towards site 0."""

    def __init__(self, parent: Sequence[Site], name: str = "given") -> None:
        self.parent = parent
        self.name = name

    def __str__(self) -> str:
        return self.name

    @cached_property
    def children(self) -> list[list[Site]]:
        """Of every site, in ascending order."""
        children: list[list[Site]] = [[] for _ in self.parent]
        for site in range(1, len(self.parent)):
            children[self.parent[site]].append(site)
        return children

    @cached_property
    def _top_down(self) -> list[Site]:
        """All sites, every parent before its children."""
        order = [0]
        for site in order:
            order.extend(self.children[site])
        return order

    @cached_property
    def mean_distance(self) -> float:
        """Mean distance between two sites drawn independently (they may be the same one)."""
        n = len(self.parent)
        below = [1] * n
        total = 0
        for site in reversed(self._top_down[1:]):
            total += 2 * below[site] * (n - below[site])  # pairs whose path uses the edge above
            below[self.parent[site]] += below[site]
        return total / n**2

    @cached_property
    def diameter(self) -> int:
        """D: the longest distance between two sites."""
        height = [0] * len(self.parent)
        longest = 0
        for site in reversed(self._top_down[1:]):
            parent = self.parent[site]
            longest = max(longest, height[parent] + height[site] + 1)
            height[parent] = max(height[parent], height[site] + 1)
        return longest


def line(n: int) -> Tree:
    return Tree([max(i - 1, 0) for i in range(n)], "line")


def star(n: int) -> Tree:
    """Site 0 in the middle."""
    return Tree([0] * n, "star")


def balanced(n: int) -> Tree:
    """The heap-shaped binary tree: the children of i are 2i+1 and 2i+2."""
    return Tree([max((i - 1) // 2, 0) for i in range(n)], "tree")


def scattered(n: int) -> Tree:
    """A tree drawn once and for all: each site hangs on one of the sites before it, picked by a hash."""
    return Tree([scrambled(i) % max(i, 1) for i in range(n)], "random")


def scrambled(number: int) -> int:
    """What takes the place of a random number here: the same for the same argument, everywhere."""
    return (number * 2654435761 % 2**32) >> 8


SHAPES = {"line": line, "star": star, "tree": balanced, "random": scattered}


def from_edges(n: int, edges: Iterable[Edge]) -> Tree:
    """A tree given by its edges; anything else is refused with the reason."""
    edges = checked(n, edges, "tree")
    neighbours: list[list[Site]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    parent = [-1] * n
    parent[0] = 0
    reached = [0]
    for site in reached:
        for other in neighbours[site]:
            if parent[other] < 0:
                parent[other] = site
                reached.append(other)
    if len(reached) < n:
        lost = min(set(range(n)) - set(reached))
        raise UsageError(f"topology is no tree: site {lost} cannot be reached from site 0")
    if len(edges) != n - 1:
        raise UsageError(
            f"topology is no tree: {len(edges)} edges between {n} sites close a cycle; a tree has {n - 1}"
        )
    return Tree(parent)


def checked(n: int, edges: Iterable[Edge], kind: str) -> list[Edge]:
    """The edges as a list, all of them between two of the sites 0 to N-1."""
    try:
        pairs = [(int(a), int(b)) for a, b in edges]
    except (TypeError, ValueError):
        raise UsageError(f"topology must be a name or edges like [(0, 1), (0, 2)], not {edges!r}") from None
    for a, b in pairs:
        for site in (a, b):
            if not 0 <= site < n:
                raise UsageError(f"topology is no {kind} of {n} sites: {a}-{b} names site {site}, "
                                 f"sites are 0 to {n - 1}")  # fmt: skip
    return pairs


def written(value: str, shapes: Iterable[str]) -> list[Edge]:
    """Edges as a user writes them, `0-1,0-2`; any other text is taken for the name of no known shape."""
    if not re.fullmatch(r"\s*\d+\s*-\s*\d+\s*(,\s*\d+\s*-\s*\d+\s*)*", value):
        raise unknown("topology", value, [*shapes, "edges like 0-1,0-2"])
    pairs = (edge.split("-") for edge in value.split(","))
    return [(int(a), int(b)) for a, b in pairs]


def tree(value: str | Iterable[Edge] | Tree, n: int, k: int = 1) -> Tree:
    """A tree from what a user wrote: a shape's name, edges like `0-1,0-2`, or a value."""
    if isinstance(value, Tree):
        if len(value.parent) != n:
            raise UsageError(f"topology has {len(value.parent)} sites, but there are {n}")
        return value
    if not isinstance(value, str):
        return from_edges(n, value)
    if value in SHAPES:
        return SHAPES[value](n)
    return from_edges(n, written(value, SHAPES))
