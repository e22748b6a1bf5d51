"""Intervals, quantiles and fairness."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.lab.fits import fit
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


@pytest.mark.parametrize("count", [1, 39, *range(40, 130)])
def test_the_mean_lies_in_its_interval(count: int) -> None:
    """All values count for both: of 50, 20 batches of two would leave out ten."""
    random = Random(count)
    values = [random.expovariate(1) + (place >= 40) for place in range(count)]
    found = over([values])
    if found.ci95 is not None:
        assert found.ci95[0] <= found.mean <= found.ci95[1]
        assert sum(found.ci95) / 2 == pytest.approx(found.mean)
    assert (found.ci95 is None) == (len(values) < 40)


def test_the_last_values_are_in_a_batch() -> None:
    assert batch_means([0.0] * 58 + [2.0])[-1] == pytest.approx(2 / 3)
    assert len(batch_means([1.0] * 59)) == 20


@pytest.mark.parametrize("freedom", [*range(1, 60), 100, 1000, 10**6])
def test_student_t_against_scipy(freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t975(freedom) == pytest.approx(float(stats.t.ppf(0.975, freedom)), abs=5e-4)


def test_intervals_and_quantiles_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    numpy = pytest.importorskip("numpy")
    random = Random(2)
    samples = [random.expovariate(1) for _ in range(30)]
    low, high = stats.t.interval(0.95, 29, loc=numpy.mean(samples), scale=stats.sem(samples))
    assert estimate(samples).ci95 == pytest.approx((low, high), rel=1e-4)
    for share in (0.01, 0.5, 0.9, 0.99, 1.0):
        theirs = numpy.quantile(samples, share, method="inverted_cdf")
        assert quantile(sorted(samples), share) == theirs


def test_a_line_through_points() -> None:
    pytest.importorskip("scipy")
    assert fit([1, 2], [3, 5]) == (pytest.approx(2), 0.0)
    slope, half = fit([0, 1, 2, 3], [0, 1.1, 1.9, 3])
    assert slope == pytest.approx(0.98)
    assert half == pytest.approx(
        4.303 * (0.018 / 2 / 5) ** 0.5, abs=1e-4
    )  # t x s over the root of the spread of x


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
