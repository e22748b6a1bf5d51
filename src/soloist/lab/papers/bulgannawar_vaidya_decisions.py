"""What Bulgannawar and Vaidya 1995 mention and do not show: E = 1, smaller overhead, information per entry, other nu, other addressees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from soloist.lab.papers.bulgannawar_vaidya_claims import HEAVY, LIGHT, ONE, K, N
from soloist.lab.report import Claim, Findings, below, claim, number
from soloist.lab.sweep import Contender
from soloist.lab.table import Point, Table
from soloist.lab.workbench import Workbench

RATES = (LIGHT, 0.1, ONE, HEAVY)
CASES = {
    "E = 1": {"inside": 1.0, "latency": 0.8, "send_cost": 0.1, "receive_cost": 0.1},
    "Ts = Tr = 0.05": {"inside": 0.0002, "latency": 0.9, "send_cost": 0.05, "receive_cost": 0.05},
}
NUS = (0, 1, 2, 4, 8)
ADDRESSEES = ("random", "following", "asking")

Means = dict[str, dict[float, float]]
"""label -> lambda -> mean"""


class Decisions(msgspec.Struct, frozen=True):
    """All that the claims are judged by."""

    messages: Means
    """In the paper's own case, and below in the others."""
    times: Means
    other_messages: dict[str, Means]
    other_times: dict[str, Means]
    without_inform: list[Point]
    """Messages per entry with nu = 0 less those with nu = 2, by lambda, in pairs of the same seed."""
    better_addressees: dict[str, list[Point]]
    """Messages per entry with an INFORM to these less those with one to anybody, by lambda."""


def nu(value: int) -> str:
    return f"nu = {value}"


def decide(bench: Workbench, report: Findings, paper: Table, study: Sequence[Contender]) -> None:
    """Measure, show, judge."""
    fixed = {"nodes": N, "k": K, "entries": 5000}
    others = {
        name: bench.sweep(f"case-{place}", study, {**fixed, **case}, {"rate": RATES})
        for place, (name, case) in enumerate(CASES.items())
    }
    usual = {**fixed, "inside": 0.0002, "latency": 0.8, "send_cost": 0.1, "receive_cost": 0.1}
    informing = [
        *(informed(nu(value), inform=value) for value in NUS),
        *(informed(whom, inform=2, whom=whom) for whom in ADDRESSEES),
    ]
    inform = bench.sweep("inform", informing, usual, {"rate": RATES})
    labels = [contender.label for contender in study]
    show_information(report, paper, labels)
    show_cases(report, others, labels)
    show_informs(report, inform)
    report.claims += claims(
        Decisions(
            means(paper, "messages_per_entry", labels),
            means(paper, "response_time", labels),
            {name: means(table, "messages_per_entry", labels) for name, table in others.items()},
            {name: means(table, "response_time", labels) for name, table in others.items()},
            inform.difference("messages_per_entry", "rate", nu(0), nu(2)),
            {
                whom: inform.difference("messages_per_entry", "rate", whom, "random")
                for whom in ADDRESSEES[1:]
            },
        )
    )


def informed(label: str, **options: object) -> Contender:
    return Contender("bulgannawar-vaidya", label, {"token": "last-seen", **options})


def means(table: Table, column: str, labels: Iterable[str]) -> Means:
    """Where lambda is one of those measured in every case; what failed is left out."""
    groups = table.group(column, "rate")
    return {
        label: {point.x: point.mean for point in groups[label] if point.x in RATES and point.mean is not None}
        for label in labels
    }


# What is shown.


def show_information(report: Findings, table: Table, labels: Sequence[str]) -> None:
    report.heading("Information per entry")
    report.text(
        """The paper names it as "another interesting performance metric" and has no room for it: messages per entry times words per
        message, in the paper's own case. No claim is made, so none is judged."""
    )
    messages, words = means(table, "messages_per_entry", labels), means(table, "words_per_message", labels)
    shown = [x for x in RATES if x in messages[labels[0]]]
    report.table(
        ("words per entry", *(f">lambda = {x:g}" for x in shown)),
        [
            (label, *(number(messages[label].get(x, 0) * words[label].get(x, 0)) for x in shown))
            for label in labels
        ],
    )


