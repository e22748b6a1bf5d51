"""Quorums, planes and information structures: their properties for every N, and bad ones refused."""

from __future__ import annotations

from itertools import combinations, product
from math import ceil, log2, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.core import UsageError
from soloist.structures import information as info
from soloist.structures import quorums as q
from soloist.structures.planes import difference_set, order_for, prime_power
from soloist.structures.trees import Tree

SITES = st.integers(1, 40)
ORDERS = [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16]


@given(SITES, st.sampled_from(sorted(q.SHAPES)))
def test_every_construction_is_valid(n: int, shape: str) -> None:
    quorums = q.quorums(shape, n)
    assert len(quorums) == n
    assert q.apart(quorums.sets) is None
    assert q.strangers(quorums.sets) == []
    assert all(0 <= site < n for each in quorums.sets for site in each)
    assert str(quorums) == shape


@given(SITES)
def test_sizes(n: int) -> None:
    """Majorities just over half; rows and columns about 2 sqrt(N); a line as long as its plane allows."""
    assert {len(each) for each in q.majority(n).sets} == {n // 2 + 1}
    assert max(map(len, q.grid(n).sets)) <= 2 * ceil(sqrt(n)) - 1
    assert max(map(len, q.plane(n).sets)) <= order_for(n) + 1
    assert max(map(len, q.tree(n).sets)) <= int(log2(n)) + 1


@pytest.mark.parametrize("order", ORDERS)
def test_a_plane(order: int) -> None:
    """Any two lines meet in exactly one point, and every point is on q+1 lines."""
    n = order**2 + order + 1
    lines = [set(each) for each in q.plane(n).sets]
    assert {len(line) for line in lines} == {order + 1}
    assert {len(a & b) for a, b in combinations(lines, 2)} == {1}
    assert {sum(p in line for line in lines) for p in range(n)} == {order + 1}


@pytest.mark.parametrize("order", ORDERS[1:])
def test_a_difference_set_has_every_difference_once(order: int) -> None:
    n = order**2 + order + 1
    line = difference_set(order)
    assert sorted((a - b) % n for a, b in product(line, repeat=2) if a != b) == list(range(1, n))


def test_the_planes_of_the_books() -> None:
    assert difference_set(2) == (0, 1, 3)
    assert difference_set(3) == (0, 1, 3, 9)


@pytest.mark.parametrize(
    ("n", "order"), [(1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (31, 5), (32, 7), (43, 7), (73, 8)]
)
def test_the_order_of_a_padded_plane(n: int, order: int) -> None:
    """There is none of order 6: after 31 points come 57."""
    assert order_for(n) == order


def test_prime_powers() -> None:
    found = [i for i in range(30) if prime_power(i)]
    assert found == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29]
    assert prime_power(27) == (3, 3)


# Trees with sites that are down.


@given(st.integers(1, 15), st.data())
def test_tree_quorums_meet_whatever_each_site_believes_to_be_down(n: int, data: st.DataObject) -> None:
    """Agrawal and El Abbadi: quorums of different failure views intersect, and avoid what is down."""
    views = [data.draw(st.sets(st.integers(0, n - 1), max_size=4)) for _ in range(2)]
    sites = [data.draw(st.integers(0, n - 1)) for _ in range(2)]
    found = [q.tree_quorum(n, site, down) for site, down in zip(sites, views, strict=True)]
    for quorum, down in zip(found, views, strict=True):
        assert quorum is None or not quorum & down
    if found[0] is not None and found[1] is not None:
        assert found[0] & found[1]


@pytest.mark.parametrize("n", [5, 6, 7])
def test_all_tree_quorums_under_all_failures_meet(n: int) -> None:
    views = [set(down) for size in range(n + 1) for down in combinations(range(n), size)]
    found = {frozenset(each) for down in views for i in range(n) if (each := q.tree_quorum(n, i, down))}
    assert all(a & b for a, b in combinations(found, 2))


def test_the_root_is_replaced_by_two_paths() -> None:
    assert q.tree(7)[3] == (0, 1, 3)
    assert q.tree(7, {0})[3] == (1, 2, 3, 5)
    assert q.tree(7, {3})[3] == (0, 1, 4)


def test_a_tree_may_have_no_quorum_left() -> None:
    assert q.tree_quorum(3, 0, {0, 1}) is None
    with pytest.raises(UsageError, match="no tree quorum is left for site 0 with 0, 1 down"):
        q.tree(3, {0, 1})


# Given ones.


@given(st.integers(1, 12), st.data())
def test_what_is_given_is_accepted_exactly_if_it_excludes(n: int, data: st.DataObject) -> None:
    sets = [data.draw(st.sets(st.integers(0, n - 1), min_size=1)) for _ in range(n)]
    meets = all(a & b for a, b in combinations(sets, 2))
    try:
        accepted = q.quorums(sets, n)
    except UsageError:
        assert not meets
    else:
        assert meets
        assert q.quorums(str(accepted), n).sets == accepted.sets


def test_quorums_can_be_given_as_text_as_sets_by_site_and_as_a_value() -> None:
    for value in ("0+1,1+2,2+0", [{0, 1}, {1, 2}, {2, 0}], {0: (0, 1), 1: (1, 2), 2: (2, 0)}, q.majority(3)):
        assert q.quorums(value, 3).sets == ((0, 1), (1, 2), (0, 2))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0+1,1+2,2", "sites 0 and 2 have no site in common"),
        ("0+1,1+2", "given for 2 sites, but there are 3"),
        ("0+1,,2", "quorum of site 1 is empty"),
        ("0+1,1+2,0+7", "quorum of site 2 names site 7"),
        ("gird", "did you mean grid"),
        (q.majority(4), "given for 4 sites, but there are 3"),
    ],
)
def test_what_is_no_quorum_system_is_refused(value: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        q.quorums(value, 3)


def test_minimality() -> None:
    assert q.redundant([{0, 1}, {0, 1, 2}]) == (0, 1)
    assert q.redundant(q.plane(7).sets) is None


# Information structures.


@given(SITES, st.sampled_from(sorted(info.STRUCTURES)))
def test_every_structure_is_valid(n: int, name: str) -> None:
    structure = info.information(name, n)
    assert info.flaw(structure.I, structure.R) is None
    assert all((i in structure.status(j)) == (j in structure.I[i]) for i, j in product(range(n), repeat=2))
    assert str(structure) == name


@pytest.mark.parametrize(
    ("name", "cost"), [("ricart-agrawala", 18), ("central", 3), ("lamport", 27), ("maekawa", 9)]
)
def test_the_cost_of_a_structure(name: str, cost: int) -> None:
    """|I - {i}| + 2|R - {i}|, of the last of ten sites."""
    inform, ask = info.information(name, 10).costs[-1]
    assert inform + 2 * ask == cost


@given(st.integers(1, 6), st.data())
def test_a_structure_is_accepted_exactly_if_every_pair_is_kept_apart(n: int, data: st.DataObject) -> None:
    sets = st.sets(st.integers(0, n - 1))
    inform = [data.draw(sets) for _ in range(n)]
    ask = [data.draw(sets) | each for each in inform]

    def apart(i: int, j: int) -> bool:
        selves = j in ask[i] and i in ask[j] and i in inform[i] and j in inform[j]
        return bool(inform[i] & inform[j]) or selves

    good = all(apart(i, j) for i, j in combinations(range(n), 2))
    assert (info.flaw(inform, ask) is None) == good
    if good:
        structure = info.information((inform, ask), n)
        again = info.information(str(structure), n)
        assert (again.I, again.R) == (structure.I, structure.R)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (",/0+1,0+1", "site 0 does not inform itself"),
        ("0,1/0,1", "do not ask each other"),
        ("0+1,1/0,1", "site 0 informs 1 without asking it"),
        ("0/0", "1 and 1 sets, but there are 2 sites"),
        ("0,7/0+7,0+7", "names site 7"),
        ("maekava", "did you mean maekawa"),
    ],
)
def test_what_is_no_structure_is_refused(value: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        info.information(value, 2)


# Weights, triangles and arbitrary trees.


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any))
def test_any_two_groups_with_more_than_half_of_the_votes_meet(votes: list[int]) -> None:
    weights = q.weights(votes, len(votes))
    groups = q.weighted_majority(weights)
    assert q.apart(groups.sets) is None
    for i, group in enumerate(groups.sets):
        assert 2 * sum(votes[j] for j in group) > sum(votes)
        assert all(votes[j] for j in group)
        assert i in group or not votes[i]


