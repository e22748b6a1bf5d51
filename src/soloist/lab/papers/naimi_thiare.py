"""Naimi and Thiare 2009: causal order kept, and how often Suzuki and Kasami's algorithm breaks it."""

from __future__ import annotations

import msgspec

from soloist.lab import plots
from soloist.lab.history import CausalOrder, causal_order, traced
from soloist.lab.report import Report, claim, number
from soloist.lab.sweep import Contender, experiment
from soloist.lab.table import Point
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment
from soloist.sim.statistics import estimate

ABOUT = "causal order kept, against the violations of Suzuki-Kasami, counted"

N = 10
RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
OURS, SUZUKI, PRINTED = "Naimi-Thiare, repaired", "Suzuki-Kasami", "Naimi-Thiare, with erratum E2"
CONTENDERS = (
    Contender("naimi-thiare", OURS),
    Contender("suzuki-kasami", SUZUKI),
    Contender("naimi-trehel", "Naimi-Trehel"),
    Contender("ricart-agrawala", "Ricart-Agrawala"),
    Contender("naimi-thiare", PRINTED, printed="E2"),
)
FIXED = {"nodes": N, "latency": "exponential:1", "inside": 0.5, "channels": "any"}
"""Delays that differ widely: where all messages take the same time, few requests overtake each other."""

Case = tuple[str, float, Experiment]


def count(case: Case) -> tuple[str, float, CausalOrder]:
    label, rate, run = case
    return label, rate, causal_order(traced(run))


def cases(bench: Workbench) -> list[Case]:
    found: list[Case] = []
    for contender in CONTENDERS:
        for rate in RATES:
            made = experiment(contender, {**FIXED, "rate": rate, "entries": bench.entries(1500)})
            found += [
                (contender.label, rate, msgspec.structs.replace(made, seed=seed)) for seed in bench.seeds
            ]
    return found


def reproduce(bench: Workbench) -> Report:
    report = Report(
        "Distributed mutual exclusion based on causal ordering, measured again",
        "M. Naimi and O. Thiare, Distributed mutual exclusion based on causal ordering, J. Computer Science 5 (5), 2009",
    )
    found = bench.map("causal order", count, cases(bench))
    table = bench.sweep("cost", CONTENDERS[:3], {**FIXED, "entries": 2000}, {"rate": RATES})
    orders: dict[str, dict[float, list[CausalOrder]]] = {}
    for label, rate, order in found:
        orders.setdefault(label, {}).setdefault(rate, []).append(order)
    draw(bench, report, orders)
    passed = {
        label: sum(o.passed for same in rates.values() for o in same) for label, rates in orders.items()
    }
    entries = {
        label: sum(o.entries for same in rates.values() for o in same) for label, rates in orders.items()
    }
    cost = {p.x: p.mean or 0 for p in table.group("messages_per_entry", "rate")[OURS]}
    theirs = {p.x: p.mean or 0 for p in table.group("messages_per_entry", "rate")[SUZUKI]}
    words = {label: points[-1].mean for label, points in table.group("words_per_message", "rate").items()}
    report.claims += [
        claim(
            "1. A request that is causally before another is served before it.",
            "abstract, last theorem",
            passed[OURS] == 0,
            f"{passed[OURS]} of {entries[OURS]} entries were out of causal order, rules repaired",
        ),
        claim(
            "2. The same, by the rules as the example at T10 applies them.",
            "section on the algorithm, T10",
            passed[PRINTED] == 0,
            f"{passed[PRINTED]} of {entries[PRINTED]} entries were out of causal order (docs/errata.md, naimi-thiare E2)",
        ),
        claim(
            "3. Suzuki and Kasami's algorithm does not keep causal order.",
            "introduction",
            passed[SUZUKI] > 0,
            f"{passed[SUZUKI]} of {entries[SUZUKI]} entries passed a request that their site knew of when it asked",
        ),
        claim(
            "4. 0 or N messages per entry, as Suzuki and Kasami.",
            "section on the algorithm",
            [cost[rate] <= N for rate in RATES],
            ", ".join(f"{number(cost[rate])} and {number(theirs[rate])} at rate {rate:g}" for rate in RATES),
        ),
        claim(
            "5. Less to carry than a vector of N clocks in each message.",
            "section on vector clocks",
            (words[OURS] or 0) < 3 + N,
            f"{number(words[OURS])} words per message at rate {RATES[-1]:g}, where Suzuki-Kasami has "
            f"{number(words[SUZUKI])}; a vector alone would be {N}, and a message has 3 words besides",
        ),
    ]
    return report


def draw(bench: Workbench, report: Report, orders: dict[str, dict[float, list[CausalOrder]]]) -> None:
    report.heading("Entries out of causal order")
    report.text(
        f"""{N} sites; a message takes an exponential time of mean 1 and links keep no order; 0.5 inside. An entry counts if its
        site had heard of an older request when it asked, through any chain of messages, and that one is not served yet."""
    )
    series: dict[str, list[Point]] = {}
    for label, rates in orders.items():
        for rate, same in rates.items():
            shares = estimate([100 * order.passed / order.entries for order in same])
            series.setdefault(label, []).append(Point(rate, shares.mean, shares.ci95, len(same)))
    path = bench.figure("causal-order")
    title = "Entries out of causal order"
    plots.lines(
        series, path, title=title, x="requests per site and time unit", y="per cent of entries", log="x"
    )
    report.figure(title, path.name)
    report.table(
        ("algorithm", *(f">rate {rate:g}" for rate in RATES)),
        [(label, *(f"{point.mean:.2f} %" for point in points)) for label, points in series.items()],
    )
