"""Kinds of messages differ in colour for everybody: also for those who see two kinds of light where most see three."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest

from soloist.watch.export import PAGE

Triple = tuple[float, float, float]

SIGHTS: dict[str, tuple[Triple, Triple, Triple]] = {
    "most people": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""What is seen of red, green and blue light (Machado, Oliveira and Fernandes 2009)."""
TO_XYZ = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0178, 0.1098, 0.8730))
"""Relative to white."""
APART = 15
"""Units of CIELAB: neighbours in a palette that are told apart at once."""


def light(colour: str) -> Triple:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return linear(red), linear(green), linear(blue)


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def times(matrix: tuple[Triple, Triple, Triple], value: Triple) -> Triple:
    one, two, three = (sum(a * b for a, b in zip(row, value, strict=True)) for row in matrix)
    return one, two, three


def lab(seen: Triple) -> Triple:
    x, y, z = (root(part) for part in times(TO_XYZ, seen))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def root(part: float) -> float:
    part = min(max(part, 0), 1)
    return float(part ** (1 / 3)) if part > 0.008856 else 7.787 * part + 16 / 116


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("screen", ["light", "dark"])
def test_kinds_of_messages_are_told_apart(screen: str, sight: str) -> None:
    style = (PAGE / "page.css").read_text()
    palette = re.findall(r"--kind-\d: (#\w{6})", style)
    assert len(palette) == 16
    colours = palette[:8] if screen == "light" else palette[8:]
    seen = {colour: lab(times(SIGHTS[sight], light(colour))) for colour in colours}
    near = [pair for pair in combinations(colours, 2) if math.dist(seen[pair[0]], seen[pair[1]]) < APART]
    assert near == []
