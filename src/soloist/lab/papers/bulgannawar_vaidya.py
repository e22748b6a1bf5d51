"""Bulgannawar and Vaidya 1995: section 4 (Figs. 3a, 3b, 4, 5) and the partitioning study of section 5.

30 sites, 3 inside together. A site asks an exponential time after it left; a message costs its sender Ts and its
receiver Tr and is Tt on its way. Where the original of a peer was not at hand (Makki, Srimani-Reddy), what is
measured is our reconstruction: its page says what was filled in.
"""

from __future__ import annotations

from soloist.lab import plots
from soloist.lab.papers.bulgannawar_vaidya_claims import (
    BARE,
    HEAVY,
    HEURISTIC,
    MAKKI,
    PRINTED,
    RANDOM,
    RAYMOND,
    SRIMANI,
    Figures,
    K,
    N,
    Series,
    claims,
)
from soloist.lab.papers.bulgannawar_vaidya_decisions import decide
from soloist.lab.report import Findings, number
from soloist.lab.sweep import Contender
from soloist.lab.table import Point, Table
from soloist.lab.workbench import Workbench

ABOUT = "K tokens against Raymond, Srimani-Reddy and Makki: Figs. 3a, 3b, 4, 5, and partitioning"

LAMBDAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

STUDY = (
    Contender("bulgannawar-vaidya", HEURISTIC, {"token": "last-seen", "inform": 2}),
    Contender("bulgannawar-vaidya", RANDOM, {"token": "random", "inform": 2}),
    Contender("raymond-k", RAYMOND),
    Contender("srimani-reddy", SRIMANI),
    Contender("makki", MAKKI),
)
AS_PRINTED = Contender("bulgannawar-vaidya", PRINTED, {"token": "last-seen", "inform": 2}, printed="B1")
WITHOUT_INFORM = Contender("bulgannawar-vaidya", BARE, {"token": "random", "inform": 0})
"""What a cluster of the partitioned form runs, for its comparison with the whole."""
CLUSTERS = {RAYMOND: "raymond-k", SRIMANI: "srimani-reddy", BARE: "bulgannawar-vaidya", MAKKI: "makki"}
PARTITIONED = tuple(
    Contender("partitioned", f"{label}, partitioned", {"inner": inner}) for label, inner in CLUSTERS.items()
)


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "A distributed K-mutual exclusion algorithm, measured again",
        "S. Bulgannawar and N. H. Vaidya, A distributed K-mutual exclusion algorithm, Proc. 15th ICDCS, 1995",
        """The pseudo-code of section 2 with two repairs: an INFORM only suggests a token and sets no pointer, since as
        printed it can come to a deadlock (errata B1; runs with the printed rule are beside it below), and the node-queue
        is emptied once it has gone into the token-queue (B4). Where text and code differ, the code (B2, B3).
        Of its peers, Makki's algorithm is rebuilt from its abstract and this paper's remarks, without its timer, and
        Srimani and Reddy's from the survey of 1993, with numbers without end as in this paper; what is not reproduced of
        these two may be due to us. The values of lambda are ours, evenly spaced on a logarithmic scale: "most values" means most of them.""",
    )
    fixed = {"nodes": N, "k": K, "inside": 0.0002, "entries": 5000}
    costly = {**fixed, "latency": 0.8, "send_cost": 0.1, "receive_cost": 0.1}
    free = {**fixed, "latency": 1.0, "send_cost": 0.0, "receive_cost": 0.0}
    everybody = (*STUDY, AS_PRINTED, WITHOUT_INFORM, *PARTITIONED)
    a = bench.sweep("overhead", everybody, costly, {"rate": LAMBDAS})
    b = bench.sweep("no-overhead", STUDY, free, {"rate": LAMBDAS})
    draw(bench, report, a, b)
    report.claims += claims(
        Figures(
            series(a, "response_time"),
            series(a, "messages_per_entry"),
            series(a, "words_per_message"),
            series(b, "response_time"),
            series(b, "messages_per_entry"),
            next(p for p in a.difference("messages_per_entry", "rate", HEURISTIC, RANDOM) if p.x == HEAVY),
        )
    )
    explain(report, a)
    decide(bench, report, a, STUDY)
    return report


def series(table: Table, column: str) -> Series:
    return {label: {p.x: p for p in points} for label, points in table.group(column, "rate").items()}


def figures_of(table: Table, column: str) -> dict[str, dict[float, float]]:
    """label -> lambda -> mean over the seeds; what failed is left out."""
    return {
        label: {point.x: point.mean for point in points if point.mean is not None}
        for label, points in table.group(column, "rate").items()
    }


def draw(bench: Workbench, report: Findings, a: Table, b: Table) -> None:
    studied = [contender.label for contender in STUDY]
    parted = [RAYMOND, SRIMANI, BARE, *(contender.label for contender in PARTITIONED[:3])]
    time, messages, words = "response_time", "messages_per_entry", "words_per_message"
    pictures: list[tuple[str, Table, str, str, list[str]]] = [
        ("Fig. 3a: time to enter, Ts = Tr = 0.1, Tt = 0.8", a, time, "fig-3a", studied),
        ("Fig. 3b: time to enter, Ts = Tr = 0, Tt = 1", b, time, "fig-3b", studied),
        ("Fig. 4: messages per entry", a, messages, "fig-4", studied),
        ("Fig. 5: words per message", a, words, "fig-5", studied),
        ("Section 5: time to enter, whole and partitioned", a, time, "section-5-time", parted),
        ("Section 5: messages, whole and partitioned", a, messages, "section-5-messages", parted),
    ]
    report.heading("Figures")
    report.text(
        f"{N} sites, {K} inside together, E = 0.0002, nu = 2, {a.rows[0].entries} entries per run, "
        f"{len({row.seed for row in a.rows})} seeds; the bands are 95 % intervals over the seeds."
    )
    names = {time: "time to enter", messages: "messages", words: "words"}
    for title, table, column, file, labels in pictures:
        series = table.group(column, "rate")
        path = bench.figure(file)
        shown: dict[str, list[Point]] = {label: series[label] for label in labels}
        plots.lines(
            shown, path, title=title, x="lambda (requests per site and time unit)", y=names[column], log="x"
        )
        report.figure(title, path.name)


def explain(report: Findings, table: Table) -> None:
    report.heading("INFORM, as printed and repaired")
    printed = [row for row in table.rows if row.label == PRINTED]
    failed = [row for row in printed if row.error]
    repaired = figures_of(table, "messages_per_entry")[HEURISTIC]
    good = figures_of(table, "messages_per_entry").get(PRINTED, {})
    report.text(
        f"""As printed, an INFORM sets a pointer, and an old one can close a circle in which a request never meets a token
        (docs/errata.md). Of {len(printed)} runs with that rule {len(failed)} came to a halt. The repaired rule, by which an
        INFORM only suggests a token to ask for, is what the figures above show."""
    )
    report.table(
        (">lambda", ">messages, repaired", ">messages, as printed", ">runs that hang"),
        [
            (
                f"{x:g}",
                number(repaired.get(x)),
                number(good.get(x)),
                f"{sum(row.rate == x for row in failed)} of {sum(row.rate == x for row in printed)}",
            )
            for x in LAMBDAS
        ],
    )
    report.text("Words count source, destination and kind as one each, and each number in a message as one.")
