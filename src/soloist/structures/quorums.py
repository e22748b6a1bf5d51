"""Quorums: for every site i a set S_i of sites to ask, such that any two sets meet.

majority   i and the floor(N/2) sites that follow it, cyclically
grid       i's row and column in a square; the last row may be short
plane      a line of a finite projective plane, moved round by i; about sqrt(N) sites
tree       a path from the root of a binary tree to a leaf, through i where that is possible

A site in its own set costs no messages, but is not needed for safety.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import ceil, sqrt
from typing import Any

from soloist.core.errors import UsageError, unknown
from soloist.core.message import Site
from soloist.structures.planes import difference_set, order_for


class Quorums:
    """S_i for every site i, each in ascending order."""

    def __init__(self, sets: Sequence[Iterable[Site]], name: str = "") -> None:
        self.sets = tuple(tuple(sorted(set(each))) for each in sets)
        self.name = name or ",".join("+".join(map(str, each)) for each in self.sets)

    def __getitem__(self, i: Site) -> tuple[Site, ...]:
        return self.sets[i]

    def __len__(self) -> int:
        return len(self.sets)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def others(self) -> list[int]:
        """How many sites each one asks, besides itself: |S_i - {i}|."""
        return [len(set(each) - {i}) for i, each in enumerate(self.sets)]

    @cached_property
    def mean_others(self) -> float:
        return sum(self.others) / len(self.sets)


# What makes them valid.


def apart(sets: Sequence[Collection[Site]]) -> tuple[Site, Site] | None:
    """Two sites whose sets do not meet, or None: the intersection property."""
    for i, j in combinations(range(len(sets)), 2):
        if set(sets[i]).isdisjoint(sets[j]):
            return i, j
    return None


def strangers(sets: Sequence[Collection[Site]]) -> list[Site]:
    """The sites that are not in their own set."""
    return [i for i, each in enumerate(sets) if i not in each]


def redundant(sets: Sequence[Collection[Site]]) -> tuple[Site, Site] | None:
    """Two sites of which the first has a proper part of the second's set, or None: minimality."""
    for i, one in enumerate(sets):
        for j, other in enumerate(sets):
            if set(one) < set(other):
                return i, j
    return None


# Constructions.


def majority(n: int) -> Quorums:
    return Quorums([{(i + d) % n for d in range(n // 2 + 1)} for i in range(n)], "majority")


def grid(n: int) -> Quorums:
    """Row by row. Of the two cells where i's and j's lines cross only one can be missing: the one in
    the short last row. Two sites of the last row share it."""
    c = ceil(sqrt(n))
    return Quorums([{j for j in range(n) if j // c == i // c or j % c == i % c} for i in range(n)], "grid")


def plane(n: int) -> Quorums:
    """Where N is not q²+q+1, the points of the next larger plane are folded onto the sites."""
    q = order_for(n)
    points = q * q + q + 1
    line = difference_set(q)
    return Quorums([{(i + d) % points % n for d in line} for i in range(n)], "plane")


def tree(n: int, failed: Collection[Site] = ()) -> Quorums:
    """Paths in the heap-shaped tree (children of v: 2v+1, 2v+2) around sites that are down."""
    sets = [tree_quorum(n, i, failed) for i in range(n)]
    for i, each in enumerate(sets):
        if each is None:
            down = ", ".join(map(str, sorted(failed)))
            raise UsageError(
                f"no tree quorum is left for site {i} with {down} down: "
                "a site that is down needs a quorum below each of its children"
            )
    return Quorums([each or () for each in sets], "tree")


def tree_quorum(n: int, site: Site, failed: Collection[Site] = ()) -> set[Site] | None:
    """Agrawal and El Abbadi: a path through `site` if possible; a node on it that is down is replaced by
    a quorum of each of its subtrees. None if there is no such set."""
    towards = {site}
    while min(towards) > 0:
        towards.add((min(towards) - 1) // 2)

    def quorum(v: Site) -> set[Site] | None:
        children = [c for c in (2 * v + 1, 2 * v + 2) if c < n]
        if not children:
            return None if v in failed else {v}
        if v in failed:
            parts = [quorum(c) for c in children]
            return None if None in parts else set().union(*(part or () for part in parts))
        children.sort(key=lambda c: c not in towards)
        below = next((part for c in children if (part := quorum(c))), None)
        return None if below is None else {v} | below

    return quorum(0)


SHAPES: Mapping[str, Callable[[int], Quorums]] = {
    "grid": grid,
    "plane": plane,
    "majority": majority,
    "tree": tree,
}


def given(sets: Sequence[Iterable[Site]], n: int) -> Quorums:
    """A system given by its sets; one that does not exclude is refused with the reason."""
    quorums = Quorums(sets)
    if len(quorums) != n:
        raise UsageError(f"quorums are given for {len(quorums)} sites, but there are {n}")
    for i, each in enumerate(quorums.sets):
        if not each:
            raise UsageError(f"the quorum of site {i} is empty; it must meet all others")
        for site in each:
            if not 0 <= site < n:
                raise UsageError(f"the quorum of site {i} names site {site}; sites are 0 to {n - 1}")
    if pair := apart(quorums.sets):
        raise UsageError(f"the quorums of sites {pair[0]} and {pair[1]} have no site in common")
    return quorums


def quorums(value: Any, n: int, k: int = 1) -> Quorums:
    """Quorums from what a user wrote: a name, sets like `0+1,1+2,2+0`, or a value."""
    if isinstance(value, Quorums):
        value = value if value.name in SHAPES and len(value) == n else value.sets
    if isinstance(value, Quorums):
        return value
    if isinstance(value, Mapping):
        value = [value.get(i, ()) for i in range(n)]
    if not isinstance(value, str):
        return given(value, n)
    if value in SHAPES:
        return SHAPES[value](n)
    return given(parse_sets(value, "quorums", (*SHAPES, "sets like 0+1,1+2,2+0")), n)


def parse_sets(text: str, what: str, shapes: Iterable[str]) -> list[list[Site]]:
    """`0+1,1+2`: one set a site, in order. `shapes` are the names that would have been right too."""
    try:
        return [[int(site) for site in each.split("+") if site] for each in text.split(",")]
    except ValueError:
        raise unknown(what, text, shapes) from None


__all__ = [
    "SHAPES",
    "Quorums",
    "apart",
    "given",
    "grid",
    "majority",
    "plane",
    "quorums",
    "redundant",
    "strangers",
    "tree",
    "tree_quorum",
]
