"""Bulgannawar and Vaidya 1995: section 4 (Figs. 3a, 3b, 4, 5) and the partitioning study of section 5.

30 sites, 3 inside together. A site asks an exponential time after it left; a message costs its sender Ts and its
receiver Tr and is Tt on its way. Where the original of a peer was not at hand (Makki, Srimani-Reddy), what is
measured is our reconstruction: its page says what was filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import msgspec

from soloist.lab import plots
from soloist.lab.report import Claim, Report, below, claim, number, tells
from soloist.lab.sweep import Contender
from soloist.lab.table import Point, Table
from soloist.lab.workbench import Workbench

ABOUT = "K tokens against Raymond, Srimani-Reddy and Makki: Figs. 3a, 3b, 4, 5, and partitioning"

N, K = 30, 3
LAMBDAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
LIGHT, ONE, HEAVY = 0.001, 1.0, 10.0

HEURISTIC, RANDOM = "new, last seen token", "new, random token"
PRINTED = "new, INFORM as printed"
BARE = "new, random token, nu = 0"
RAYMOND, SRIMANI, MAKKI = "Raymond", "Srimani-Reddy", "Makki"
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

WORDS = {HEURISTIC: 9.0, RAYMOND: 4.0, SRIMANI: 6.5, MAKKI: 8.0}
"""Words per message at lambda = 1, as the text of section 4 gives them."""


class Figures(msgspec.Struct, frozen=True):
    """All that the claims are judged by: label -> lambda -> the mean over the seeds, with its interval."""

    time: Series
    messages: Series
    words: Series
    """With Ts = Tr = 0.1 and Tt = 0.8."""
    free_time: Series
    free_messages: Series
    """With Ts = Tr = 0 and Tt = 1."""
    saved: Point
    """Messages with the heuristic less those without it, at the highest lambda."""


Series = dict[str, dict[float, Point]]


def reproduce(bench: Workbench) -> Report:
    report = Report(
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
    return report


def series(table: Table, column: str) -> Series:
    return {label: {p.x: p for p in points} for label, points in table.group(column, "rate").items()}


def figures_of(table: Table, column: str) -> dict[str, dict[float, float]]:
    """label -> lambda -> mean over the seeds; what failed is left out."""
    return {
        label: {point.x: point.mean for point in points if point.mean is not None}
        for label, points in table.group(column, "rate").items()
    }


def draw(bench: Workbench, report: Report, a: Table, b: Table) -> None:
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
        f"{N} sites, {K} inside together, E = 0.0002, nu = 2, {a.rows[0].entries} entries a run, "
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


SMALL = 0.2
"""`Only a small amount`: less than a fifth. The paper gives no figure."""


def claims(f: Figures) -> list[Claim]:
    """One after another, as section 4 and 5 make them."""
    return [*of_time(f), *of_messages(f), *of_words(f), *of_parts(f)]


def mean(series: Series, label: str, x: float) -> float:
    """What failed in all its runs is later and dearer than anything."""
    found = series[label][x].mean
    return inf if found is None else found


def of_time(f: Figures) -> list[Claim]:
    others = (RAYMOND, SRIMANI, MAKKI)
    soonest = [x for x in LAMBDAS if ahead(f.time, x)]
    gain = {x: 1 - mean(f.time, HEURISTIC, x) / mean(f.time, RANDOM, x) for x in (LIGHT, ONE, HEAVY)}
    level = mean(f.free_time, RAYMOND, HEAVY) / mean(f.free_time, HEURISTIC, HEAVY)
    last = {
        name: [
            x
            for x in LAMBDAS
            if mean(table, MAKKI, x) > max(mean(table, o, x) for o in (HEURISTIC, RANDOM, *others[:2]))
        ]
        for name, table in (("3a", f.time), ("3b", f.free_time))
    }
    return [
        claim(
            "1. With Ts = Tr = 0.1 the new algorithm enters soonest at most lambda.",
            "Our algorithm performed better than other algorithms for most values of λ",
            "section 4, Fig. 3a",
            len(soonest) > len(LAMBDAS) / 2,
            f"soonest at {some(soonest)}; at light load Makki enters after {number(mean(f.time, MAKKI, LIGHT))} and "
            f"Srimani-Reddy after {number(mean(f.time, SRIMANI, LIGHT))}, the new one after {number(mean(f.time, HEURISTIC, LIGHT))}",
            "at half of them or fewer",
        ),
        claim(
            "2. Asking for the token seen last improves the time only a little.",
            "The heuristic has improved the performance by only a small amount",
            "section 4",
            [0 < gain[x] < SMALL for x in gain],
            ", ".join(f"{gain[x]:+.0%} at {x:g}" for x in gain)
            + f"; less than {SMALL:.0%} is taken for a little",
            "no improvement, or a large one",
        ),
        claim(
            "3. With Ts = Tr = 0 Raymond is faster for small lambda and equal for large.",
            "Raymond's algorithm performs better than us for small λ and equally well for large λ",
            "section 4, Fig. 3b",
            [
                mean(f.free_time, RAYMOND, LIGHT)
                < min(mean(f.free_time, HEURISTIC, LIGHT), mean(f.free_time, RANDOM, LIGHT)),
                abs(level - 1) < 0.1,
            ],
            f"{number(mean(f.free_time, RAYMOND, LIGHT))} against {number(mean(f.free_time, HEURISTIC, LIGHT))} at {LIGHT:g}, "
            f"{number(mean(f.free_time, RAYMOND, HEAVY))} against {number(mean(f.free_time, HEURISTIC, HEAVY))} at {HEAVY:g}",
            "slower at small lambda; a tenth faster or slower at large",
        ),
        claim(
            "4. Makki is slowest.",
            "The time to enter the critical section is maximum for Makki's algorithm",
            "section 4, Figs. 3a and 3b",
            [x in found for found in last.values() for x in LAMBDAS],
            f"slowest at {some(last['3a'])} in Fig. 3a, {some(last['3b'])} in Fig. 3b",
            "another one slower at any lambda",
        ),
    ]


def ahead(series: Series, x: float) -> bool:
    """Whether the new algorithm is below all others, its interval and theirs apart."""
    ours = min(top(series[label][x]) for label in (HEURISTIC, RANDOM))
    return all(ours < bottom(series[other][x]) for other in (RAYMOND, SRIMANI, MAKKI))


def top(found: Point) -> float:
    return inf if found.mean is None else found.ci95[1] if found.ci95 else found.mean


def bottom(found: Point) -> float:
    return inf if found.mean is None else found.ci95[0] if found.ci95 else found.mean


def of_messages(f: Figures) -> list[Claim]:
    fewest = [x for x in LAMBDAS if ahead(f.messages, x)]
    apart = {
        label: max(
            abs(mean(f.free_messages, label, x) / mean(f.messages, label, x) - 1) for x in (LIGHT, ONE, HEAVY)
        )
        for label in (HEURISTIC, RANDOM, RAYMOND, SRIMANI, MAKKI)
    }
    raymond = [mean(f.messages, RAYMOND, x) for x in LAMBDAS]
    return [
        claim(
            "5. The new algorithm needs the fewest messages for most lambda.",
            "Our algorithm requires smaller number of messages compared to the other algorithms, for most values of λ",
            "section 4, Fig. 4",
            len(fewest) > len(LAMBDAS) / 2,
            f"fewest at {some(fewest)}",
            "at half of them or fewer",
        ),
        claim(
            "6. The heuristic reduces messages at high load.",
            "Applying the heuristics for choosing a token has reduced the number of messages at high load",
            "section 4, Fig. 4",
            below(f.saved, 0),
            f"{f.saved.mean or 0:+.2f} ± {f.saved.half_width:.2f} messages at {HEAVY:g}",
            "no fewer: the interval of the difference has to be below 0",
        ),
        claim(
            "7. Raymond takes 2N-K-1 to 2(N-1) messages.",
            "Raymond's algorithm has a lower bound of 2N - K - 1 … and an upper bound of 2 * (N - 1)",
            "section 4, Fig. 4",
            min(raymond) > 2 * N - K - 1.5 and max(raymond) < 2 * N - 1.5,
            f"{number(min(raymond), 4)} to {number(max(raymond), 4)} on average ({2 * N - K - 1} to {2 * (N - 1)})",
            "a message less or more: a mean half a message below or above it at any lambda",
        ),
        claim(
            "8. Srimani and Reddy's algorithm takes about N-1 messages.",
            "the average number of messages per critical section entry is close to (N - 1)",
            "section 4, Fig. 4",
            [tells(f.messages[SRIMANI][x], N - 1, N - 2, N) for x in LAMBDAS],
            f"{number(min(mean(f.messages, SRIMANI, x) for x in LAMBDAS))} to "
            f"{number(max(mean(f.messages, SRIMANI, x) for x in LAMBDAS))}",
            "N-2 or N, at any lambda: the interval is nearer",
        ),
        claim(
            "9. Makki's algorithm takes three messages at heavy load, and many at light load.",
            "with only three messages being required at heavy load",
            "section 4, Fig. 4",
            [tells(f.messages[MAKKI][HEAVY], 3, 2, 4), mean(f.messages, MAKKI, LIGHT) > 2 * 3],
            f"{number(mean(f.messages, MAKKI, HEAVY))} at {HEAVY:g}, {number(mean(f.messages, MAKKI, LIGHT))} at {LIGHT:g}",
            "two or four at heavy load; not even twice as many at light load",
        ),
        claim(
            "10. Messages per entry hardly depend on Ts and Tr.",
            "the average number of messages per critical section entry is not affected significantly by T_s, T_r and E",
            "section 4 (E was not varied here)",
            [gap < 0.1 for gap in apart.values()],
            "at most "
            + ", ".join(f"{gap:.1%} ({label})" for label, gap in apart.items())
            + f" apart, with overhead and without, at {LIGHT:g}, {ONE:g} and {HEAVY:g}",
            "a tenth more or fewer",
        ),
    ]


def of_words(f: Figures) -> list[Claim]:
    near = {label: mean(f.words, label, ONE) for label in WORDS}
    times = {label: near[HEURISTIC] / near[label] for label in (RAYMOND, SRIMANI, MAKKI)}
    apart = {x: mean(f.words, HEURISTIC, x) - mean(f.words, RANDOM, x) for x in (LIGHT, ONE, HEAVY)}
    return [
        *(
            claim(
                f"11. Words per message at lambda = 1: about {wanted:g} ({label}).",
                "about 9 words for our algorithm, 4 words for Raymond's …, 6.5 words for Srimani's …, and 8 words for Makki's",
                "section 4, Fig. 5",
                abs(near[label] - wanted) < 0.5,
                f"{number(near[label])}",
                "half a word more or less: 8 and 9 are a word apart",
            )
            for label, wanted in WORDS.items()
        ),
        claim(
            "12. Words are the same with and without the heuristic.",
            "The average information for our algorithm is same with and without the heuristic",
            "section 4, Fig. 5",
            [abs(gap) < 0.5 for gap in apart.values()],
            ", ".join(f"{gap:+.2f} words at {x:g}" for x, gap in apart.items()),
            "half a word more or less",
        ),
        claim(
            "13. Messages are 1.5 to 2 times as large as the others'.",
            "the average message size is about 1.5 to 2 times larger than the other algorithms",
            "section 4",
            [1.25 <= ratio < 2.25 for ratio in times.values()],
            ", ".join(f"{ratio:.2f} times {label}'s" for label, ratio in times.items())
            + " at lambda = 1 (by the paper's own figures 2.25, 1.38 and 1.13)",
            "as large, or 2.5 times: a ratio that does not round to 1.5 or 2",
        ),
    ]


def of_parts(f: Figures) -> list[Claim]:
    clusters = {RAYMOND: 2 * (N / K - 1), SRIMANI: N / K - 1}
    return [
        *(
            claim(
                f"{place}. Partitioning brings {label} to about {formula} messages.",
                quote,
                "section 5",
                [
                    tells(
                        f.messages[f"{label}, partitioned"][ONE],
                        clusters[label],
                        clusters[label] - 1,
                        clusters[label] + 1,
                    ),
                    helped(f.messages, label),
                ],
                f"{number(mean(f.messages, f'{label}, partitioned', ONE))} at {ONE:g}, where there were "
                f"{number(mean(f.messages, label, ONE))}",
                "one message more or less",
            )
            for place, label, formula, quote in (
                (14, RAYMOND, "2(N/K-1)", "the average number can be reduced to approximately 2(N/K-1)"),
                (
                    15,
                    SRIMANI,
                    "N/K-1",
                    "the number of messages per CS entry will reduce to approximately (N/K) - 1",
                ),
            )
        ),
        claim(
            "16. Partitioning often improves the time of Srimani and Reddy's algorithm, too.",
            "This improvement is often accompanied by an improvement in the average time to enter the CS",
            "section 5",
            helped(f.time, SRIMANI),
            f"{number(mean(f.time, f'{SRIMANI}, partitioned', ONE))} against {number(mean(f.time, SRIMANI, ONE))} at {ONE:g}",
            "at half of all lambda or fewer, or by less than a twentieth",
        ),
        claim(
            "17. Partitioning does not help the new algorithm. (Both with a random token and nu = 0.)",
            "For our algorithm, partitioning approach does not perform better",
            "section 5",
            [not helped(f.time, BARE), not helped(f.messages, BARE)],
            f"time {number(mean(f.time, f'{BARE}, partitioned', ONE))} partitioned, {number(mean(f.time, BARE, ONE))} whole, "
            f"messages {number(mean(f.messages, f'{BARE}, partitioned', ONE))} and {number(mean(f.messages, BARE, ONE))} at {ONE:g}; "
            f"time {number(mean(f.time, f'{BARE}, partitioned', LIGHT))} and {number(mean(f.time, BARE, LIGHT))}, "
            f"messages {number(mean(f.messages, f'{BARE}, partitioned', LIGHT))} and {number(mean(f.messages, BARE, LIGHT))} at {LIGHT:g}",
            "better by a twentieth at most lambda",
        ),
    ]


def helped(figure: Series, label: str) -> bool:
    """Whether the partitioned form is clearly better at most lambda."""
    better = [x for x in LAMBDAS if mean(figure, f"{label}, partitioned", x) < 0.95 * mean(figure, label, x)]
    return len(better) > len(LAMBDAS) / 2


def some(lambdas: Iterable[float]) -> str:
    found = [f"{x:g}" for x in lambdas]
    return f"{len(found)} of {len(LAMBDAS)} values of lambda" + (f" ({', '.join(found)})" if found else "")


def explain(report: Report, table: Table) -> None:
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
