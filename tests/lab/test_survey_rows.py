"""The rows of the survey are told apart from their nearest wrong ones: fed with what these predict, they are refuted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import log2, sqrt
from typing import Any

import pytest

import soloist.lab.papers.survey_rows as survey
from soloist.lab.papers.survey import in_turn
from soloist.lab.papers.survey_growth import growth
from soloist.lab.papers.survey_judges import Seen
from soloist.sim.statistics import Estimate

ENDS: dict[str, Callable[[int], tuple[float, float]]] = {
    "maekawa (plane)": lambda n: (3 * survey.others(n), 5 * survey.others(n)),
    "kakugawa": lambda n: (3 * survey.of_coterie(n), 5 * survey.of_coterie(n)),
    "carvalho-roucairol": lambda n: (0, 2 * (n - 1)),
    "helary-plouzeau-raynal (tree)": lambda n: (n, n - 1 + survey.diameter(n)),
    "helary-plouzeau-raynal (line)": lambda n: (n, 2 * (n - 1)),
    "helary-plouzeau-raynal (ring)": lambda n: (n, 2 * n),
}
MOST: dict[str, Callable[[int], float]] = {
    "neilsen-mizuno (line)": lambda n: n,
    "neilsen-mizuno (star)": lambda n: 3,
    "raymond-tree (tree)": lambda n: 2 * survey.diameter(n),
    "raymond-k": lambda n: 2 * (n - 1),
}
EACH: dict[str, Callable[[int], float]] = {
    "ricart-agrawala-token": lambda n: n,
    "suzuki-kasami": lambda n: n,
    "helary-plouzeau-raynal (full)": lambda n: n,
    "nishio": lambda n: n,
    "lamport": lambda n: 3 * (n - 1),
    "ricart-agrawala": lambda n: 2 * (n - 1),
    "sanders (ricart-agrawala)": lambda n: 2 * (n - 1),
}
TRIANGULAR = "mizuno-neilsen-rao (modified-grid)"
GROWING = ("mizuno-neilsen-rao (tree)", "naimi-trehel", "agrawal-el-abbadi", "raymond-tree (tree)")


def judged(label: str, seen: Seen, which: int = 0) -> list[bool | None]:
    row = [row for row in survey.ROWS if row.label == label][which]
    return row.judge(seen)[0]


def each_costs(f: Callable[[int], list[float]]) -> Seen:
    costs: Any = {n: f(n) for n in survey.SIZES}
    return Seen(alone=costs, heavy=costs)


def near(value: float) -> Estimate:
    return Estimate(value, (value - 0.01, value + 0.01))


@pytest.mark.parametrize("label", EACH)
def test_a_row_that_gives_one_number_is_told_from_the_next(label: str) -> None:
    f = EACH[label]
    assert judged(label, each_costs(lambda n: [f(n)])) == [True, True]
    for off in (-1, 1):
        assert judged(label, each_costs(lambda n, off=off: [f(n), f(n) + off])) == [False, False]


@pytest.mark.parametrize("label", ENDS)
def test_a_row_that_gives_two_ends_is_told_from_wider_and_narrower(label: str) -> None:
    f = ENDS[label]
    assert judged(label, each_costs(lambda n: list(f(n)))) == [True, True]
    assert judged(label, each_costs(lambda n: [f(n)[0], f(n)[1] + 1])) == [False, False]
    assert judged(label, each_costs(lambda n: [f(n)[0], f(n)[1] - 1]))[1] is False
    assert judged(label, each_costs(lambda n: [f(n)[0] + 1, f(n)[1]]))[1] is False


@pytest.mark.parametrize("label", MOST)
def test_a_bound_is_told_from_a_larger_and_a_smaller_one(label: str) -> None:
    f = MOST[label]
    assert judged(label, each_costs(lambda n: [1, f(n)])) == [True, True]
    assert judged(label, each_costs(lambda n: [1, f(n) + 1])) == [False, True]
    assert judged(label, each_costs(lambda n: [1, f(n) - 1])) == [True, False]


@pytest.mark.parametrize("label", GROWING)
def test_growth_like_a_logarithm_is_told_from_that_of_a_root(label: str) -> None:
    which = -1  # of two rows with this name, the second is about growth
    row = [row for row in survey.ROWS if row.label == label][which]

    def growing(f: Callable[[float], float]) -> Seen:
        means = {n: 2 + 3 * f(n) for n in row.sizes}
        if "light" in row.situations:
            return Seen(light={n: near(mean) for n, mean in means.items()})
        return Seen(alone={n: [mean] for n, mean in means.items()})  # type: ignore[list-item]

    assert judged(label, growing(log2), which) == [True]
    assert judged(label, growing(sqrt), which) == [False]
    assert judged(label, growing(float), which) == [False]


@pytest.mark.parametrize(
    ("label", "light", "heavy", "expected"),
    [
        ("singhal-heuristic", lambda n: (n + 1) / 2, lambda n: n, [True, True]),
        ("singhal-heuristic", lambda n: n / 2, lambda n: n - 1, [False, False]),
        ("singhal-dynamic", lambda n: n - 1, lambda n: 1.5 * (n - 1), [True, True]),
        ("singhal-dynamic", lambda n: n, lambda n: 2 * (n - 1), [False, False]),
    ],
)
def test_means_are_told_from_their_neighbours(
    label: str, light: Callable[[int], float], heavy: Callable[[int], float], expected: list[bool]
) -> None:
    seen = Seen(
        light={n: near(light(n)) for n in survey.SMALL},
        heavy={n: [heavy(n)] for n in survey.SMALL},  # type: ignore[list-item]
    )
    assert judged(label, seen) == expected


@pytest.mark.parametrize("label", ["suzuki-kasami-bounded (5)", "mishra-srimani (5)"])
def test_rounds_are_counted_to_the_message(label: str) -> None:
    for off, right in ((0, True), (1, False), (-1, False)):
        costs = {n: {survey.L * n + n - 1 + off} for n in survey.SIZES}
        assert judged(label, Seen(rounds=costs)) == [right]


@pytest.mark.parametrize(("label", "power"), [("raynal", 2), ("raynal-inform", 1)])
def test_a_mean_above_a_bound_refutes_it(label: str, power: int) -> None:
    bound = {n: power * (n - 1) ** 2 for n in survey.SIZES[:2]}
    assert judged(label, Seen(heavy={n: [cost] for n, cost in bound.items()})) == [True]
    assert judged(label, Seen(heavy={n: [cost + 1] for n, cost in bound.items()})) == [False]


def test_srimani_and_reddy_give_a_number_that_is_only_a_bound() -> None:
    most = each_costs(lambda n: [n + survey.K - 1])
    fewer = each_costs(lambda n: [n, n + survey.K - 1])
    assert judged("srimani-reddy", most) == [True, True, True, True]
    assert judged("srimani-reddy", fewer) == [False, False, True, True]


def test_three_roots_are_told_from_two_and_four() -> None:
    label = "mizuno-neilsen-rao (plane)"
    for times, right in ((3, True), (2, False), (4, False)):
        assert judged(label, each_costs(lambda n, times=times: [times * sqrt(n)])) == [right, right]


def test_the_modified_grid_is_told_from_one_message_more_or_less() -> None:
    for off, right in ((0, [True, True]), (1, [False, True]), (-1, [True, False])):
        costs: Any = {n: [2 * (survey.triangle_side(n) - 1) + off] for n in survey.TRIANGLES}
        assert judged(TRIANGULAR, Seen(alone=costs, heavy=costs)) == right


ORDERS: dict[str, Callable[[int], float]] = {
    "1": lambda n: 3 - 2 / n,
    "log N": lambda n: 3 * log2(n) + 1,
    "sqrt N": lambda n: 3 * sqrt(n) - 1,
    "N": lambda n: 2 * n + 1,
    "N²": lambda n: (n - 1) ** 2,
}


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_of_growth_is_told_from_the_others(order: str) -> None:
    """At the sizes that are measured; with two of them nothing is said."""
    row = next(row for row in survey.ROWS if row.order == order)
    for name, cost in ORDERS.items():
        costs: Any = {n: [cost(n)] for n in (7, 13, 31)}
        found = growth(row, Seen(alone=costs))
        assert (found.order, found.agrees) == (name, name == order)
    assert growth(row, Seen(alone={7: [7], 13: [13]})).agrees is None


def test_every_row_of_the_survey_is_put_to_the_test() -> None:
    tried = {*EACH, *ENDS, *MOST, *GROWING, "mizuno-neilsen-rao (plane)", "srimani-reddy"}
    tried |= {"singhal-heuristic", "singhal-dynamic", "raynal", "raynal-inform"}
    tried |= {"suzuki-kasami-bounded (5)", "mishra-srimani (5)", TRIANGULAR}
    assert {row.label for row in survey.ROWS} == tried


def test_every_row_quotes_the_survey() -> None:
    assert all(row.quote and row.against for row in survey.ROWS)


@pytest.mark.parametrize("n", [2, 7])
def test_every_site_asks_after_every_other_once(n: int) -> None:
    order = list(in_turn(n))
    pairs = list(pairwise(order))
    assert len(pairs) == len(set(pairs)) == n * n
