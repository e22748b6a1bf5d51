"""Suzuki and Kasami 1985: what Algorithms A and B cost, counted invocation by invocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

import msgspec

from soloist.algorithms.printed import find_erratum
from soloist.core import Site
from soloist.core.trace import Step
from soloist.lab import plots
from soloist.lab.history import traced
from soloist.lab.refute import in_words, refute
from soloist.lab.report import Claim, Findings, below, claim, number, tells
from soloist.lab.sweep import Contender, experiment
from soloist.lab.table import Point
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment
from soloist.sim.experiment import run

ABOUT = "Algorithms A and B: N messages, and N + (N-1)/L with bounded sequence numbers"

SIZES = (3, 5, 10, 20, 40)
N = 10
LIMITS = (2, 3, 5, 10, 20, 50)
A, RICART, B = "Algorithm A", "Ricart-Agrawala", "Algorithm B, L = 10"
CONTENDERS = (Contender("suzuki-kasami", A), Contender("ricart-agrawala", RICART))
BOUNDED = {
    limit: Contender("suzuki-kasami-bounded", f"Algorithm B, L = {limit}", {"L": limit}) for limit in LIMITS
}
TRANSIT = 1.0
FIXED = {"latency": TRANSIT, "inside": TRANSIT}
"""Inside for as long as a message takes: then a request is never so late that its author is served unasked."""
RARE = 0.0005


class Invocation(msgspec.Struct):
    """One mutual exclusion invocation, and the messages that it took."""

    site: Site
    held: bool
    """The site had the privilege when it asked."""
    requests: int = 0
    privileges: int = 0
    replies: int = 0
    number: int = -1
    """The sequence number of its REQUESTs."""

    @property
    def cost(self) -> int:
        return self.requests + self.privileges + self.replies


def invocations(steps: Iterable[Step]) -> list[Invocation]:
    """All that are over. REQUESTs count where they are sent, PRIVILEGEs and REPLYs where they arrive: a REPLY for
    the invocation that asked last, also if the node wants to enter again and has to wait for it."""
    made: dict[Site, list[Invocation]] = {}
    asked: dict[Site, Invocation] = {}
    holder: Site | None = 0
    for step in steps:
        site, kind = step.site, type(step.message).__name__
        match step.kind:
            case "request":
                made.setdefault(site, []).append(Invocation(site, holder == site))
            case "send" if kind == "Request":
                asked[site] = made[site][-1]
                asked[site].requests += 1
                asked[site].number = step.message.n  # type: ignore[union-attr]
            case "send" if kind == "Privilege":
                holder = None
            case "deliver" if kind == "Privilege":
                made[site][-1].privileges += 1
                holder = site
            case "deliver" if kind == "Reply":
                asked[site].replies += 1
            case _:
                pass
    return [each for site, all_made in made.items() for each in over(all_made, asked.get(site))]


def over(made: list[Invocation], asked: Invocation | None) -> list[Invocation]:
    """Without the last one of a node, which may be under way, nor the last that asked, which may miss REPLYs."""
    last = next((place for place, each in enumerate(made) if each is asked), len(made) - 1)
    return made[: min(last, len(made) - 1)]


def rounds(found: Iterable[Invocation], limit: int) -> list[int]:
    """The messages of L invocations by a single node, of those that asked: each whole round."""
    by_site: dict[Site, list[int]] = {}
    for each in found:
        if each.requests:
            by_site.setdefault(each.site, []).append(each.cost)
    return [
        sum(costs[place : place + limit])
        for costs in by_site.values()
        for place in range(0, len(costs) - limit + 1, limit)
    ]


def largest(found: Iterable[Invocation]) -> int:
    return max(each.number for each in found)


class Figures(msgspec.Struct, frozen=True):
    """All that the claims are judged by."""

    invocations: dict[int, list[Invocation]]
    """Algorithm A, by N."""
    ricart: dict[int, set[int]]
    """What an invocation costs with Ricart and Agrawala's algorithm, by N."""
    handover: Point
    """From an exit to the next entry in Algorithm A, when saturated."""
    wait: float
    """The median from request to entry in Algorithm A, when requests are rare."""
    sooner: Point
    """Time to enter, of Algorithm A less that of Ricart and Agrawala, when requests are rare and delays vary."""
    handed: Point
    """The same difference from an exit to the next entry, when saturated."""
    sooner_b: Point
    handed_b: Point
    """Both for Algorithm B."""
    rounds: dict[int, set[int]]
    """What L requests of a node cost in Algorithm B, by L."""
    numbers: dict[int, int]
    """The largest sequence number of Algorithm B, by L."""
    unbounded: int
    """The largest of Algorithm A."""
    deadlock: str
    """What the checker finds in Algorithm A as printed, if anything."""
    stale: str
    """And in Algorithm B with numbers modulo L."""


