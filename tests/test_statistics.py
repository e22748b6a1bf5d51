"""Intervals, quantiles and fairness."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.sim.statistics import batch_means, estimate, jain, over, overtaken, quantile, t975


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.706), (9, 2.262), (11, 2.201), (19, 2.093), (120, 1.980)]
)
def test_student_t(freedom: int, value: float) -> None:
    """Values from any printed table of Student's t."""
    assert t975(freedom) == pytest.approx(value, abs=0.001)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    random = Random(1)
    hits = 0
    for _ in range(2000):
        low, high = estimate([random.gauss(5, 2) for _ in range(8)]).ci95 or (0, 0)
        hits += low <= 5 <= high
    assert 0.935 < hits / 2000 < 0.965


def test_one_sample_has_no_interval() -> None:
    assert estimate([3.0]).ci95 is None
    assert over([[3.0]]).ci95 is None


def test_a_single_run_is_judged_by_its_batches() -> None:
    values = [float(i % 10) for i in range(1000)]
    assert len(batch_means(values)) == 20
    assert over([values]).mean == pytest.approx(4.5)


def test_quantiles() -> None:
    values = [float(i) for i in range(1, 101)]
    assert quantile(values, 0.5) == 50
    assert quantile(values, 0.99) == 99
    assert quantile([7.0], 0.99) == 7


def test_jain() -> None:
    assert jain([5, 5, 5, 5]) == 1
    assert jain([20, 0, 0, 0]) == 0.25
    assert jain([0, 0]) == 1


@given(st.permutations(range(12)))
def test_overtaken_counts_the_later_ones_that_were_served_before(order: list[int]) -> None:
    slow = [sum(later < turn for later in order[i + 1 :]) for i, turn in enumerate(order)]
    assert overtaken(order) == slow