@pytest.mark.parametrize("side", range(1, 9))
def test_a_triangle_has_sets_as_long_as_its_side(side: int) -> None:
    """N = m(m+1)/2: m is sqrt(2N) but for the rounding."""
    n = side * (side + 1) // 2
    assert {len(each) for each in q.triangle(n).sets} == {side}
    assert side == round(sqrt(2 * n) - 0.5)


@given(st.integers(2, 9), st.data())
def test_quorums_of_any_tree_meet_whoever_is_thought_to_be_down(n: int, data: st.DataObject) -> None:
    parents = [0, *(data.draw(st.integers(0, i - 1)) for i in range(1, n))]
    shape = Tree(parents)
    down = st.sets(st.integers(0, n - 1))
    one, other = (
        q.tree_quorum(n, data.draw(st.integers(0, n - 1)), failed, shape)
        for failed in (data.draw(down), data.draw(down))
    )
    if one is not None and other is not None:
        assert one & other


def test_a_site_that_is_down_needs_a_path_below_each_of_its_children() -> None:
    star = Tree([0, 0, 0, 0])
    assert q.tree_quorum(4, 2, (), star) == {0, 2}
    assert q.tree_quorum(4, 2, {0}, star) == {1, 2, 3}
    assert q.tree_quorum(4, 2, {0, 3}, star) is None
