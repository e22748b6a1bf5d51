"""Lines through points."""

from __future__ import annotations

from collections.abc import Sequence

from soloist.core import UsageError


def fit(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """The slope of the line through the points, and the half-width of its 95 % interval; 0 where two points leave no doubt."""
    try:
        from scipy import stats
    except ImportError:
        raise UsageError("fits need SciPy: pip install 'soloist[lab]'") from None
    found = stats.linregress(xs, ys)
    freedom = len(xs) - 2
    return float(found.slope), float(stats.t.ppf(0.975, freedom) * found.stderr) if freedom > 0 else 0.0