def count(case: Experiment) -> list[Invocation]:
    return invocations(traced(case))


def prices(case: Experiment) -> set[int]:
    return {int(cost) for cost in run(case, case.seed).cost}


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "A distributed mutual exclusion algorithm, measured again",
        "I. Suzuki and T. Kasami, A distributed mutual exclusion algorithm, ACM TOCS 3 (4), 1985",
        """Algorithms A and B as repaired. A: the whole exit is one step (as printed, P1 can be interrupted: erratum A1).
        B: only an entry that sent a REQUEST ends a round (B1), and numbers run modulo 2L instead of L (B2). What the
        checker makes of the printed text is said where a claim is about it. A message takes one time unit and so does a
        stay inside; where delays vary, they are exponential with that mean.""",
    )
    figures = measure(bench, report)
    report.claims += claims(figures)
    return report


def measure(bench: Workbench, report: Findings) -> Figures:
    heavy, rare = {**FIXED, "saturate": True}, {**FIXED, "rate": RARE}
    busy = bench.sweep("saturated", CONTENDERS, {**heavy, "entries": 1000}, {"nodes": SIZES})
    calm = bench.sweep("light", CONTENDERS[:1], {**rare, "nodes": N, "entries": 1000}, {})
    vary = {"latency": f"exponential:{TRANSIT:g}", "nodes": N, "entries": 2000}
    three = (*CONTENDERS, BOUNDED[10])
    early = bench.sweep("delays-light", three, {**rare, **vary}, {})
    late = bench.sweep("delays-saturated", three, {**heavy, **vary, "entries": 5000}, {})
    wanted = {
        ("A", n): [*cases(bench, CONTENDERS[0], heavy, n, 400), *cases(bench, CONTENDERS[0], rare, n, 400)]
        for n in SIZES
    } | {("B", limit): cases(bench, contender, heavy, N, 1500) for limit, contender in BOUNDED.items()}
    made = [(key, case) for key, found in wanted.items() for case in found]
    runs: dict[tuple[str, int], list[list[Invocation]]] = {}
    for (key, _), found in zip(
        made, bench.map("invocations", count, [case for _, case in made]), strict=True
    ):
        runs.setdefault(key, []).append(found)
    counted = {n: [each for found in runs["A", n] for each in found] for n in SIZES}
    bounded = {limit: runs["B", limit] for limit in LIMITS}
    ricart = [(n, case) for n in SIZES for case in cases(bench, CONTENDERS[1], heavy, n, 200)]
    paid = bench.map("Ricart-Agrawala", prices, [case for _, case in ricart])
    draw(bench, report, busy.group("messages_per_entry", "nodes"), bounded)
    return Figures(
        counted,
        {
            n: {cost for (m, _), costs in zip(ricart, paid, strict=True) if m == n for cost in costs}
            for n in SIZES
        },
        next(point for point in busy.group("sync_delay", "nodes")[A] if point.x == N),
        calm.group("response_time_p50", "nodes")[A][0].mean or 0.0,
        early.difference("response_time", "nodes", A, RICART)[0],
        late.difference("sync_delay", "nodes", A, RICART)[0],
        early.difference("response_time", "nodes", B, RICART)[0],
        late.difference("sync_delay", "nodes", B, RICART)[0],
        {limit: {cost for found in runs for cost in rounds(found, limit)} for limit, runs in bounded.items()},
        {limit: max(map(largest, runs)) for limit, runs in bounded.items()},
        largest(counted[SIZES[0]]),
        in_words(refute(find_erratum("suzuki-kasami", "A1"))),
        in_words(refute(find_erratum("suzuki-kasami-bounded", "B2"))),
    )


