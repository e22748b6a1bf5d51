"""Means with confidence intervals, quantiles, and measures of fairness."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, inf, sqrt
from statistics import NormalDist, fmean, stdev

import msgspec

BATCHES = 20
"""Batches that a single run is cut into; more would leave too little independence between them."""

_T975 = (inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def t975(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: exact to three decimals."""
    if freedom < len(_T975):
        return _T975[freedom]
    z: float = NormalDist().inv_cdf(0.975)
    # Cornish and Fisher's expansion in 1/freedom.
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


class Estimate(msgspec.Struct, frozen=True):
    """A mean and its 95 % confidence interval [low, high]; no interval where there is no spread to judge."""

    mean: float
    ci95: tuple[float, float] | None

    @property
    def half_width(self) -> float:
        return (self.ci95[1] - self.ci95[0]) / 2 if self.ci95 else 0.0


def estimate(samples: Sequence[float]) -> Estimate:
    """From independent samples, such as the means of replications."""
    mean = fmean(samples)
    if len(samples) < 2:
        return Estimate(mean, None)
    half = t975(len(samples) - 1) * stdev(samples) / sqrt(len(samples))
    return Estimate(mean, (mean - half, mean + half))


def batch_means(values: Sequence[float]) -> list[float]:
    """The means of consecutive batches of nearly the same size: nearly independent where neighbouring values are not."""
    if len(values) < 2 * BATCHES:
        return [fmean(values)]
    cuts = [i * len(values) // BATCHES for i in range(BATCHES + 1)]
    return [fmean(values[start:stop]) for start, stop in pairwise(cuts)]


def over(runs: Sequence[Sequence[float]]) -> Estimate:
    """The estimate from replications, or, where there is one run only, from its batches."""
    if len(runs) > 1:
        return estimate([fmean(run) for run in runs])
    mean, half = fmean(runs[0]), estimate(batch_means(runs[0])).half_width
    # Batches may differ by one value, so the mean of their means is not quite the mean.
    return Estimate(mean, (mean - half, mean + half) if len(runs[0]) >= 2 * BATCHES else None)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value with at least this share of the values at or below it."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def jain(counts: Sequence[int]) -> float:
    """Jain's index: 1 when all have got the same, 1/N when one has got everything."""
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 1.0


def overtaken(order: Sequence[int]) -> list[int]:
    """How many later ones are served before each one: `order` gives the turns of first, second, …"""
    # Turns are kept negated: the usual case, served in order, then appends instead of inserting.
    later: list[int] = []
    counts = []
    for turn in reversed(order):
        place = bisect_right(later, -turn)
        counts.append(len(later) - place)
        later.insert(place, -turn)
    return counts[::-1]
