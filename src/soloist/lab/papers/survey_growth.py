"""How the costs of the survey's tables grow with N: the order that fits best, beside the one that is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import fmean

import msgspec

from soloist.lab.fits import fit
from soloist.lab.papers.survey_judges import Seen, asked, shape
from soloist.lab.papers.survey_rows import SurveyRow
from soloist.lab.report import Claim, Findings, Test, claim, number

LEVEL = 0.1
"""An exponent below that is none: the cost stays as it is. (log N has 0.3 and more at these sizes.)"""
QUOTES = {
    "Table 1": "Performance of token-based algorithms",
    "Table 2": "Performance of permission-based algorithms",
    "Table 3": "Performance of multiple entries algorithms",
}


class Growth(msgspec.Struct, frozen=True):
    """A row, what it costs on average at each N, and the order that this follows best; empty if there are too few N to tell."""

    row: SurveyRow
    means: dict[int, float]
    exponent: float = 0.0
    half_width: float = 0.0
    order: str = ""

    @property
    def agrees(self) -> Test:
        return self.order == self.row.order if self.order else None


def means(seen: Seen) -> dict[int, float]:
    """Alone, without the entries that cost nothing; where that was not measured, under load, at light load, or by the round."""
    if seen.alone:
        return {n: fmean(asked(costs)) for n, costs in seen.alone.items()}
    if seen.light and not seen.heavy:
        return {n: found.mean for n, found in seen.light.items()}
    if seen.heavy:
        return {n: fmean(costs) for n, costs in seen.heavy.items()}
    return {n: fmean(costs) for n, costs in seen.rounds.items()}


def growth(row: SurveyRow, seen: Seen) -> Growth:
    found = means(seen)
    if len(found) < 3:  # two points lie on a line of any shape
        return Growth(row, found)
    exponent, half_width = fit([log(n) for n in found], [log(cost) for cost in found.values()])
    return Growth(row, found, exponent, half_width, nearest(found, exponent))


def nearest(found: Mapping[int, float], exponent: float) -> str:
    """Of 1, log N, sqrt N, N and N²."""
    return "1" if exponent < LEVEL else shape(found)


def show_growth(report: Findings, rows: Sequence[tuple[SurveyRow, Seen]]) -> None:
    found = [growth(row, seen) for row, seen in rows]
    report.heading("How it grows")
    report.text(
        f"""The exponent is the slope of log cost against log N, with its 95 % interval from the scatter about the line. The order is that of log N,
        sqrt N, N and N² in which the mean cost is nearest to a straight line, or 1 where the exponent is below {LEVEL:g}. Alone (without the entries
        that cost nothing) where that was measured, else under load. A bound that is published need not grow like the mean."""
    )
    report.table(
        ("algorithm", "published", "order published", ">N", ">mean cost", ">exponent", "order found"),
        [line(each) for each in found],
    )
    report.claims += [judged(table, quote, found) for table, quote in QUOTES.items()]


def line(g: Growth) -> tuple[str, ...]:
    sizes = ", ".join(map(str, g.means))
    costs = ", ".join(number(cost) for cost in g.means.values())
    fitted = f"{g.exponent:.2f} ± {g.half_width:.2f}" if g.order else "–"
    return g.row.label, g.row.published, g.row.order, sizes, costs, fitted, g.order or "–"


def judged(table: str, quote: str, found: Sequence[Growth]) -> Claim:
    mine = [each for each in found if each.row.table.startswith(table)]
    tests: list[Test] = [each.agrees for each in mine]
    others = [
        f"{each.row.label} ({each.row.published}) like {each.order}" for each in mine if each.agrees is False
    ]
    return claim(
        f"{table}: costs grow as published.",
        quote,
        f"{table}, the formulas",
        tests,
        f"{sum(test is True for test in tests)} of {len(tests)} rows" + (f"; {'; '.join(others)}" if others else ""),
        "another of 1, log N, sqrt N, N and N²: a line in that would be nearer, for any row",
    )  # fmt: skip