def cases(
    bench: Workbench, contender: Contender, load: Mapping[str, object], nodes: int, entries: int
) -> list[Experiment]:
    """The entries are not fewer than it takes for each node to go through a round of the longest L."""
    limit = contender.options.get("L", 1)
    enough = max(bench.entries(entries), 4 * nodes * limit if "saturate" in load else 0)
    made = experiment(contender, {**load, "nodes": nodes, "entries": enough})
    return [msgspec.structs.replace(made, seed=seed) for seed in bench.seeds]


def draw(
    bench: Workbench,
    report: Findings,
    busy: dict[str, list[Point]],
    bounded: dict[int, list[list[Invocation]]],
) -> None:
    report.heading("Algorithm A")
    path = bench.figure("algorithm-a")
    plots.lines(
        busy,
        path,
        title="Messages per entry when everybody asks all the time",
        x="sites",
        y="messages per entry",
        references={"N": [(n, n) for n in SIZES], "2(N-1)": [(n, 2 * (n - 1)) for n in SIZES]},
    )
    report.figure("Messages per entry when everybody asks all the time", path.name)
    report.heading("Algorithm B")
    means = {
        limit: fmean(cost / limit for found in runs for cost in rounds(found, limit))
        for limit, runs in bounded.items()
    }
    path = bench.figure("algorithm-b")
    title = f"Messages per invocation that asks, with bounded sequence numbers, {N} sites"
    plots.lines(
        {"Algorithm B": [Point(limit, mean, None, 1) for limit, mean in means.items()]},
        path,
        title=title,
        x="L",
        y="messages per invocation",
        log="x",
        references={
            "N + (N-1)/L": [(limit, N + (N - 1) / limit) for limit in LIMITS],
            "N": [(2, N), (50, N)],
        },
    )
    report.figure(title, path.name)
    report.table(
        (">L", ">measured", ">N + (N-1)/L"),
        [(limit, mean, N + (N - 1) / limit) for limit, mean in means.items()],
    )


