"""Lodha and Kshemkalyani 2000: messages per entry against concurrency, and the exact count of section 4.1.

Every single request of every run is counted, and its concurrency set taken from the trace.
"""

from __future__ import annotations

from random import Random
from statistics import fmean
from typing import Any

import msgspec

from soloist.algorithms.printed import PRINTED
from soloist.algorithms.printed.lodha_kshemkalyani import TWO_INSIDE
from soloist.check import check
from soloist.lab import plots
from soloist.lab.history import Served, causal_order, concurrency, traced
from soloist.lab.refute import in_words, replay
from soloist.lab.report import Claim, Findings, below, claim, number, tells
from soloist.lab.sweep import Contender, experiment
from soloist.lab.table import Point, Row, Table
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment, Listed, simulate
from soloist.sim.statistics import estimate

ABOUT = "messages against concurrency, the exact count of section 4.1, Ricart-Agrawala and Lamport beside it"

N = 10
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
NAME = "lodha-kshemkalyani"
OURS, RICART, LAMPORT = "Lodha-Kshemkalyani", "Ricart-Agrawala", "Lamport"
CONTENDERS = (Contender(NAME, OURS), Contender("ricart-agrawala", RICART), Contender("lamport", LAMPORT))
FIRST, SECOND, THIRD = (
    Contender(NAME, f"{OURS}, improvement {place}", {"improvement": str(place)}) for place in (1, 2, 3)
)
FIXED: dict[str, Any] = {"nodes": N, "latency": "uniform:0.5,1.5", "inside": 0.1, "channels": "fifo"}
CAUSAL = {**FIXED, "latency": "exponential:1", "saturate": True}
"""Delays that differ widely: else no REPLY overtakes a REQUEST by another way."""


class Counted(msgspec.Struct, frozen=True):
    """All requests of one run."""

    situation: str
    served: list[Served]

    @property
    def concurrent(self) -> float:
        return fmean(each.concurrent for each in self.served)

    @property
    def messages(self) -> float:
        return fmean(each.messages for each in self.served)


def count(case: tuple[str, Experiment]) -> Counted:
    situation, run = case
    return Counted(situation, concurrency(traced(run)))


class Figures(msgspec.Struct, frozen=True):
    """All that the claims are judged by."""

    served: list[Served]
    """Every request of every run that was counted."""
    fig_3: dict[str, int]
    """Messages for the three requests of Fig. 3, by algorithm."""
    gap: dict[float, Point]
    """Messages per entry, of ours less those of Ricart and Agrawala, by rate."""
    messages: dict[str, dict[float, Point]]
    """By algorithm and rate."""
    words: dict[str, float]
    """Words per message at the highest rate."""
    inversions: int
    """Pairs not served in the order of their timestamps, in all runs of the three algorithms."""
    replies: dict[str, Point]
    """REPLYs per entry less those without the improvement, when saturated."""
    saturated: dict[str, float]
    """All messages per entry there, without an improvement and with the first two."""
    passed: dict[str, tuple[int, int]]
    """Entries out of causal order, and all, without and with H on every message."""
    two_inside: bool
    """Whether Fig. 2 as printed lets two in by the run that is kept with the errata."""
    deadlock: str
    """What the checker finds in Fig. 2 as printed."""


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "A fair distributed mutual exclusion algorithm, measured again",
        "S. Lodha and A. Kshemkalyani, A fair distributed mutual exclusion algorithm, IEEE TPDS 11 (6), 2000",
        """Fig. 2 in a repaired form, since as printed it comes to a deadlock and lets two processes in (claims 8 and
        9). Repaired: a request that is known to be served is not queued (errata E1), a REQUEST says what its sender
        has been served for (E2), a FLUSH does not count as an answer (E3), only a waiting process enters (E4), own
        requests raise the highest number seen (E7), a process alone enters (E9). Improvement 1 has REQUESTs that list
        the replies left to others (E10); improvement 2 is measured where every process asks again at once, which the
        paper lets it know. Ricart and Agrawala's algorithm is Fig. 1, repaired.""",
    )
    table = bench.sweep("load", CONTENDERS, {**FIXED, "entries": 2000}, {"rate": RATES})
    improved = bench.sweep(
        "improvements", (CONTENDERS[0], FIRST, SECOND), {**FIXED, "saturate": True, "entries": 2000}, {}
    )
    runs = bench.map("section 4.1", count, cases(bench))
    draw(bench, report, table, runs)
    report.claims += claims(figures(bench, table, improved, runs))
    return report


