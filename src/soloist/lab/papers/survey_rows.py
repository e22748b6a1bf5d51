"""The rows of the survey's tables: what is published, in which words, and what would refute it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import msgspec

from soloist.lab.papers.survey_judges import (
    Judge,
    about,
    at_most,
    between,
    both,
    bounded_mean,
    exactly,
    in_rounds,
    logarithmic,
    mean_heavy,
    mean_light,
)
from soloist.lab.sweep import Contender
from soloist.structures.quorums import plane, triangle
from soloist.structures.trees import tree

K, L = 3, 5
SIZES = (7, 13, 31)
"""Projective planes of the orders 2, 3 and 5."""
SMALL = (7, 13, 19)
TREES = (7, 15, 31, 63)
"""Full binary trees: what grows logarithmically grows evenly from each to the next."""


TRIANGLES = (6, 10, 15, 28)
"""Those that fill a triangle."""


class SurveyRow(msgspec.Struct, frozen=True):
    table: str
    contender: Contender
    published: str
    quote: str
    where: str
    judge: Judge
    against: str
    sizes: tuple[int, ...] = SIZES
    situations: tuple[str, ...] = ("alone", "heavy")
    entries: int = 0
    """A run at light load; 0 for the usual."""
    order: str = "N"
    """How what is published grows."""

    @property
    def label(self) -> str:
        return self.contender.label


ONE, TWO, THREE = "Table 1: token-based", "Table 2: permission-based", "Table 3: several entries"


def row(
    table: str, name: str, published: str, quote: str, judge: Judge, against: str, **more: Any
) -> SurveyRow:
    given = {key: more.pop(key) for key in ("sizes", "situations", "entries", "order") if key in more}
    extra = ", ".join(str(value) for value in more.values())
    section = {ONE: "section 4", TWO: "section 5", THREE: "section 6"}[table]
    label = f"{name}{f' ({extra})' if extra else ''}"
    where = f"{section}, {table.partition(':')[0]}"
    return SurveyRow(table, Contender(name, label, more), published, quote, where, judge, against, **given)


def diameter(n: int) -> int:
    """Of a balanced binary tree."""
    return tree("tree", n, 1).diameter


def triangle_side(n: int) -> int:
    return max(map(len, triangle(n).sets))


def others(n: int) -> int:
    """In a quorum of the projective plane, without the site itself."""
    return len(plane(n)[0]) - 1


def of_coterie(n: int) -> int:
    """The same of a k-majority quorum."""
    return -(-(n + 1) // (K + 1)) - 1


COUNTED = "one message more or less: every entry is counted"
GROWTH = "growth like sqrt N or N: a line in either would be nearer"

ROWS = (
    row(
        ONE, "ricart-agrawala-token", "N, or 0",
        "The algorithm requires N messages exchanges for each critical section entry, or 0 messages if the requesting node is "
        "holding an idle token",
        exactly(lambda n: n, or_none=True), COUNTED,
    ),
    row(
        ONE, "suzuki-kasami", "N, or 0",
        "The algorithm requires N messages exchanges for each mutual exclusion invocation or 0 messages",
        exactly(lambda n: n, or_none=True), COUNTED,
    ),
    row(
        ONE, "suzuki-kasami-bounded", "L N + (N-1) for L entries",
        "The modified algorithm requires L*N + (N-1) message exchages for L mutual exclusion entries",
        in_rounds(lambda n: L * n + n - 1), "L N, (L+1) N: every round is counted", situations=("rounds",), L=L,
    ),
    row(
        ONE, "mizuno-neilsen-rao", "order of log N",
        "If it is based on the binary tree protocol, the upper bound is in the order of magnitude of log N",
        logarithmic, GROWTH, sizes=TREES, situations=("alone",), quorums="tree", order="log N",
    ),
    row(
        ONE, "mizuno-neilsen-rao", "about 3 sqrt N",
        "The upper bound using quorum agreements based on finite projective planes is approximately 3 * SQRT(N)",
        about(lambda n: 3 * sqrt(n), sqrt), "2 sqrt N, 4 sqrt N", quorums="plane", order="sqrt N",
    ),
    row(
        ONE, "mizuno-neilsen-rao", "2 sqrt(2N) - 2",
        "A modified grid-set protocol may be used to generate the quorum agreements and the upper bound in this case would be "
        "(2 * SQRT(2) * SQRT(N) - 2)",
        at_most(lambda n: 2 * (triangle_side(n) - 1)),
        "any other number: the sets of a triangle of N = m(m+1)/2 sites have m, which is sqrt(2N) but for the rounding, so 2m - 2 is meant",
        sizes=TRIANGLES, quorums="modified-grid", order="sqrt N",
    ),
    row(
        ONE, "neilsen-mizuno", "at most D + 1 = N",
        "has an upper bound equal to (D+1) … For a linear topology, the upper bound is N",
        at_most(lambda n: n), "N-1 or N+1: the most is reached, and not passed", topology="line",
    ),
    row(
        ONE, "neilsen-mizuno", "at most 3", "In a star topology the upper bound is 3",
        at_most(lambda n: 3), "2 or 4: the most is reached, and not passed", topology="star", order="1",
    ),
    row(
        ONE, "helary-plouzeau-raynal", "N to N-1+D", "tree toplogy … N to (N-1+D)",
        between(lambda n: n, lambda n: n - 1 + diameter(n)), "either end one off: both are reached",
        situations=("alone", "heavy"), topology="tree",
    ),
    row(
        ONE, "helary-plouzeau-raynal", "N to 2(N-1)", "For a linear topology, the total number bounds are N and 2(N-1)",
        between(lambda n: n, lambda n: 2 * (n - 1)), "either end one off: both are reached", topology="line",
    ),
    row(
        ONE, "helary-plouzeau-raynal", "N to 2N", "The total number of messages varies from N to 2N in a ring topology",
        between(lambda n: n, lambda n: 2 * n), "either end one off: both have to be reached", topology="ring",
    ),
    row(
        ONE, "helary-plouzeau-raynal", "N", "In a complete network the total message number is N",
        exactly(lambda n: n, or_none=True), COUNTED, topology="full",
    ),
    row(
        ONE, "raymond-tree", "2D", "2*D", at_most(lambda n: 2 * diameter(n)), "2D-1 or 2D+1: the most is reached, and not passed",
        situations=("alone",), topology="tree", order="log N",
    ),
    row(
        ONE, "raymond-tree", "order of log N",
        "The total number of messages exchanged … is typically in the order of magnitude of log N",
        logarithmic, GROWTH, sizes=TREES, situations=("alone",), topology="tree", order="log N",
    ),
    row(
        ONE, "singhal-heuristic", "(N+1)/2 to N",
        "(N+1)/2 in case of light traffic, and N in the case of heavy traffic",
        both(
            mean_light(lambda n: (n + 1) / 2, lambda n: n / 2, lambda n: n / 2 + 1),
            mean_heavy(lambda n: n, lambda n: n - 1, lambda n: n + 1),
        ),
        "light: N/2 or (N+2)/2; heavy: one message more or less: the interval is nearer", sizes=SMALL, situations=("light", "heavy"), entries=8000,
    ),
    row(
        ONE, "naimi-trehel", "avg log N",
        "The average number of messages exchanged for an entry to the critical section is in the order of log N",
        logarithmic, GROWTH, sizes=(8, 16, 32, 64, 128), situations=("light",), order="log N",
    ),
    row(
        ONE, "mishra-srimani", "L N + (N-1), for L entries", "The total number of messages exchanged for a critical section entry is L*N+(N-1)",
        in_rounds(lambda n: L * n + n - 1), "L N, (L+1) N. (By the letter it is the cost of one entry, which is N on average.)",
        situations=("rounds",), L=L,
    ),
    row(
        ONE, "nishio", "N", "The number of messages exchanged for a critical section entry is N",
        exactly(lambda n: n, or_none=True), COUNTED,
    ),
    row(
        TWO, "lamport", "3(N-1)", "the total number of messages exchanged for an entry to a critical section is 3 * (N-1)",
        exactly(lambda n: 3 * (n - 1)), COUNTED,
    ),
    row(
        TWO, "ricart-agrawala", "2(N-1)", "The algorithm requires 2 * (N-1) messages for an entry to the CS to take effect",
        exactly(lambda n: 2 * (n - 1)), COUNTED,
    ),
    row(
        TWO, "carvalho-roucairol", "0 to 2(N-1)", "The algorithm requires from 0 to 2 * (N-1) messages",
        between(lambda n: 0, lambda n: 2 * (n - 1), free=False), "either end one off: both are reached",
    ),
    row(
        TWO, "raynal", "at most 2(N-1)²", "The number of messages exchanged has an upper bound of 2(N-1)2",
        bounded_mean(lambda n: 2 * (n - 1) ** 2), "no bound: a mean above it refutes it", sizes=(5, *SIZES[:2]), situations=("heavy",), order="N²",
    ),
    row(
        TWO, "raynal-inform", "at most (N-1)²", "The total number of messages exchanged for a CS entry has an upper bound of (N-1)2",
        bounded_mean(lambda n: (n - 1) ** 2), "no bound: a mean above it refutes it", sizes=(5, *SIZES[:2]),
        situations=("light", "heavy"), entries=100, order="N²",
    ),
    row(
        TWO, "maekawa", "3 sqrt N to 5 sqrt N",
        "C * SQRT(N), where C is a constant between 3 and 5",
        between(lambda n: 3 * others(n), lambda n: 5 * others(n)),
        "2 or 6 for each other site of the set (taken for sqrt N): no entry costs less or more, both ends are reached", quorums="plane", order="sqrt N",
    ),
    row(
        TWO, "sanders", "|I - {i}| + 2 |R - {i}|",
        "The total number of messages required for an entry to the CS to take effect is |Ii-{i}| + 2(|Ri-{i}|)",
        exactly(lambda n: 2 * (n - 1)), COUNTED, structure="ricart-agrawala",
    ),
    row(
        TWO, "agrawal-el-abbadi", "O(log N)", "Under the absence of failures the algorithm requires O(log N) messages",
        logarithmic, GROWTH, sizes=TREES, situations=("alone",), order="log N",
    ),
    row(
        TWO, "singhal-dynamic", "N-1 to 3(N-1)/2",
        "Under light load, the algorithm requires an average of (N - 1) messages … Under heavy load, it requires 3 * (N - 1)/2",
        both(
            mean_light(lambda n: n - 1, lambda n: n - 2, lambda n: n),
            mean_heavy(lambda n: 1.5 * (n - 1), lambda n: n - 1, lambda n: 2 * (n - 1)),
        ),
        "light: one message more or less; heavy: N-1 or 2(N-1)", sizes=SMALL, situations=("light", "heavy"), entries=8000,
    ),
    row(
        THREE, "raymond-k", "at most 2(N-1)", "The algorithm requires at most 2 * (N - 1) messages",
        at_most(lambda n: 2 * (n - 1)), "2N-3 or 2N-1: the most is reached, and not passed",
    ),
    row(
        THREE, "srimani-reddy", "0 or N+K-1",
        "The algorithm requires N + K - 1 messages exchanged",
        both(exactly(lambda n: n + K - 1, or_none=True), at_most(lambda n: n + K - 1)),
        "fewer for some (every entry is counted); a smaller bound, or none",
    ),
    row(
        THREE, "kakugawa", "3 s to 5 s", "The total number of messages required is C * s, where C is a constant between 3 and 5",
        between(lambda n: 3 * of_coterie(n), lambda n: 5 * of_coterie(n)),
        "2 or 6 for each other site of the quorum: no entry costs less or more, both ends are reached",
    ),
)  # fmt: skip