def show_cases(report: Findings, tables: dict[str, Table], labels: Sequence[str]) -> None:
    report.heading("Other values of E, Ts and Tr")
    rows = []
    for name, table in tables.items():
        messages, times = means(table, "messages_per_entry", labels), means(table, "response_time", labels)
        rows += [(name, label, *(pair(messages, times, label, x) for x in RATES)) for label in labels]
    report.table(("case", "messages, and time to enter", *(f">lambda = {x:g}" for x in RATES)), rows)


def show_informs(report: Findings, table: Table) -> None:
    report.heading("How many to INFORM, and whom")
    report.text(
        """The last seen token is asked for. By "following" the next sites are told, cyclically; by "asking" those whose requests came
        by last. These three with nu = 2."""
    )
    labels = [*map(nu, NUS), *ADDRESSEES]
    messages, times = means(table, "messages_per_entry", labels), means(table, "response_time", labels)
    report.table(
        ("messages, and time to enter", *(f">lambda = {x:g}" for x in RATES)),
        [(label, *(pair(messages, times, label, x) for x in RATES)) for label in labels],
    )


def pair(messages: Means, times: Means, label: str, x: float) -> str:
    return f"{number(messages[label].get(x))}, {number(times[label].get(x))}"


# What is judged.


def claims(d: Decisions) -> list[Claim]:
    apart = {
        name: max(abs(found[label][x] / d.messages[label][x] - 1) for label, x in common(d.messages, found))
        for name, found in d.other_messages.items()
    }
    alike = {
        x: rank(d.times, x) == rank(d.other_times["E = 1"], x)
        for x in RATES
        if len(rank(d.times, x)) == len(d.times)
    }
    fewer = [point.x for point in d.without_inform if below(point, 0)]
    helped = {
        whom: [point.x for point in points if below(point, 0)] for whom, points in d.better_addressees.items()
    }
    return [
        claim(
            "18. Messages per entry hardly depend on E, nor on Ts and Tr.",
            "Measurements for the average number of messages for E=1, and also for T_r=0.05 … indicate that the number of messages "
            "is practically the same for all the cases",
            "section 4",
            [gap < 0.1 for gap in apart.values()],
            "; ".join(f"{name}: at most {gap:.1%} apart from E = 0.0002, Ts = Tr = 0.1" for name, gap in apart.items()),
            "a tenth more or fewer, of any algorithm at any lambda",
        ),
        claim(
            "19. With E = 1 the times to enter are in the same order.",
            "Results for E = 1 are also similar",
            "section 4",
            list(alike.values()),
            f"the five algorithms come in the same order at {sum(alike.values())} of {len(alike)} values of lambda"
            f" ({', '.join(f'{x:g}' for x, same in alike.items() if same)})",
            "any two of them changed round, at any lambda",
        ),
        claim(
            "20. nu = 2 is not always best: nu = 0 can take fewer messages.",
            "nu=0 may be optimal in some cases",
            "section 3, decision mechanisms",
            bool(fewer),
            ", ".join(f"{point.mean or 0:+.2f} ± {point.half_width:.2f} at {point.x:g}" for point in d.without_inform),
            "nowhere fewer: an interval of the difference has to be below 0",
        ),
        claim(
            "21. A choice of whom to INFORM can do better than a random one.",
            "A good heuristic for choosing these destinations can potentially improve performance",
            "section 3, decision mechanisms",
            any(helped.values()),
            "; ".join(
                f"{whom}: "
                + ", ".join(f"{point.mean or 0:+.2f} ± {point.half_width:.2f} at {point.x:g}" for point in points)
                for whom, points in d.better_addressees.items()
            ),
            "neither of the two tried anywhere takes fewer messages. (Another might.)",
        ),
    ]  # fmt: skip


def common(one: Means, other: Means) -> list[tuple[str, float]]:
    return [(label, x) for label, found in other.items() for x in found if x in one[label]]


def rank(times: Means, x: float) -> list[str]:
    """Those that were measured there, the soonest first."""
    return sorted((label for label in times if x in times[label]), key=lambda label: times[label][x])