def figures(bench: Workbench, table: Table, improved: Table, runs: list[Counted]) -> Figures:
    return Figures(
        [each for run in runs for each in run.served],
        {contender.label: fig_3(contender) for contender in CONTENDERS[:2]},
        {point.x: point for point in table.difference("messages_per_entry", "rate", OURS, RICART)},
        {
            label: {point.x: point for point in points}
            for label, points in table.group("messages_per_entry", "rate").items()
        },
        {label: points[-1].mean or 0.0 for label, points in table.group("words_per_message", "rate").items()},
        sum(row.inversions or 0 for row in table.rows),
        {each.label: fewer_replies(improved, each.label) for each in (FIRST, SECOND)},
        {
            row.label: row.messages_per_entry or 0.0
            for row in improved.rows
            if row.seed == improved.rows[0].seed
        },
        {each.label: out_of_order(bench, each) for each in (CONTENDERS[0], THIRD)},
        replay(PRINTED[NAME], PRINTED[NAME].size(3), True, TWO_INSIDE)[1] == "exclusion",
        in_words(check(PRINTED[NAME], nodes=3, rounds=1)),
    )


def fig_3(contender: Contender) -> int:
    """Three processes that ask at the same moment."""
    made = experiment(contender, {**FIXED, "nodes": 3, "latency": 1.0})
    load = Listed(((0.0, 0), (0.0, 1), (0.0, 2)))
    return simulate(msgspec.structs.replace(made, workload=load)).messages


def fewer_replies(table: Table, label: str) -> Point:
    """REPLYs of an improvement less those without it, in pairs of the same seed. (A Delegation is a REPLY.)"""
    plain = {row.seed: replies(row) for row in table.rows if row.label == OURS}
    found = estimate([replies(row) - plain[row.seed] for row in table.rows if row.label == label])
    return Point(label, found.mean, found.ci95, len(plain))


def replies(row: Row) -> float:
    return row.by_kind.get("Reply", 0.0) + row.by_kind.get("Delegation", 0.0)


def out_of_order(bench: Workbench, contender: Contender) -> tuple[int, int]:
    """Entries that passed a request which their site knew of when it asked, through any chain of messages."""
    made = experiment(contender, {**CAUSAL, "entries": max(bench.entries(1500), 300)})
    found = bench.map(
        f"causal order, {contender.label or contender.name}",
        passes,
        [msgspec.structs.replace(made, seed=seed) for seed in bench.seeds],
    )
    return sum(passed for passed, _ in found), sum(entries for _, entries in found)


def passes(case: Experiment) -> tuple[int, int]:
    found = causal_order(traced(case))
    return found.passed, found.entries


