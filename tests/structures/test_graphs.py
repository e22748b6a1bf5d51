"""Graphs, random trees and quorum agreements: against a second, slower way; bad ones refused."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.core import UsageError
from soloist.structures import quorums, trees
from soloist.structures.agreements import SHAPES as AGREEMENTS
from soloist.structures.agreements import Agreement, agreement, apart
from soloist.structures.graphs import SHAPES, Graph, from_edges, graph

SIZES = st.integers(1, 40)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A tree, and edges at will."""
    n = draw(st.integers(1, 9))
    trunk = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    more = draw(st.lists(st.sampled_from(list(combinations(range(n), 2))))) if n > 1 else []
    return from_edges(n, [*trunk, *more])


def all_distances(g: Graph) -> dict[tuple[int, int], float]:
    """Floyd and Warshall."""
    far = float("inf")
    d = {
        (a, b): 0 if a == b else 1 if b in g.neighbours[a] else far for a, b in product(range(g.n), repeat=2)
    }
    for via, a, b in product(range(g.n), repeat=3):
        d[a, b] = min(d[a, b], d[a, via] + d[via, b])
    return d


@given(graphs())
def test_distances(g: Graph) -> None:
    d = all_distances(g)
    assert all(g.distances(a)[b] == d[a, b] for a, b in d)
    assert g.diameter == max(d.values())
    assert g.mean_distance == pytest.approx(sum(d.values()) / g.n**2)


@given(graphs())
def test_neighbours_are_mutual(g: Graph) -> None:
    for a, near in enumerate(g.neighbours):
        assert list(near) == sorted(set(near) - {a})
        assert all(a in g.neighbours[b] for b in near)
    assert set(g.edges) == {(a, b) for a in range(g.n) for b in g.neighbours[a] if a < b}


@given(graphs())
def test_a_flood_tells_everybody_and_no_neighbour_twice(g: Graph) -> None:
    for origin in range(g.n):
        assert g.n - 1 <= g.flood(origin) <= max(2 * len(g.edges) - (g.n - 1), 0)
        if g.is_tree:
            assert g.flood(origin) == g.n - 1


@given(st.sampled_from(sorted(SHAPES)), SIZES)
def test_every_shape_is_connected(shape: str, n: int) -> None:
    g = graph(shape, n)
    assert g.n == n
    assert -1 not in g.distances(0)
    assert str(g) == shape
    assert g.edges == graph(shape, n).edges


@pytest.mark.parametrize("n", [5, 6, 9, 10])
def test_what_shapes_cost(n: int) -> None:
    assert graph("full", n).mean_flood == n - 1
    assert graph("line", n).mean_flood == n - 1
    assert graph("ring", n).mean_flood == n + 1, "the two waves cross"
    assert graph("ring", n).diameter == n // 2
    assert len(graph("full", n).edges) == n * (n - 1) // 2


@given(SIZES)
def test_random_trees_are_trees_and_stay_the_same(n: int) -> None:
    t = trees.tree("random", n)
    assert t.parent[0] == 0
    assert all(0 <= t.parent[i] < i for i in range(1, n))
    assert t.parent == trees.tree("random", n).parent


def test_a_random_tree_is_neither_a_line_nor_a_star() -> None:
    t = trees.tree("random", 30)
    assert 4 < t.diameter < 15


def test_a_graph_can_be_given_as_text_as_edges_and_as_a_value() -> None:
    values = ("0-1,1-2", [(0, 1), (2, 1), (1, 0)], graph("line", 3), trees.tree("line", 3), {(1, 2), (0, 1)})
    for value in values:
        assert graph(value, 3).neighbours == ((1,), (0, 2), (1,))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0-1", "not connected: site 2 cannot be reached"),
        ("0-1,1-9", "names site 9"),
        ("0-1,1-1,1-2", "must not join site 1 to itself"),
        ("cycle", "unknown topology 'cycle'"),
        (graph("line", 4), "has 4 sites, but there are 3"),
        (Graph(3, [(0, 1)]), "site 2 cannot be reached"),
        (7, "must be a name or edges"),
        ([(0, 1, 2)], "must be a name or edges"),
    ],
)
def test_what_is_no_graph_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        graph(value, 3)


def test_what_is_no_tree_is_refused_too() -> None:
    with pytest.raises(UsageError, match="must be a name or edges"):
        trees.tree(7, 3)  # type: ignore[arg-type]


# Quorum agreements.


@given(st.sampled_from(sorted(AGREEMENTS)), SIZES)
def test_request_and_acquired_sets_meet(shape: str, n: int) -> None:
    sets = agreement(shape, n)
    assert sets.n == n
    assert apart(sets.R, sets.A) is None
    assert all(i in sets.R[i] and i in sets.A[i] for i in range(n))
    assert all((i in sets.A[j]) == (j in sets.told_by[i]) for i, j in product(range(n), repeat=2))


@pytest.mark.parametrize("n", [4, 9, 16, 25])
def test_a_square_grid_needs_the_root_of_n(n: int) -> None:
    sets = agreement("grid", n)
    assert {len(each) ** 2 for each in (*sets.R, *sets.A)} == {n}


def test_an_agreement_can_be_given_as_sets_and_as_quorums() -> None:
    everybody = [range(3)] * 3
    alone = [[0], [1], [2]]
    assert agreement((everybody, alone), 3).R == ((0, 1, 2),) * 3
    assert agreement(Agreement(everybody, alone), 3).A == ((0,), (1,), (2,))
    assert agreement(quorums.majority(3), 3).R == agreement(quorums.majority(3), 3).A


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("square", "unknown quorums 'square'"),
        (([[0], [1], [2]], [[0], [1], [2]]), "R of site 0 and A of site 1 have no site in common"),
        (([[0, 5], [1], [2]], [[0], [1], [2]]), "R of site 0 names site 5"),
        (([[0], [1]], [[0], [1]]), "2 sets R, but there are 3 sites"),
        (5, "must be one of grid, modified-grid, plane, tree or two lists"),
    ],
)
def test_what_is_no_agreement_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        agreement(value, 3)
