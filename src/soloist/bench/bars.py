"""What we want our speed to reach, beside what others do in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Self

import msgspec

Spread = tuple[float, float]
"""The least and the largest of the rounds."""


class Bar(msgspec.Struct, frozen=True):
    """One of the figures that we want to reach."""

    what: str
    ours: str
    setting: str
    value: float
    limit: float
    at_most: bool
    spread: Spread | None = None
    """What single rounds say."""

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    @classmethod
    def of(
        cls, what: str, ours: str, setting: str, values: Sequence[float], limit: float, at_most: bool
    ) -> Self:
        """A figure that was measured in several rounds."""
        around = (min(values), max(values)) if len(values) > 1 else None
        return cls(what, ours, setting, median(values), limit, at_most, around)


def bar_table(bars: Sequence[Bar]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells, for people."""
    columns = ("what", "ours", "setting", ">reached", ">least-largest", ">wanted", "met")
    return columns, [
        (
            bar.what,
            bar.ours,
            bar.setting,
            f"{bar.value:.3g}",
            f"{bar.spread[0]:.3g}-{bar.spread[1]:.3g}" if bar.spread else "",
            f"{'≤' if bar.at_most else '≥'} {bar.limit:g}",
            "yes" if bar.met else "NO",
        )
        for bar in bars
    ]