def cases(bench: Workbench) -> list[tuple[str, Experiment]]:
    """Sites that ask by themselves, and some that ask at the same moment, again and again."""
    found = []
    for rate in RATES:
        made = experiment(CONTENDERS[0], {**FIXED, "rate": rate, "entries": bench.entries(600)})
        found += [(f"rate {rate:g}", msgspec.structs.replace(made, seed=seed)) for seed in bench.seeds]
    for size in range(1, N + 1):
        made = experiment(CONTENDERS[0], FIXED)
        for seed in bench.seeds:
            load = bursts(size, bench.entries(600) // size + 1, Random(seed))
            found.append((f"{size} at once", msgspec.structs.replace(made, workload=load, seed=seed)))
    return found


def bursts(size: int, times: int, random: Random) -> Listed:
    """Far enough apart that one is over before the next."""
    apart = 20.0 * N
    return Listed(
        tuple((apart * turn, site) for turn in range(times) for site in random.sample(range(N), size))
    )


def exact(each: Served) -> int:
    """Section 4.1, cases a and b: 2N - |CSet|, and one less where nobody of lower priority is concurrent."""
    return 2 * N - (each.concurrent + 1) - (not each.lower)


def short(each: Served) -> int:
    """Abstract, section 1 and conclusion."""
    return 2 * (N - 1) - each.concurrent


def draw(bench: Workbench, report: Findings, table: Table, runs: list[Counted]) -> None:
    draw_load(bench, report, table)
    by_situation: dict[str, list[Counted]] = {}
    for run in runs:
        by_situation.setdefault(run.situation, []).append(run)
    draw_concurrency(bench, report, by_situation)
    tabulate(report, by_situation)


def draw_load(bench: Workbench, report: Findings, table: Table) -> None:
    report.heading("Messages against load")
    report.text(
        f"""{N} sites, a message takes 0.5 to 1.5 time units, 0.1 inside. The more requests cross, the fewer replies are
        needed; Ricart-Agrawala and Lamport cannot make use of that."""
    )
    path = bench.figure("load")
    plots.lines(
        table.group("messages_per_entry", "rate"),
        path,
        title="Messages per entry against load",
        x="requests per site and time unit",
        y="messages per entry",
        log="x",
    )
    report.figure("Messages per entry against load", path.name)


def draw_concurrency(bench: Workbench, report: Findings, by_situation: dict[str, list[Counted]]) -> None:
    report.heading("Messages against concurrency")
    bursts = {name: same for name, same in by_situation.items() if name.endswith("at once")}
    path = bench.figure("concurrency")
    title = "Messages per entry against concurrency"
    plots.lines(
        {OURS: [point(same) for same in bursts.values()]},
        path,
        title=title,
        x="other requests concurrent with one",
        y="messages per entry",
        references={
            "2(N-1) - x": [(0, 2 * (N - 1)), (N - 1, N - 1)],
            RICART: [(0, 2 * (N - 1)), (N - 1, 2 * (N - 1))],
            LAMPORT: [(0, 3 * (N - 1)), (N - 1, 3 * (N - 1))],
        },
    )
    report.text(
        """Sites that ask at the same moment, again and again. Where each asks by itself, few requests are concurrent even under
        full load: who has left asks again, one after another."""
    )
    report.figure(title, path.name)


def tabulate(report: Findings, by_situation: dict[str, list[Counted]]) -> None:
    """How many messages a request took, beside both formulas."""
    report.table(
        ("situation", ">concurrent", ">messages", ">by section 4.1", ">2(N-1) - x"),
        [
            (
                name,
                fmean(run.concurrent for run in same),
                fmean(run.messages for run in same),
                fmean(exact(each) for run in same for each in run.served),
                fmean(short(each) for run in same for each in run.served),
            )
            for name, same in by_situation.items()
        ],
    )


def point(same: list[Counted]) -> Point:
    found = estimate([run.messages for run in same])
    return Point(fmean(run.concurrent for run in same), found.mean, found.ci95, len(same))


def claims(f: Figures) -> list[Claim]:
    right = sum(each.messages == exact(each) for each in f.served)
    short_right = sum(each.messages == short(each) for each in f.served)
    least, most = min(each.messages for each in f.served), max(each.messages for each in f.served)
    busy = RATES[-1]
    plain, third = f.passed.values()
    return [
        claim(
            "1. Between N-1 and 2(N-1) messages per entry.",
            "requires between N-1 and 2(N-1) messages per critical section access",
            "abstract",
            (least, most) == (N - 1, 2 * (N - 1)),
            f"{least} to {most} over {len(f.served)} requests, N = {N}",
            "N to 2(N-1), N-1 to 2N-3: both ends are reached, and no request passes them",
        ),
        claim(
            "2. 2N - |CSet| messages if a concurrent request has lower priority, else one less.",
            "the total number of messages for CS access is 2N - |CSet_i| … 2N - 1 - |CSet_i|",
            "section 4.1, cases a and b",
            right == len(f.served),
            f"exact for {right} of {len(f.served)} requests, each counted by itself",
            "the shorter formula of claim 3: one request that differs refutes it",
        ),
        claim(
            "3. 2(N-1) - x messages, with x other concurrent requests.",
            "The exact number of messages for any CS access is 2(N-1) - x",
            "section 1, again in section 5",
            short_right == len(f.served),
            f"exact for {short_right} of {len(f.served)} requests; the others sent a FLUSH, which this formula leaves "
            "out (docs/errata.md, lodha-kshemkalyani E8)",
            "the formula of claim 2: one request that differs refutes it",
        ),
        claim(
            "4. Eight messages for the three requests of Fig. 3, and twelve with Ricart and Agrawala's algorithm.",
            "the RA algorithm needs … 12 messages … In the proposed algorithm, only eight messages are required",
            "section 3.4.1",
            [f.fig_3[OURS] == 8, f.fig_3[RICART] == 12],
            f"{f.fig_3[OURS]} and {f.fig_3[RICART]}",
            "any other number",
        ),
        claim(
            "5. Fewer messages than Ricart and Agrawala's algorithm.",
            "improves upon the Ricart-Agrawala algorithm",
            "section 5",
            [
                below(f.gap[busy], 0),
                *(gap.mean is not None and (gap.ci95 or (gap.mean,))[0] <= 0 for gap in f.gap.values()),
            ],
            f"{gap_text(f.gap[RATES[0]])} at rate {RATES[0]:g}, {gap_text(f.gap[busy])} at {busy:g}",
            "as many: the interval of the difference has to be below 0 at the highest rate, and above it at none",
        ),
        claim(
            "6. Ricart and Agrawala's algorithm takes 2(N-1) messages, Lamport's 3(N-1).",
            "Lamport's and Ricart-Agrawala's algorithms, which require 3(N-1) and 2(N-1) messages, respectively",
            "abstract",
            [
                all(tells(found, 2 * (N - 1), 2 * N - 1, 2 * N - 3) for found in f.messages[RICART].values()),
                all(
                    tells(found, 3 * (N - 1), 3 * N - 2, 3 * N - 4) for found in f.messages[LAMPORT].values()
                ),
            ],
            f"{number(f.messages[RICART][1.0].mean, 4)} and {number(f.messages[LAMPORT][1.0].mean, 4)} at rate 1, and so at "
            "every other",
            "one message more or less: at every rate the interval is nearer",
        ),
        claim(
            "7. No other overheads.",
            "The algorithm does not introduce any other overheads over Lamport's and Ricart-Agrawala's algorithms",
            "abstract",
            [f.words[OURS] <= f.words[RICART], f.words[OURS] <= f.words[LAMPORT]],
            f"{number(f.words[OURS])} words per message, where Ricart-Agrawala has {number(f.words[RICART])} and Lamport "
            f"{number(f.words[LAMPORT])}: REPLY and FLUSH name a request as printed, and the repair E2 has REQUESTs do so, too",
            "longer messages: fewer words than either would have reproduced it",
        ),
        claim(
            "8. Fig. 2 provides mutual exclusion (Theorem 1).",
            "The algorithm in Fig. 2 provides fair mutual exclusion",
            "section 4.3",
            not f.two_inside,
            f"as printed {'two sites are inside' if f.two_inside else 'one site is inside'} after {len(TWO_INSIDE)} "
            "steps (N = 3; docs/errata.md, lodha-kshemkalyani E3 has the run)",
            "one run with two inside refutes it",
        ),
        claim(
            "9. Fig. 2 achieves liveness (Theorem 2).",
            "The algorithm in Fig. 2 achieves liveness",
            "section 4.4",
            f.deadlock.startswith("no "),
            f"as printed {f.deadlock} (docs/errata.md, lodha-kshemkalyani E1)",
            "one deadlock refutes it",
        ),
        claim(
            "10. Requests are served in the order of their timestamps (Theorem 1, repaired).",
            "Pr(R_i) > Pr(R_j) <=> P_j executes CS after P_i finishes CS",
            "section 4.3, definition 7",
            f.inversions == 0,
            f"{f.inversions} pairs in another order, in all runs of the three algorithms",
            "one pair in another order",
        ),
        *(
            claim(
                f"{11 + place}. The {word} improvement saves REPLYs.",
                quote,
                "section 5",
                below(f.replies[contender.label], 0),
                f"{gap_text(f.replies[contender.label])} REPLYs per entry when saturated, where everybody asks again at once; "
                f"{number(f.saturated[contender.label])} messages in all against {number(f.saturated[OURS])}",
                "as many REPLYs: the interval of the difference has to be below 0",
            )
            for place, (word, contender, quote) in enumerate(
                (
                    ("first", FIRST, "The first improvement saves on the number of REPLY messages sent"),
                    ("second", SECOND, "A second way to save on the number of REPLY messages"),
                )
            )
        ),
        claim(
            "13. The third improvement, H on all messages, makes the order causal. (No saving is claimed.)",
            "taking into account the transitive causality relation among events induced by all messages exchanged",
            "section 5",
            None if not plain[0] else third[0] == 0,
            f"{third[0]} of {third[1]} entries were out of causal order with it, {plain[0]} of {plain[1]} without",
            "that it changes nothing: without it there have to be such entries",
        ),
    ]


def gap_text(found: Point) -> str:
    return "–" if found.mean is None else f"{found.mean:+.2f} ± {found.half_width:.2f}"
