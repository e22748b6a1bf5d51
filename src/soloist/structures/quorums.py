"""Quorums: for every site i a set S_i of sites to ask, such that any two sets meet.

majority   i and the floor(N/2) sites that follow it, cyclically; with weights, as many as have more than half of the votes
grid       i's row and column in a square; the last row may be short
plane      a line of a finite projective plane, moved round by i; about sqrt(N) sites
triangle   the sites are the pairs of m+1 points, and a set is all pairs with one of these: sqrt(2N) sites
tree       a path from the root of a tree (binary, unless another is given) to a leaf, through i where that is possible

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
from soloist.structures.trees import Tree, balanced


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
    return weighted_majority(Weights([1] * n))


class Weights(tuple[int, ...]):
    """How many votes each site has (Gifford 1979)."""

    def __str__(self) -> str:
        return "equal" if set(self) == {1} else ",".join(map(str, self))

    @property
    def need(self) -> int:
        """More than half of all votes: any two such groups share a voter."""
        return sum(self) // 2 + 1

    @property
    def voters(self) -> tuple[Site, ...]:
        return tuple(i for i, votes in enumerate(self) if votes)


def weights(value: Any, n: int, k: int = 1) -> Weights:
    """Votes from what a user wrote: `equal`, numbers like `3,1,1,0`, or a list of numbers."""
    if value == "equal":
        return Weights([1] * n)
    try:
        votes = Weights(int(each) for each in (value.split(",") if isinstance(value, str) else value))
    except (TypeError, ValueError):
        raise UsageError(f"weights must be equal, or votes like 3,1,1,0, not {value!r}") from None
    if len(votes) != n:
        raise UsageError(f"weights are given for {len(votes)} sites, but there are {n}")
    if min(votes) < 0 or not any(votes):
        raise UsageError(f"weights must be 0 or more, and some above 0, not {value!r}")
    return votes


def weighted_majority(votes: Weights) -> Quorums:
    return Quorums(
        [voting_group(votes, i) for i in range(len(votes))], "majority" if set(votes) == {1} else ""
    )


def voting_group(votes: Weights, i: Site) -> tuple[Site, ...]:
    """Site i and those that follow it, cyclically, until they have more than half of the votes; without those that have none."""
    missing, group = votes.need, []
    for j in (*range(i, len(votes)), *range(i)):
        if missing > 0 and votes[j]:
            group.append(j)
            missing -= votes[j]
    return tuple(sorted(group))


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


def triangle(n: int) -> Quorums:
    """Any two points have a pair in common. Where N is not m(m+1)/2, the pairs of a larger triangle are folded onto the sites."""
    m = next(m for m in range(1, n + 1) if m * (m + 1) // 2 >= n)
    pairs = list(combinations(range(m + 1), 2))
    through = [{site % n for site, pair in enumerate(pairs) if point in pair} for point in range(m + 1)]
    # Of the two points of a pair the nearer round the circle, so that all are asked about equally often.
    chosen = [a if (b - a) % (m + 1) <= (a - b) % (m + 1) else b for a, b in pairs]
    return Quorums([through[chosen[i]] for i in range(n)], "triangle")


def tree(n: int, failed: Collection[Site] = (), shape: Tree | None = None) -> Quorums:
    """Paths in a tree, the heap-shaped one (children of v: 2v+1, 2v+2) unless another is given, around sites that are down."""
    sets = [tree_quorum(n, i, failed, shape) for i in range(n)]
    for i, each in enumerate(sets):
        if each is None:
            down = ", ".join(map(str, sorted(failed)))
            raise UsageError(
                f"no tree quorum is left for site {i} with {down} down: "
                "a site that is down needs a quorum below each of its children"
            )
    return Quorums([each or () for each in sets], "tree")


def tree_quorum(
    n: int, site: Site, failed: Collection[Site] = (), shape: Tree | None = None
) -> set[Site] | None:
    """Agrawal and El Abbadi: a path through `site` if possible; a node on it that is down is replaced by
    a quorum of each of its subtrees. None if there is no such set."""
    shape = shape or balanced(n)
    towards, v = {site}, site
    while v:
        towards.add(v := shape.parent[v])

    def quorum(v: Site) -> set[Site] | None:
        children = list(shape.children[v])
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
    "triangle": triangle,
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
    "Weights",
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
    "triangle",
    "voting_group",
    "weighted_majority",
    "weights",
]