def claims(f: Figures) -> list[Claim]:
    every = [(n, each) for n, found in f.invocations.items() for each in found]
    asked = [(n, each) for n, each in every if not each.held]
    free = [(n, each) for n, each in every if each.held]
    right = sum((each.requests, each.privileges) == (n - 1, 1) for n, each in asked)
    idle = sum(each.cost == 0 for n, each in free)
    sizes = ", ".join(map(str, f.invocations))
    costs = {limit: {limit * N + N - 1} for limit in LIMITS}
    return [
        claim(
            "1. N messages for a node without the privilege: N-1 REQUESTs and one PRIVILEGE.",
            "at most, N message exchanges per one mutual exclusion invocation; (N-1) REQUEST messages and one PRIVILEGE message",
            "section 2",
            right == len(asked) > 0,
            f"so for {right} of {len(asked)} invocations, each counted by itself, N = {sizes}",
            "N-1 or N+1 messages: a single invocation that takes so many refutes it",
        ),
        claim(
            "2. No message for a node that has the privilege.",
            "or no message at all if the node having the privilege happens to be the only requesting node",
            "section 2",
            None if not free else idle == len(free),
            f"so for {idle} of {len(free)} such invocations",
            "that it announces itself: one message of such an invocation refutes it",
        ),
        claim(
            "3. Ricart and Agrawala's algorithm takes 2(N-1) messages.",
            "an algorithm of Ricart and Agrawala, which requires 2*(N-1) message exchanges per invocation",
            "abstract",
            all(found == {2 * (n - 1)} for n, found in f.ricart.items()),
            ", ".join(f"{spelled(found)} at N = {n}" for n, found in f.ricart.items()),
            "2N-1 or 2N-3: every invocation is counted",
        ),
        claim(
            "4. The privilege moves in one message time.",
            "Algorithm A attains the first bound since the PRIVILEGE message is sent directly to the next node",
            "section 2",
            tells(f.handover, TRANSIT, 2 * TRANSIT),
            f"{number(f.handover.mean, 4)} message times from exit to entry, saturated, N = {N}",
            "two message times, as by way of a coordinator",
        ),
        claim(
            "5. A lone request is served in two message times: one for the REQUEST, one for the PRIVILEGE.",
            "The second bound is attained since a requesting node sends a REQUEST message to all other nodes simultaneously",
            "section 2",
            abs(f.wait / TRANSIT - 2) < 0.5,
            f"{number(f.wait, 4)} message times in the median, requests rare, N = {N}",
            "three, as where the request is passed on once",
        ),
        claim(
            "6. The delay is smaller than with Ricart and Agrawala's algorithm.",
            "Accordingly, the delay to invoke mutual exclusion is smaller",
            "abstract",
            [below(f.sooner, 0), below(f.handed, 0)],
            f"{signed(f.sooner)} from request to entry where requests are rare, {signed(f.handed)} from exit to entry "
            f"when saturated, in message times that vary, N = {N}",
            "equal delays: the interval of the difference has to be below 0",
        ),
        claim(
            "7. Algorithm A has no deadlock, as printed.",
            "Algorithm A is deadlock free and starvation free",
            "section 2, of Fig. 1",
            f.deadlock.startswith("no "),
            f"{f.deadlock} where P1, which is not said to be indivisible, is interrupted between its last two steps "
            "(docs/errata.md, suzuki-kasami A1); none with the exit as one step",
            "one deadlock refutes it",
        ),
        claim(
            "8. Algorithm B: L N + (N-1) messages for L invocations of a node, N + (N-1)/L on average.",
            "requires at most L*N + (N-1) message exchanges for L mutual exclusion invocations by a single node",
            "section 3",
            [f.rounds[limit] == costs[limit] for limit in LIMITS],
            f"N = {N}: " + "; ".join(f"{spelled(f.rounds[limit])} for L = {limit}" for limit in LIMITS),
            "L N without the REPLYs, (L+1) N with one too many: every round of every node is counted",
        ),
        claim(
            "9. Algorithm B keeps sequence numbers below L.",
            "L messages REQUEST(j, k), 0 <= k <= L - 1",
            "section 3",
            [
                all(found < limit for limit, found in f.numbers.items()),
                all(found < 2 * limit for limit, found in f.numbers.items())
                and f.unbounded > max(f.numbers[2], 3),
            ],
            "bounded, but by 2L-1: "
            + ", ".join(f"{found} with L = {limit}" for limit, found in f.numbers.items())
            + f" (Algorithm A in the same time: {f.unbounded}). With numbers modulo L as printed the checker finds {f.stale} "
            "(docs/errata.md, suzuki-kasami-bounded B2)",
            "numbers that grow with the invocations, as in Algorithm A",
        ),
        claim(
            "10. Algorithm B is faster and uses fewer messages than Ricart and Agrawala's.",
            "Algorithm B is faster and uses fewer messages than Ricart and Agrawala's algorithm",
            "section 3",
            [
                all(
                    max(found, default=2 * N * limit) < 2 * (N - 1) * limit
                    for limit, found in f.rounds.items()
                ),
                below(f.sooner_b, 0),
                below(f.handed_b, 0),
            ],
            f"at most {number(max(max(found, default=0) / limit for limit, found in f.rounds.items()))} messages against "
            f"{2 * (N - 1)}; L = 10: {signed(f.sooner_b)} from request to entry where requests are rare, {signed(f.handed_b)} "
            f"from exit to entry when saturated (the end of a round waits for REPLYs)",
            "as many messages, equal delays: the intervals of the differences have to be below 0",
        ),
    ]


def spelled(costs: set[int]) -> str:
    return " or ".join(map(str, sorted(costs))) or "no round seen"


def signed(found: Point) -> str:
    if found.mean is None:
        return "–"
    return f"{found.mean:+.2f} ± {found.half_width:.2f}"
