"""Cost as the number of sites grows: measured, fitted, and beside it what the theory says.

Requests are rare, so that an entry costs what the structure of the algorithm makes it cost. Linear algorithms
are measured up to thousands of sites, logarithmic ones up to a million.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import msgspec

from soloist.algorithms.naimi_trehel import harmonic
from soloist.lab import plots
from soloist.lab.fits import fit
from soloist.lab.report import Findings, claim, number
from soloist.lab.sweep import Contender
from soloist.lab.table import Point, Row
from soloist.lab.workbench import Workbench
from soloist.sim.statistics import estimate

ABOUT = "cost from 10 sites to 10 000, and to a million where it is logarithmic, with fitted exponents"

ONE_SEED_FROM = 100_000
"""Sites: such a run is long, and its average is over so many of them that another seed changes little."""
RARE = 0.02
"""Requests in the whole system per message time: next to no two of them meet."""


class Growth(msgspec.Struct, frozen=True):
    """An algorithm, and how its messages per entry should grow with the number of sites."""

    contender: Contender
    theory: str
    cost: Callable[[int], float]
    sizes: tuple[int, ...]
    warmup: Callable[[int], int] = lambda n: 100
    """Requests until its structure has forgotten how it began."""
    logarithmic: bool = False


TENS = (10, 30, 100, 300, 1000, 3000)
GROWTHS = (
    Growth(Contender("ricart-agrawala"), "2(N-1)", lambda n: 2 * (n - 1), (*TENS, 10_000)),
    Growth(Contender("lamport"), "3(N-1)", lambda n: 3 * (n - 1), TENS[:-2]),
    Growth(Contender("suzuki-kasami"), "N-1", lambda n: n - 1, TENS[:-1]),
    Growth(
        Contender("maekawa", options={"quorums": "grid"}),
        "3(2 sqrt(N) - 2)",
        lambda n: 3 * (2 * sqrt(n) - 2),
        (9, 36, 100, 324, 1024, 3025),
    ),
    Growth(Contender("central"), "3(N-1)/N", lambda n: 3 * (n - 1) / n, (*TENS, 10_000)),
    Growth(
        Contender("naimi-trehel"),
        "H(N-1)",
        lambda n: harmonic(n - 1),
        (*TENS, 10_000, 100_000, 1_000_000),
        lambda n: max(100, (5 if n < ONE_SEED_FROM else 3) * n),
        logarithmic=True,
    ),
    Growth(
        Contender("raymond-tree", options={"topology": "tree"}),
        "about 4 log2(N) - 12",
        lambda n: 2 * mean_distance(n),
        (*TENS, 10_000, 100_000, 1_000_000),
        logarithmic=True,
    ),
)


def mean_distance(n: int) -> float:
    """Between two sites of a balanced binary tree, drawn independently."""
    below = [1] * (n + 1)  # sites at or under each one, numbered from 1 as in a heap
    for site in range(n, 1, -1):
        below[site // 2] += below[site]
    return sum(2 * below[site] * (n - below[site]) for site in range(2, n + 1)) / n**2


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "Cost as the system grows",
        "The catalogue, at light load",
        """No paper: the formulas are ours, from the cards of the catalogue, and this says whether they are right. The algorithms are
        those of the catalogue, with their repairs.""",
    )
    found = {growth.contender.label: measure(bench, growth) for growth in GROWTHS}
    draw(bench, report, found)
    rows = []
    for growth in GROWTHS:
        points = found[growth.contender.label]
        text, holds = judge(growth, points)
        last = points[-1]
        rows.append(
            (growth.contender.label, growth.theory, f"{last.x:,}", last.mean, growth.cost(last.x), text)
        )
        report.claims.append(
            claim(
                f"{growth.contender.label}: {growth.theory} messages per entry",
                "",
                "the card",
                holds,
                text,
                "a mean that is 6 % off anywhere, or another growth",
            )
        )
    report.heading("Fits")
    report.text(
        """The exponent is the slope of log cost against log N over the sizes from 100 up; where cost is logarithmic, the slope of cost
        against ln N is what counts. Intervals are 95 %, from the scatter of the points about the line."""
    )
    report.table(("algorithm", "theory", ">largest N", ">measured there", ">theory there", "fit"), rows)
    return report


def measure(bench: Workbench, growth: Growth) -> list[Point]:
    """One sweep a size: the larger the system, the fewer entries, until the average is good."""
    points = []
    for n in growth.sizes:
        entries = max(60, min(3000, int(1.5e6 / max(growth.cost(n), 1))))
        fixed = {
            "nodes": n,
            "rate": RARE / n,
            "latency": 1.0,
            "inside": 0.01,
            "entries": entries,
            "warmup": growth.warmup(n),
        }
        few = n >= ONE_SEED_FROM
        one = (
            msgspec.structs.replace(bench, seeds=msgspec.structs.replace(bench.seeds, count=1))
            if few
            else bench
        )
        table = one.sweep(f"{growth.contender.name}-{n}", [growth.contender], fixed, {})
        points.append(_point(n, table.rows))
    return points


def _point(n: int, rows: tuple[Row, ...]) -> Point:
    found = estimate([row.messages_per_entry for row in rows if row.messages_per_entry is not None])
    return Point(n, found.mean, found.ci95, len(rows))


def draw(bench: Workbench, report: Findings, found: dict[str, list[Point]]) -> None:
    title = "Messages per entry as the number of sites grows"
    report.heading("Figures")
    report.text(
        "Requests are rare and come from all sites alike. In the second figure the grey lines are theory."
    )
    path = bench.figure("growth")
    plots.lines(
        found,
        path,
        title=title,
        x="sites",
        y="messages per entry",
        log="xy",
    )
    report.figure(title, path.name)
    path = bench.figure("logarithmic")
    logs = [growth for growth in GROWTHS if growth.logarithmic]
    plots.lines(
        {growth.contender.label: found[growth.contender.label] for growth in logs},
        path,
        title="The logarithmic ones, to a million sites",
        x="sites",
        y="messages per entry",
        log="x",
        references={growth.theory: [(n, growth.cost(n)) for n in growth.sizes] for growth in logs},
    )
    report.figure("The logarithmic ones, to a million sites", path.name)


def judge(growth: Growth, points: list[Point]) -> tuple[str, list[bool]]:
    """Whether it is near the theory everywhere, and grows as it says."""
    near = [abs((p.mean or 0) / growth.cost(p.x) - 1) < 0.06 for p in points]
    large = [p for p in points if p.x >= 100]
    xs = [log(p.x) for p in large]
    if growth.logarithmic:
        slope, half = fit(xs, [p.mean or 0 for p in large])
        wanted, _ = fit(xs, [growth.cost(p.x) for p in large])
        text = f"{number(slope)} ± {number(half, 2)} per e-fold of N, theory {number(wanted)}"
        return text, [all(near), abs(slope / wanted - 1) < 0.06]
    slope, half = fit(xs, [log(p.mean or 1) for p in large])
    wanted, _ = fit(xs, [log(growth.cost(p.x)) for p in large])
    text = f"exponent {slope:.3f} ± {half:.3f}, theory {wanted:.3f}"
    return text, [all(near), abs(slope - wanted) < 0.03]
