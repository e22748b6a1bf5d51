"""Quorum agreements: for every site i a request set R_i and an acquired set A_i; every R_i meets every A_j.

grid    R_i is i's row of a square, A_i one site of each row: i's column, as far as it goes
plane   R_i = A_i, a line of a finite projective plane
tree    R_i = A_i, a path from the root of a binary tree to a leaf
modified-grid   R_i = A_i, the triangle of `quorums`. The survey only names the modified grid, and gives the cost: 2 sqrt(2N) - 2,
                which is what a triangle's two sets of sqrt(2N) sites cost without the token and the forwards
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import ceil, sqrt
from typing import Any

from soloist.core.errors import UsageError, unknown
from soloist.core.message import Site
from soloist.structures import quorums

Sets = tuple[tuple[Site, ...], ...]


class Agreement:
    """R and A, each site's sets in ascending order. A site is in both of its own."""

    def __init__(
        self, request: Sequence[Iterable[Site]], acquired: Sequence[Iterable[Site]], name: str = "given"
    ) -> None:
        self.R: Sets = tuple(tuple(sorted({i, *each})) for i, each in enumerate(request))
        self.A: Sets = tuple(tuple(sorted({i, *each})) for i, each in enumerate(acquired))
        self.name = name

    def __str__(self) -> str:
        return self.name

    @property
    def n(self) -> int:
        return len(self.R)

    @cached_property
    def told_by(self) -> Sets:
        """For each site the sites that announce to it, itself included: those j with i in A_j."""
        return tuple(tuple(j for j in range(self.n) if i in self.A[j]) for i in range(self.n))


def apart(request: Sequence[Iterable[Site]], acquired: Sequence[Iterable[Site]]) -> tuple[Site, Site] | None:
    """An R_i and an A_j that do not meet, or None."""
    for i, asked in enumerate(request):
        for j, told in enumerate(acquired):
            if set(asked).isdisjoint(told):
                return i, j
    return None


def grid(n: int) -> Agreement:
    width = ceil(sqrt(n))
    rows = [range(start, min(start + width, n)) for start in range(0, n, width)]

    def column(i: Site) -> list[Site]:
        """One site of each row; where the last row is short, its last."""
        return [row[min(i % width, len(row) - 1)] for row in rows]

    return Agreement([rows[i // width] for i in range(n)], [column(i) for i in range(n)], "grid")


def same(build: Callable[[int], quorums.Quorums], name: str = "") -> Callable[[int], Agreement]:
    """An agreement from quorums any two of which meet: they serve as both."""

    def agreement(n: int) -> Agreement:
        system = build(n)
        return Agreement(system.sets, system.sets, name or system.name)

    return agreement


SHAPES: Mapping[str, Callable[[int], Agreement]] = {
    "grid": grid,
    "tree": same(quorums.tree),
    "plane": same(quorums.plane),
    "modified-grid": same(quorums.triangle, "modified-grid"),
}


def agreement(value: Any, n: int, k: int = 1) -> Agreement:
    """An agreement from what a user gave: a name, a pair (R, A) of lists of sets, or a value."""
    if isinstance(value, str):
        if value not in SHAPES:
            raise unknown("quorums", value, SHAPES)
        return SHAPES[value](n)
    if isinstance(value, quorums.Quorums):
        value = Agreement(value.sets, value.sets, value.name)
    if not isinstance(value, Agreement):
        try:
            request, acquired = value
            value = Agreement(request, acquired)
        except (TypeError, ValueError):
            raise UsageError(
                f"quorums must be one of {', '.join(sorted(SHAPES))} or two lists of sets, not {value!r}"
            ) from None
    return valid(value, n)


def valid(given: Agreement, n: int) -> Agreement:
    """The agreement itself; one that does not fit is refused with the reason."""
    for name, sets in (("R", given.R), ("A", given.A)):
        if len(sets) != n:
            raise UsageError(f"quorums have {len(sets)} sets {name}, but there are {n} sites")
        for i, each in enumerate(sets):
            if each[0] < 0 or each[-1] >= n:
                wrong = each[0] if each[0] < 0 else each[-1]
                raise UsageError(f"quorums: {name} of site {i} names site {wrong}; sites are 0 to {n - 1}")
    if pair := apart(given.R, given.A):
        raise UsageError(f"quorums: R of site {pair[0]} and A of site {pair[1]} have no site in common")
    return given
