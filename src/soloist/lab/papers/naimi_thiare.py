"""Naimi and Thiare 2009: causal order kept, and how often Suzuki and Kasami's algorithm breaks it."""

from __future__ import annotations

import msgspec

from soloist.algorithms.naimi_thiare import Request, Token
from soloist.algorithms.printed import find_erratum
from soloist.core import Site
from soloist.lab import plots
from soloist.lab.history import CausalOrder, causal_order, traced
from soloist.lab.refute import in_words, refute
from soloist.lab.report import Claim, Findings, claim
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


class Figures(msgspec.Struct, frozen=True):
    """All that the claims are judged by."""

    passed: dict[str, tuple[int, int]]
    """Entries out of causal order, and all, by algorithm."""
    costs: set[int]
    """What entries cost."""
    ahead: tuple[int, int]
    """Requests with a time above T[i] + 1, and all."""
    deadlock: str
    """What the checker finds in the rules as printed."""


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "Distributed mutual exclusion based on causal ordering, measured again",
        "M. Naimi and O. Thiare, Distributed mutual exclusion based on causal ordering, J. Computer Science 5 (5), 2009",
        """The four rules, repaired, since as printed the first request to another node comes to a deadlock (claim 6). Repaired:
        an idle token is handed over (errata E1), the token's queue comes before local news (E2; runs with the printed order
        are beside it) and counts as seen (E3), what is obsolete is asked of what arrives (E4), and what rules 1 and 2 leave open
        is filled in (E5, E7).""",
    )
    found = bench.map("causal order", count, cases(bench))
    orders: dict[str, dict[float, list[CausalOrder]]] = {}
    for label, rate, order in found:
        orders.setdefault(label, {}).setdefault(rate, []).append(order)
    draw(bench, report, orders)
    made = [
        msgspec.structs.replace(
            experiment(CONTENDERS[0], {**FIXED, "rate": rate, "entries": bench.entries(500)}), seed=seed
        )
        for rate in RATES
        for seed in bench.seeds
    ]
    invocations = [each for run in bench.map("messages", asked, made) for each in run]
    report.claims += claims(
        Figures(
            {
                label: (
                    sum(order.passed for same in rates.values() for order in same),
                    sum(order.entries for same in rates.values() for order in same),
                )
                for label, rates in orders.items()
            },
            {cost for cost, _ in invocations},
            (sum(ahead for _, ahead in invocations), sum(cost > 0 for cost, _ in invocations)),
            in_words(refute(find_erratum("naimi-thiare", "E1"))),
        )
    )
    return report


def asked(case: Experiment) -> list[tuple[int, bool]]:
    """For each entry that is over: its messages, and whether it asked with a time above T[i] + 1."""
    found: list[tuple[int, bool]] = []
    messages: dict[Site, int] = {}
    times: dict[Site, int] = {}
    served: dict[Site, int] = {}
    for step in traced(case):
        site, message = step.site, step.message
        match step.kind:
            case "request":
                messages[site], times[site] = 0, 0
            case "send" if isinstance(message, Request):
                messages[site] += 1
                times[site] = message.Q[-1][1]
            case "deliver" if isinstance(message, Token):
                messages[site] += 1
            case "exit":
                found.append((messages[site], times[site] > served.get(site, 0) + 1))
                served[site] = times[site] or served.get(site, 0)
            case _:
                pass
    return found


def claims(f: Figures) -> list[Claim]:
    ours, theirs, printed = f.passed[OURS], f.passed[SUZUKI], f.passed[PRINTED]
    late, requests = f.ahead
    return [
        claim(
            "1. A request that is causally before another is served before it.",
            "If a process P_i requests the critical section before a process P_j, then the process P_i will enter its "
            "critical section before the process P_j",
            "conclusion, and the last theorem; causally, rules repaired",
            None if not theirs[0] else ours[0] == 0,
            f"{ours[0]} of {ours[1]} entries were out of causal order; with Suzuki-Kasami, in the same situations, "
            f"{theirs[0]} of {theirs[1]}",
            "one entry out of order; and no order at all, by which there would be some",
        ),
        claim(
            "2. The same, in the order that the example applies at T10.",
            "Q_1 = {(4, 2), (2, 2)}. When the process P_1 releases its critical section, it sends the token to the process P_4",
            "approach, T10",
            printed[0] == 0,
            f"{printed[0]} of {printed[1]} entries were out of causal order (docs/errata.md, naimi-thiare E2)",
            "one entry out of order",
        ),
        claim(
            "3. Suzuki and Kasami's algorithm does not keep causal order.",
            "Mutual exclusion without causal ordering",
            "caption of Fig. 2, which shows such a run",
            theirs[0] > 0,
            f"{theirs[0]} of {theirs[1]} entries passed a request that their site knew of when it asked",
            "that it does: then there would be none",
        ),
        claim(
            "4. 0 or N messages per entry.",
            "The number of messages necessary to satisfy each request is 0 when a process holds the token and n in the other case",
            "conclusion",
            f.costs == {0, N},
            f"{' or '.join(map(str, sorted(f.costs)))} for each of {requests} requests, and those of a holder, N = {N}",
            "N-1 or N+1: every entry is counted",
        ),
        claim(
            "5. R_i[i] is at most T[i] + 1.",
            "R_i[i] <= T[i] + 1 is an invariant",
            "results, first lemma",
            late == 0,
            f"{late} of {requests} requests had a larger time, since R_i[i] is also the clock (docs/errata.md, naimi-thiare E6)",
            "one request with a larger time refutes it",
        ),
        claim(
            "6. The rules as printed serve a request.",
            "A process P_i holding the idle token, sends it to the head of its waiting local queue",
            "principle; but not rule 2",
            f.deadlock.startswith("no "),
            f"{f.deadlock} by the rules (docs/errata.md, naimi-thiare E1)",
            "one deadlock refutes it",
        ),
    ]


def draw(bench: Workbench, report: Findings, orders: dict[str, dict[float, list[CausalOrder]]]) -> None:
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
