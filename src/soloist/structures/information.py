"""Sanders' information structures: whom each site informs, and whom it asks.

I_i   informing set: who is told when site i enters and leaves (grants to i are exclusive there)
R_i   request set: whose permission i needs
St_i  status set: {j : i in I_j}, whose state site i keeps

ricart-agrawala   I_i = {i},   R_i = all     nobody is told, everybody is asked
maekawa           I_i = R_i = S_i            the grid of `quorums`
central           I_i = R_i = {0}
lamport           I_i = R_i = all            everybody keeps everything
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

from soloist.core.errors import UsageError
from soloist.core.message import Site
from soloist.structures.quorums import grid, parse_sets

Sets = Sequence[Collection[Site]]


class Information:
    """I_i and R_i for every site i, each in ascending order."""

    def __init__(self, I: Sequence[Iterable[Site]], R: Sequence[Iterable[Site]], name: str = "") -> None:  # noqa: E741
        self.I = tuple(tuple(sorted(set(each))) for each in I)
        self.R = tuple(tuple(sorted(set(each))) for each in R)
        self.name = name or f"{_text(self.I)}/{_text(self.R)}"

    def __str__(self) -> str:
        return self.name

    def status(self, i: Site) -> tuple[Site, ...]:
        """St_i."""
        return tuple(j for j, each in enumerate(self.I) if i in each)

    @cached_property
    def costs(self) -> list[tuple[int, int]]:
        """|I_i - {i}| and |R_i - {i}| for every site."""
        return [
            (len(set(inform) - {i}), len(set(ask) - {i}))
            for i, (inform, ask) in enumerate(zip(self.I, self.R, strict=True))
        ]


def flaw(I: Sets, R: Sets) -> str | None:  # noqa: E741
    """What is wrong with a structure, or None.

    For every i, I_i is part of R_i. For all i and j, I_i meets I_j (a common arbiter keeps them apart), or
    each asks the other and each informs itself (then they keep themselves apart).
    """
    for i, (inform, ask) in enumerate(zip(I, R, strict=True)):
        if not set(inform) <= set(ask):
            return f"site {i} informs {min(set(inform) - set(ask))} without asking it"
    for i, j in combinations(range(len(I)), 2):
        if not set(I[i]).isdisjoint(I[j]):
            continue
        if j not in R[i] or i not in R[j]:
            return f"sites {i} and {j} inform no common site, and do not ask each other"
        for site in (i, j):
            if site not in I[site]:
                return f"sites {i} and {j} inform no common site, and site {site} does not inform itself"
    return None


def ricart_agrawala(n: int) -> Information:
    return Information([{i} for i in range(n)], [range(n)] * n, "ricart-agrawala")


def maekawa(n: int) -> Information:
    sets = grid(n).sets
    return Information(sets, sets, "maekawa")


def central(n: int) -> Information:
    return Information([{0}] * n, [{0}] * n, "central")


def lamport(n: int) -> Information:
    return Information([range(n)] * n, [range(n)] * n, "lamport")


STRUCTURES: Mapping[str, Callable[[int], Information]] = {
    "ricart-agrawala": ricart_agrawala,
    "maekawa": maekawa,
    "central": central,
    "lamport": lamport,
}


def given(I: Sequence[Iterable[Site]], R: Sequence[Iterable[Site]], n: int) -> Information:  # noqa: E741
    """A structure given by its sets; one that does not exclude is refused with the reason."""
    structure = Information(I, R)
    if not len(structure.I) == len(structure.R) == n:
        raise UsageError(
            f"structure has {len(structure.I)} and {len(structure.R)} sets, but there are {n} sites"
        )
    for site in (site for each in (*structure.I, *structure.R) for site in each):
        if not 0 <= site < n:
            raise UsageError(f"structure names site {site}; sites are 0 to {n - 1}")
    if reason := flaw(structure.I, structure.R):
        raise UsageError(f"structure does not exclude: {reason}")
    return structure


def information(value: Any, n: int, k: int = 1) -> Information:
    """A structure from what a user wrote: a name, sets like `0,1/0+1,0+1` (I, then R), or a pair (I, R)."""
    if isinstance(value, str) and value in STRUCTURES:
        return STRUCTURES[value](n)
    if isinstance(value, Information):
        return value if value.name in STRUCTURES and len(value.I) == n else given(value.I, value.R, n)
    if isinstance(value, str):
        inform, _, ask = value.partition("/")
        known = (*STRUCTURES, "sets I/R like 0,1/0+1,0+1")
        return given(parse_sets(inform, "structure", known), parse_sets(ask, "structure", known), n)
    inform_sets, ask_sets = value
    return given(inform_sets, ask_sets, n)


def _text(sets: Iterable[Iterable[Site]]) -> str:
    return ",".join("+".join(map(str, each)) for each in sets)
