"""k-coteries: the constructions have all three properties, and what has not is refused with the reason."""

from __future__ import annotations

from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.core import UsageError
from soloist.structures import coteries
from soloist.structures.coteries import SHAPES, coterie, crowd, disjoint_families, full
from soloist.structures.quorums import Quorums, redundant

QUORUMS = {
    "majority": coteries.majority,
    "cohorts": coteries.cohorts,
    "singletons": coteries.singletons,
}
SURVEY = [{0, 1}, {0, 2}, {1, 3}, {2, 3}]
"""The example of the survey of 1993, section 6."""

sizes = st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))
some_sets = st.lists(st.frozensets(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=7)


@given(sizes, st.sampled_from(sorted(SHAPES)))
def test_the_constructions_are_k_coteries(size: tuple[int, int], shape: str) -> None:
    n, k = size
    quorums = list(QUORUMS[shape](n, k))
    assert all(site in range(n) for quorum in quorums for site in quorum)
    assert crowd(quorums, k) is None
    assert full(quorums, k) is None
    assert redundant(quorums) is None


@given(sizes, st.sampled_from(sorted(SHAPES)))
def test_homes_are_quorums_and_k_of_them_are_disjoint(size: tuple[int, int], shape: str) -> None:
    n, k = size
    homes = coterie(shape, n, k)
    assert len(homes) == n
    assert {frozenset(home) for home in homes.sets} <= set(QUORUMS[shape](n, k))
    assert next(disjoint_families(homes.sets, k), None) is not None


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("k", [1, 2, 3, 7, 30])
def test_large_systems_need_no_list_of_all_quorums(shape: str, k: int) -> None:
    homes = coterie(shape, 30, k)
    assert next(disjoint_families(homes.sets, k), None) is not None


@given(some_sets, st.integers(1, 4))
def test_properties_against_their_definitions(sets: list[frozenset[int]], k: int) -> None:
    """The slow way: all families of distinct quorums of each size."""
    quorums = list(dict.fromkeys(sets))

    def disjoint(size: int) -> list[tuple[frozenset[int], ...]]:
        return [f for f in combinations(quorums, size) if all(not a & b for a, b in combinations(f, 2))]

    assert (crowd(quorums, k) is None) == (not disjoint(k + 1))
    room = all(
        any(all(not quorum & other for other in family) for quorum in quorums)
        for h in range(k)
        for family in disjoint(h)
    )
    assert (full(quorums, k) is None) == room


def test_the_example_of_the_survey() -> None:
    assert crowd(SURVEY, 2) is None
    assert full(SURVEY, 2) is None
    assert redundant(SURVEY) is None
    assert coterie("0+1,0+2,1+3,2+3", 4, 2).sets == ((0, 1), (0, 1), (2, 3), (2, 3))


def test_the_surveys_condition_lets_too_little_pass() -> None:
    """Survey of 1993, section 6, condition a): 'from one of these' instead of 'from all of these'."""
    quorums = [frozenset({0}), frozenset({1})]
    for h in (1, 2):
        for family in islice(disjoint_families(quorums, h), 9):
            assert any(not quorum & other for quorum in quorums for other in family)
    assert full(quorums, 3) == tuple(quorums)


@pytest.mark.parametrize(
    ("n", "k", "m", "w"),
    [(4, 2, 4, 2), (5, 2, 5, 2), (3, 2, 2, 1), (10, 3, 10, 3), (5, 1, 5, 3), (6, 6, 6, 1)],
)
def test_sizes_of_k_majorities(n: int, k: int, m: int, w: int) -> None:
    """For N=3, k=2 there is none over all three sites: two quorums of two sites each meet."""
    assert coteries.majority_size(n, k) == (m, w)


def test_cohorts() -> None:
    """Huang, Jiang and Kuo 1993: cohorts of 2 and 3 sites, k=2."""
    assert coteries.cohorts_of(5, 2) == [[0, 1], [2, 3, 4]]
    quorums = list(coteries.cohorts(5, 2))
    assert len(quorums) == 9
    assert {len(quorum) for quorum in quorums} == {2}


def test_a_coterie_can_be_given_as_quorums_and_as_homes() -> None:
    assert coterie(SURVEY, 4, 2).sets == coterie("0+1,0+2,1+3,2+3", 4, 2).sets
    homes = Quorums([{0, 1}, {0, 2}, {1, 3}, {2, 3}])
    assert coterie(homes, 4, 2) is homes


@pytest.mark.parametrize(
    ("value", "k", "complaint"),
    [
        ("0,1,2", 2, "3 quorums are disjoint: 0,1,2"),
        ("0+1,1+2,2+0", 2, "no quorum is disjoint from 0\\+1, so fewer than 2"),
        ("0,1", 3, "no quorum is disjoint from 0,1"),
        ("0,0+1,2", 2, "quorum 0\\+1 contains quorum 0"),
        ("0+7,1", 2, "names site 7; sites are 0 to 3"),
        ("0,,1", 2, "empty quorum"),
        ("ring", 2, "unknown coterie 'ring'"),
        (Quorums([{0}] * 3), 1, "homes are given for 3 sites, but there are 4"),
        (Quorums([{0}] * 4), 2, "never let 2 sites in together"),
        (Quorums([{0}, {1}, {2}, {2}]), 2, "let more than 2 in: 0,1,2"),
    ],
)
def test_what_is_no_coterie_is_refused(value: str | Quorums, k: int, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        coterie(value, 4, k)
