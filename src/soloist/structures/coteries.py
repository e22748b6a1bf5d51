"""k-coteries: sets of sites, called quorums, of which k can be disjoint but never k+1.

majority     all sets of w = ceil((M+1)/(k+1)) sites out of the first M; M is the largest number up to N with
             k*w <= M, since otherwise there are no k disjoint ones (M = N mostly, but not for N=3, k=2)
cohorts      Huang, Jiang and Kuo 1993: cohorts C_1 of k sites, C_2, .. of at least 2k-1 sites (2 if k=1), all
             disjoint; a quorum is all but k-1 sites of one cohort, and one site of each later cohort
singletons   each of the first k sites alone

A site asks one quorum, its *home*; k of the homes are disjoint, or else k sites would never be inside together. One that chooses
may ask any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Any

from soloist.core.errors import UsageError
from soloist.core.message import Site
from soloist.structures.quorums import Quorums, parse_sets, redundant

Quorum = frozenset[Site]

# What makes a k-coterie: for each property, a counterexample or None.


def disjoint_families(quorums: Sequence[Collection[Site]], size: int) -> Iterator[tuple[Quorum, ...]]:
    """All ways to take so many pairwise disjoint quorums."""
    if size == 0:
        yield ()
        return
    for i, quorum in enumerate(quorums):
        rest = [q for q in quorums[i + 1 :] if not set(q) & set(quorum)]
        for family in disjoint_families(rest, size - 1):
            yield (frozenset(quorum), *family)


def crowd(quorums: Sequence[Collection[Site]], k: int) -> tuple[Quorum, ...] | None:
    """k+1 pairwise disjoint quorums: the intersection property forbids them."""
    return next(disjoint_families(quorums, k + 1), None)


def full(quorums: Sequence[Collection[Site]], k: int) -> tuple[Quorum, ...] | None:
    """Fewer than k pairwise disjoint quorums that leave no room for another: the non-intersection property
    asks for a quorum that is disjoint from all of them."""
    for h in range(k):
        for family in disjoint_families(quorums, h):
            if all(set(quorum) & frozenset().union(*family) for quorum in quorums):
                return family
    return None


# Constructions: all quorums, and the homes.


def majority_size(n: int, k: int) -> tuple[int, int]:
    """M and w."""
    sizes = ((m, -(-(m + 1) // (k + 1))) for m in range(n, 0, -1))
    return next((m, w) for m, w in sizes if k * w <= m)


def majority(n: int, k: int) -> Iterator[Quorum]:
    m, w = majority_size(n, k)
    return map(frozenset, combinations(range(m), w))


def majority_homes(n: int, k: int) -> list[set[Site]]:
    """Each site and those that follow it, cyclically: sites 0, w, .. (k-1)w have disjoint ones."""
    m, w = majority_size(n, k)
    return [{(i + d) % m for d in range(w)} for i in range(n)]


def cohorts_of(n: int, k: int) -> list[list[Site]]:
    """As many cohorts as make the largest quorum smallest. What is too small for a cohort is left out."""
    left = n - k
    counts = range(1, left // max(2 * k - 1, 2) + 1)
    count = min(counts, key=lambda c: -(-left // c) - k + c, default=0)
    return [list(range(k)), *(list(range(k + c, n, count)) for c in range(count))]


def cohorts(n: int, k: int) -> Iterator[Quorum]:
    split = cohorts_of(n, k)
    for c, cohort in enumerate(split):
        for most in combinations(cohort, len(cohort) - k + 1):
            for later in product(*split[c + 1 :]):
                yield frozenset(most + later)


def cohort_homes(n: int, k: int) -> list[set[Site]]:
    """Each site, those that follow it in its cohort, and those in its place in later ones."""
    split = cohorts_of(n, k)
    homes: list[set[Site]] = [set() for _ in range(n)]
    for c, cohort in enumerate(split):
        for place, site in enumerate(cohort):
            most = {cohort[(place + d) % len(cohort)] for d in range(len(cohort) - k + 1)}
            homes[site] = most | {later[place % len(later)] for later in split[c + 1 :]}
    return [home or homes[i % k] for i, home in enumerate(homes)]


def singletons(n: int, k: int) -> Iterator[Quorum]:
    return (frozenset({i}) for i in range(k))


def singleton_homes(n: int, k: int) -> list[set[Site]]:
    return [{i % k} for i in range(n)]


SHAPES: Mapping[str, Callable[[int, int], Sequence[set[Site]]]] = {
    "majority": majority_homes,
    "cohorts": cohort_homes,
    "singletons": singleton_homes,
}


# What a user may give.


def homes(quorums: Sequence[Quorum], n: int, k: int) -> list[Quorum]:
    """k disjoint quorums for the sites in them; others take one that they are in, or one of the k."""
    disjoint = next(disjoint_families(quorums, k))
    mine = {site: quorum for quorum in (*reversed(quorums), *disjoint) for site in quorum}
    return [mine.get(i, disjoint[i % k]) for i in range(n)]


def given(sets: Sequence[Collection[Site]], n: int, k: int) -> Quorums:
    """A k-coterie given by its quorums; anything else is refused with the reason."""
    quorums = list(dict.fromkeys(map(frozenset, sets)))
    for quorum in quorums:
        if not quorum:
            raise UsageError("the coterie has an empty quorum; each must name at least one site")
        for site in quorum:
            if not 0 <= site < n:
                raise UsageError(f"quorum {text(quorum)} names site {site}; sites are 0 to {n - 1}")
    if family := crowd(quorums, k):
        raise UsageError(f"this is no {k}-coterie: {k + 1} quorums are disjoint: {text(*family)}")
    if (family := full(quorums, k)) is not None:
        raise UsageError(f"this is no {k}-coterie: no quorum is disjoint from {text(*family) or 'nothing'}, "
                         f"so fewer than {k} sites could be inside together")  # fmt: skip
    if pair := redundant(quorums):
        small, large = (text(quorums[i]) for i in pair)
        raise UsageError(f"this is no {k}-coterie: quorum {large} contains quorum {small}")
    return Quorums(homes(quorums, n, k), text(*quorums))


def coterie(value: Any, n: int, k: int) -> Quorums:
    """The homes, from what a user wrote: a name, quorums like `0+1,0+2,1+3,2+3`, or a value."""
    if isinstance(value, Quorums):
        return chosen(value, n, k)
    if not isinstance(value, str):
        return given(list(value), n, k)
    if value in SHAPES:
        return Quorums(SHAPES[value](n, k), value)
    return given(parse_sets(value, "coterie", (*SHAPES, "quorums like 0+1,0+2,1+3,2+3")), n, k)


class Coterie(Quorums):
    """The homes, and all quorums that a site may choose from."""

    quorums: tuple[tuple[Site, ...], ...]


LISTED = 1000
"""Of a coterie with more quorums than that, a site chooses among the homes."""
ALL: Mapping[str, Callable[[int, int], Iterator[Quorum]]] = {
    "majority": majority,
    "cohorts": cohorts,
    "singletons": singletons,
}


def to_choose_from(value: Any, n: int, k: int) -> Coterie:
    """What `coterie` makes of the same value, with its quorums beside it, the homes first."""
    homes = coterie(value, n, k)
    made = Coterie(homes.sets, homes.name)
    if homes.name in ALL:
        every = list(islice(ALL[homes.name](n, k), LISTED + 1))
    else:
        every = list(map(frozenset, parse_sets(homes.name, "coterie", ())))
    others = map(sorted, every if len(every) <= LISTED else ())
    made.quorums = tuple(dict.fromkeys((*made.sets, *map(tuple, others))))
    return made


def chosen(homes: Quorums, n: int, k: int) -> Quorums:
    """Homes that somebody has chosen: never k+1 of them disjoint, but k somewhere."""
    if len(homes) != n:
        raise UsageError(f"homes are given for {len(homes)} sites, but there are {n}")
    if homes.name not in SHAPES:
        if family := crowd(homes.sets, k):
            raise UsageError(f"these homes let more than {k} in: {text(*family)} are disjoint")
        if next(disjoint_families(homes.sets, k), None) is None:
            raise UsageError(f"these homes never let {k} sites in together: no {k} of them are disjoint")
    return homes


def text(*quorums: Collection[Site]) -> str:
    return ",".join("+".join(map(str, sorted(quorum))) for quorum in quorums)
