"""Trees: distances against a second, slower way; bad ones refused."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.core import UsageError
from soloist.structures.trees import Tree, from_edges, tree


def distance(t: Tree, a: int, b: int) -> int:
    """By walking up from both ends."""

    def path(site: int) -> list[int]:
        return [site] if site == 0 else [site, *path(t.parent[site])]

    up, down = path(a), path(b)
    return len(set(up) ^ set(down))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    n = draw(st.integers(1, 12))
    edges = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    names = draw(st.permutations(range(n)))
    return from_edges(n, [(names[a], names[b]) for a, b in edges])


@given(trees())
def test_mean_distance_and_diameter(t: Tree) -> None:
    n = len(t.parent)
    distances = [distance(t, a, b) for a, b in product(range(n), repeat=2)]
    assert t.mean_distance == pytest.approx(sum(distances) / n**2)
    assert t.diameter == max(distances)


@pytest.mark.parametrize(
    ("shape", "n", "mean", "diameter"),
    [
        ("line", 10, (10**2 - 1) / (3 * 10), 9),
        ("star", 10, 2 * 9**2 / 10**2, 2),
        ("tree", 7, 96 / 49, 4),
        ("tree", 1, 0, 0),
    ],
)
def test_the_shapes(shape: str, n: int, mean: float, diameter: int) -> None:
    """Closed forms: a line has mean distance (N²-1)/3N, a star 2(N-1)²/N²."""
    t = tree(shape, n)
    assert t.mean_distance == pytest.approx(mean)
    assert t.diameter == diameter


def test_a_tree_can_be_given_as_text_as_edges_and_as_a_value() -> None:
    for value in ("0-1,1-2", [(0, 1), (2, 1)], tree("line", 3)):
        assert list(tree(value, 3).parent) == [0, 0, 1]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0-1,1-2,2-0", "close a cycle"),
        ("0-1", "site 2 cannot be reached"),
        ("0-1,1-9", "names site 9"),
        ("0-1,", "unknown topology"),
        ("ring", "unknown topology 'ring'"),
        (tree("line", 4), "has 4 sites, but there are 3"),
    ],
)
def test_what_is_no_tree_is_refused(value: str | Tree, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        tree(value, 3)
