"""What Bulgannawar and Vaidya 1995 claim in sections 4 and 5, claim by claim, and how each is judged."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import msgspec

from soloist.lab.report import Claim, below, claim, number, tells
from soloist.lab.table import Point

N, K = 30, 3
LIGHT, ONE, HEAVY = 0.001, 1.0, 10.0

HEURISTIC, RANDOM = "new, last seen token", "new, random token"
PRINTED = "new, INFORM as printed"
BARE = "new, random token, nu = 0"
RAYMOND, SRIMANI, MAKKI = "Raymond", "Srimani-Reddy", "Makki"

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

    @property
    def lambdas(self) -> list[float]:
        """Those that were measured."""
        return list(self.time[HEURISTIC])


Series = dict[str, dict[float, Point]]


SMALL = 0.2
"""Share: "only a small amount" is less than a fifth. The paper gives no figure."""


def claims(f: Figures) -> list[Claim]:
    """One after another, as section 4 and 5 make them."""
    return [*of_time(f), *of_messages(f), *of_words(f), *of_parts(f)]


def mean(series: Series, label: str, x: float) -> float:
    """What failed in all its runs is later and dearer than anything."""
    found = series[label][x].mean
    return inf if found is None else found


def of_time(f: Figures) -> list[Claim]:
    others = (RAYMOND, SRIMANI, MAKKI)
    soonest = [x for x in f.lambdas if ahead(f.time, x)]
    gain = {x: 1 - mean(f.time, HEURISTIC, x) / mean(f.time, RANDOM, x) for x in (LIGHT, ONE, HEAVY)}
    level = mean(f.free_time, RAYMOND, HEAVY) / mean(f.free_time, HEURISTIC, HEAVY)
    last = {
        name: [
            x
            for x in f.lambdas
            if mean(table, MAKKI, x) > max(mean(table, o, x) for o in (HEURISTIC, RANDOM, *others[:2]))
        ]
        for name, table in (("3a", f.time), ("3b", f.free_time))
    }
    return [
        claim(
            "1. With Ts = Tr = 0.1 the new algorithm enters soonest at most lambda.",
            "Our algorithm performed better than other algorithms for most values of λ",
            "section 4, Fig. 3a",
            len(soonest) > len(f.lambdas) / 2,
            f"soonest at {some(soonest, f)}; at light load Makki enters after {number(mean(f.time, MAKKI, LIGHT))} and "
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
            [x in found for found in last.values() for x in f.lambdas],
            f"slowest at {some(last['3a'], f)} in Fig. 3a, {some(last['3b'], f)} in Fig. 3b",
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
    fewest = [x for x in f.lambdas if ahead(f.messages, x)]
    apart = {
        label: max(
            abs(mean(f.free_messages, label, x) / mean(f.messages, label, x) - 1) for x in (LIGHT, ONE, HEAVY)
        )
        for label in (HEURISTIC, RANDOM, RAYMOND, SRIMANI, MAKKI)
    }
    raymond = [mean(f.messages, RAYMOND, x) for x in f.lambdas]
    return [
        claim(
            "5. The new algorithm needs the fewest messages for most lambda.",
            "Our algorithm requires smaller number of messages compared to the other algorithms, for most values of λ",
            "section 4, Fig. 4",
            len(fewest) > len(f.lambdas) / 2,
            f"fewest at {some(fewest, f)}",
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
            [tells(f.messages[SRIMANI][x], N - 1, N - 2, N) for x in f.lambdas],
            f"{number(min(mean(f.messages, SRIMANI, x) for x in f.lambdas))} to "
            f"{number(max(mean(f.messages, SRIMANI, x) for x in f.lambdas))}",
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
            "section 4 (for E see claim 18)",
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
    lambdas = figure[label]
    better = [x for x in lambdas if mean(figure, f"{label}, partitioned", x) < 0.95 * mean(figure, label, x)]
    return len(better) > len(lambdas) / 2


def some(lambdas: Iterable[float], f: Figures) -> str:
    found = [f"{x:g}" for x in lambdas]
    return f"{len(found)} of {len(f.lambdas)} values of lambda" + (f" ({', '.join(found)})" if found else "")
