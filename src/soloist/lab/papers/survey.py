"""The survey of 21 algorithms of 1993: its Tables 1-3, with what they cost when measured, and the rest of the catalogue.

13 sites: a projective plane of order 3 has 13 points, so the quorums of sqrt(N) are what they should be.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log2, sqrt
from typing import Any

import msgspec

from soloist.algorithms import CATALOGUE
from soloist.lab import plots
from soloist.lab.report import Claim, Report, claim, markdown_table, number
from soloist.lab.sweep import Contender
from soloist.lab.table import Row, Table
from soloist.lab.workbench import Workbench
from soloist.sim.statistics import Estimate, estimate
from soloist.structures.quorums import plane

ABOUT = "Tables 1-3 with a measured column at light and heavy load, and the rest of the catalogue"

N, K, L = 13, 3, 5
D_TREE = 5
"""The diameter of a balanced binary tree of 13 sites: from a leaf at depth 3 to one at depth 2."""
LIGHT, HEAVY = "light", "heavy"
SLACK = 1.005


class Line(msgspec.Struct, frozen=True):
    """A row of a table: an algorithm, what is published of it, and the range of messages per entry that this means."""

    table: str
    contender: Contender
    published: str
    low: float
    high: float


def line(
    table: str, name: str, published: str, high: float, low: float = 0.0, label: str = "", **options: Any
) -> Line:
    """`low` is 0 unless the table gives a least number: a site may find the token or the permissions at home."""
    extra = ", ".join(f"{value}" for value in options.values())
    return Line(
        table,
        Contender(name, label or f"{name}{f' ({extra})' if extra else ''}", options),
        published,
        low,
        high,
    )


ONE, TWO, THREE = "Table 1: token-based", "Table 2: permission-based", "Table 3: several entries"
S = 4
"""Sites in a k-majority quorum of 13 sites for K = 3: ceil(14/4)."""
PLANE = len(plane(N)[0])
LINES = (
    line(ONE, "ricart-agrawala-token", "N", N),
    line(ONE, "suzuki-kasami", "N", N),
    line(ONE, "suzuki-kasami-bounded", "L N + (N-1) for L entries", N + (N - 1) / L, L=L),
    line(ONE, "mizuno-neilsen-rao", "avg log N", log2(N), quorums="tree"),
    line(ONE, "mizuno-neilsen-rao", "3 sqrt N", 3 * sqrt(N), quorums="plane"),
    line(ONE, "neilsen-mizuno", "D + 1 = N", N, topology="line"),
    line(ONE, "neilsen-mizuno", "3", 3, topology="star"),
    line(ONE, "helary-plouzeau-raynal", "N to N-1+D", N - 1 + D_TREE, topology="tree"),
    line(ONE, "helary-plouzeau-raynal", "N to 2(N-1)", 2 * (N - 1), topology="line"),
    line(ONE, "helary-plouzeau-raynal", "N to 2N", 2 * N, topology="ring"),
    line(ONE, "helary-plouzeau-raynal", "N", N, topology="full"),
    line(ONE, "raymond-tree", "2 D, avg log N", 2 * D_TREE, topology="tree"),
    line(ONE, "singhal-heuristic", "N", N),
    line(ONE, "naimi-trehel", "avg log N", log2(N)),
    line(ONE, "mishra-srimani", "L N + (N-1) (for L entries)", N + (N - 1) / L, L=L),
    line(ONE, "nishio", "N", N),
    line(TWO, "lamport", "3(N-1)", 3 * (N - 1), 3 * (N - 1)),
    line(TWO, "ricart-agrawala", "2(N-1)", 2 * (N - 1), 2 * (N - 1)),
    line(TWO, "carvalho-roucairol", "0 to 2(N-1)", 2 * (N - 1)),
    line(TWO, "raynal", "2(N-1)²", 2 * (N - 1) ** 2),
    line(TWO, "maekawa", "3 sqrt N to 5 sqrt N", 5 * (PLANE - 1), 3 * (PLANE - 1), quorums="plane"),
    line(TWO, "sanders", "|I - {i}| + 2 |R - {i}|", 2 * (N - 1), 2 * (N - 1), structure="ricart-agrawala"),
    line(TWO, "agrawal-el-abbadi", "O(log N)", inf),
    line(TWO, "singhal-dynamic", "N-1 to 3(N-1)/2", 3 * (N - 1) / 2, N - 1),
    line(THREE, "raymond-k", "2(N-1)", 2 * (N - 1)),
    line(THREE, "srimani-reddy", "0 or N+K-1", N + K - 1),
    line(THREE, "kakugawa", "3 s to 5 s", 5 * S, 3 * (S - 1)),
)


def rest() -> list[Line]:
    """What the survey does not have, against the bound of its card."""
    known = {each.contender.name for each in LINES}
    found = []
    for card in CATALOGUE.values():
        if card.name not in known:
            size = card.size(N, K if card.capacity == "K" else 1)
            found.append(
                Line("Not in the survey", Contender(card.name), card.bound.text, 0.0, card.bound(size))
            )
    return found


def reproduce(bench: Workbench) -> Report:
    report = Report(
        "The survey's tables, measured",
        "A survey of 21 distributed mutual exclusion algorithms, 1993, Tables 1-3",
    )
    lines = [*LINES, *rest()]
    several = {name for name, card in CATALOGUE.items() if card.capacity == "K"}
    tables: dict[tuple[str, bool], Table] = {}
    # Inside for as long as a message takes: else a site that keeps its permissions enters again thousands of times.
    for load, how in ((LIGHT, {"rate": 0.001}), (HEAVY, {"saturate": True})):
        for k in (False, True):
            contenders = [each.contender for each in lines if (each.contender.name in several) == k]
            fixed = {"nodes": N, "k": K if k else 1, "latency": 1.0, "inside": 1.0, "entries": 1000, **how}
            tables[load, k] = bench.sweep(f"{load}-{'k' if k else 'one'}", contenders, fixed, {})

    def measured(each: Line, load: str) -> list[Row]:
        return list(tables[load, each.contender.name in several].where(label=each.contender.label).rows)

    for title in dict.fromkeys(each.table for each in lines):
        judge(report, title, [each for each in lines if each.table == title], measured)
    draw(bench, report, tables)
    return report


def judge(report: Report, title: str, lines: list[Line], measured: Callable[[Line, str], list[Row]]) -> None:
    report.heading(title)
    if title == ONE:
        report.text(
            f"""{N} sites (K = {K} where several enter, L = {L} where numbers are bounded); a message takes one time unit, and so does
            a stay inside. Light: a site asks every 1000 time units; heavy: again as soon as it has left. An average over all
            requests, of which those that find the token at home cost nothing, so it may lie below the published number."""
        )
    rows = []
    for each in lines:
        found = {load: [row.messages_per_entry for row in measured(each, load)] for load in (LIGHT, HEAVY)}
        figures = {load: figure(values) for load, values in found.items()}
        means = {load: found.mean if found else None for load, found in figures.items()}
        verdicts = {load: within(each, found) for load, found in figures.items()}
        rows.append(
            (
                each.contender.label,
                each.published,
                span(each),
                *(number(means[load]) + ("" if verdicts[load] else " ✗") for load in (LIGHT, HEAVY)),
                "as published" if all(verdicts.values()) else "parts from it",
            )
        )
        if title != "Not in the survey":
            report.claims.append(judged(each, means, verdicts))
    report.parts.append(
        markdown_table(("algorithm", "published", ">that is", ">light", ">heavy", "verdict"), rows)
    )


def judged(each: Line, means: dict[str, float | None], verdicts: dict[str, bool]) -> Claim:
    return claim(
        f"{each.contender.label}: {each.published}",
        each.table.partition(":")[0],
        list(verdicts.values()),
        f"{number(means[LIGHT])} light, {number(means[HEAVY])} heavy ({span(each)} for N = {N})",
    )


def within(each: Line, found: Estimate | None) -> bool:
    """Whether the interval of what was measured meets the published one."""
    if found is None:
        return False
    low, high = found.ci95 or (found.mean, found.mean)
    return each.low / SLACK <= high and low <= each.high * SLACK


def span(each: Line) -> str:
    high = "no constant given" if each.high == inf else f"{each.high:.3g}"
    return f"{each.low:.3g} to {high}" if each.low and each.low != each.high else high


def figure(values: list[float | None]) -> Estimate | None:
    """None where a run broke a promise."""
    known = [value for value in values if value is not None]
    return estimate(known) if len(known) == len(values) else None


def draw(bench: Workbench, report: Report, tables: dict[tuple[str, bool], Table]) -> None:
    report.heading("Of which kinds")
    for load in (LIGHT, HEAVY):
        # Two tell about themselves all the time, or square the number of sites; beside them nothing else could be seen.
        parts = {
            label: kinds
            for k in (False, True)
            for label, kinds in tables[load, k].by_kind().items()
            if sum(kinds.values()) <= 3 * N
        }
        path = bench.figure(f"kinds-{load}")
        title = f"Messages per entry by kind, {load} load, {N} sites"
        plots.breakdown(
            dict(sorted(parts.items(), key=lambda item: sum(item[1].values()))), path, title=title
        )
        report.figure(title + " (up to 3N)", path.name)
