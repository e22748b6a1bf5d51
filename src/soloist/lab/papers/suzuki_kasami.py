"""Suzuki and Kasami 1985: what Algorithms A and B cost."""

from __future__ import annotations

import msgspec

from soloist.lab import plots
from soloist.lab.history import traced
from soloist.lab.report import Claim, Report, claim, number
from soloist.lab.sweep import Contender, experiment
from soloist.lab.table import Point, Table
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment

ABOUT = "Algorithms A and B: N messages, and N + (N-1)/L with bounded sequence numbers"

SIZES = (3, 5, 10, 20, 40)
N = 10
LIMITS = (2, 3, 5, 10, 20, 50)
A, RICART = "Algorithm A", "Ricart-Agrawala"
CONTENDERS = (Contender("suzuki-kasami", A), Contender("ricart-agrawala", RICART))
BOUNDED = {
    limit: Contender("suzuki-kasami-bounded", f"Algorithm B, L = {limit}", {"L": limit}) for limit in LIMITS
}
TRANSIT = 1.0
FIXED = {"latency": TRANSIT, "inside": TRANSIT}
"""Inside for as long as a message takes: then a request is never so late that its author is served unasked."""


def largest(run: Experiment) -> int:
    """The largest sequence number that a REQUEST carries."""
    return max(int(step.message.n) for step in traced(run) if type(step.message).__name__ == "Request")  # type: ignore[union-attr]


def reproduce(bench: Workbench) -> Report:
    report = Report(
        "A distributed mutual exclusion algorithm, measured again",
        "I. Suzuki and T. Kasami, A distributed mutual exclusion algorithm, ACM TOCS 3 (4), 1985",
    )
    busy = bench.sweep(
        "saturated", CONTENDERS, {**FIXED, "saturate": True, "entries": 2000}, {"nodes": SIZES}
    )
    calm = bench.sweep("light", CONTENDERS, {**FIXED, "rate": 0.0005, "entries": 2000}, {"nodes": SIZES})
    bounded = bench.sweep(
        "bounded", BOUNDED.values(), {**FIXED, "saturate": True, "nodes": N, "entries": 3000}, {}
    )
    runs = [
        msgspec.structs.replace(
            experiment(BOUNDED[limit], {**FIXED, "nodes": N, "rate": 1.0, "entries": 300}), seed=seed
        )
        for limit in LIMITS
        for seed in bench.seeds
    ]
    numbers = bench.map("sequence numbers", largest, runs)
    draw(bench, report, busy, bounded)
    report.claims += claims(
        busy, calm, bounded, dict(zip(LIMITS, numbers[:: len(list(bench.seeds))], strict=True))
    )
    return report


def means(table: Table, column: str, label: str) -> dict[int, float]:
    return {p.x: p.mean for p in table.group(column, "nodes")[label] if p.mean is not None}


def mean_of(table: Table, label: str) -> Point:
    return table.group("messages_per_entry", "nodes")[label][0]


def draw(bench: Workbench, report: Report, busy: Table, bounded: Table) -> None:
    report.heading("Algorithm A")
    path = bench.figure("algorithm-a")
    plots.lines(
        busy.group("messages_per_entry", "nodes"),
        path,
        title="Messages per entry when everybody asks all the time",
        x="sites",
        y="messages per entry",
        references={"N": [(n, n) for n in SIZES], "2(N-1)": [(n, 2 * (n - 1)) for n in SIZES]},
    )
    report.figure("Messages per entry when everybody asks all the time", path.name)
    report.heading("Algorithm B")
    points = [
        msgspec.structs.replace(mean_of(bounded, contender.label), x=limit)
        for limit, contender in BOUNDED.items()
    ]
    path = bench.figure("algorithm-b")
    plots.lines(
        {"Algorithm B": points},
        path,
        title=f"Messages per entry with bounded sequence numbers, {N} sites",
        x="L",
        y="messages per entry",
        log="x",
        references={
            "N + (N-1)/L": [(limit, N + (N - 1) / limit) for limit in LIMITS],
            "N": [(2, N), (50, N)],
        },
    )
    report.figure(f"Messages per entry with bounded sequence numbers, {N} sites", path.name)
    report.table(
        (">L", ">measured", ">N + (N-1)/L"),
        [(limit, point.mean, N + (N - 1) / limit) for limit, point in zip(LIMITS, points, strict=True)],
    )


def claims(busy: Table, calm: Table, bounded: Table, numbers: dict[int, int]) -> list[Claim]:
    heavy, light = means(busy, "messages_per_entry", A), means(calm, "messages_per_entry", A)
    delays, waits = means(busy, "sync_delay", A), means(calm, "response_time", A)
    found = {limit: mean_of(bounded, contender.label) for limit, contender in BOUNDED.items()}
    worst = max(abs((point.mean or 0) - (N + (N - 1) / limit)) for limit, point in found.items())
    return [
        claim(
            "1. At most N messages per invocation: N-1 REQUESTs and one PRIVILEGE.",
            "abstract, section 2",
            all(table_max <= n + 1e-9 for n, table_max in heavy.items())
            and all(v <= n for n, v in light.items()),
            ", ".join(f"{number(heavy[n])} at N = {n}" for n in SIZES),
        ),
        claim(
            "2. N messages where everybody asks.",
            "section 2",
            [abs(heavy[n] - n) < 0.02 * n for n in SIZES],
            ", ".join(f"{number(heavy[n], 4)} at N = {n}" for n in SIZES),
        ),
        claim(
            "3. No message where the asker has the PRIVILEGE: so N-1 on average where one of N asks now and then.",
            "section 2",
            [abs(light[n] - (n - 1)) < 0.05 * n for n in SIZES],
            ", ".join(f"{number(light[n], 4)} at N = {n}" for n in SIZES),
        ),
        claim(
            "4. Fewer messages than Ricart-Agrawala's 2(N-1).",
            "section 1",
            [heavy[n] < means(busy, "messages_per_entry", RICART)[n] for n in SIZES],
            f"{number(heavy[40], 4)} against {number(means(busy, 'messages_per_entry', RICART)[40], 4)} at N = 40",
        ),
        claim(
            "5. The least delay there can be: one message from one holder to the next, two for whoever asks first.",
            "section 2",
            [
                all(abs(delay / TRANSIT - 1) < 0.01 for delay in delays.values()),
                all(wait <= 2.05 * TRANSIT for wait in waits.values()),
            ],
            f"{number(delays[N])} from exit to entry when saturated, {number(waits[N])} from request to entry at light load "
            f"(the holder itself waits for nothing), in message times, N = {N}",
        ),
        claim(
            "6. Algorithm B: N + (N-1)/L messages per invocation.",
            "section 3",
            [abs((point.mean or 0) - (N + (N - 1) / limit)) < 0.05 * N for limit, point in found.items()],
            f"at most {number(worst)} away, L = {', '.join(map(str, LIMITS))}, N = {N}",
        ),
        claim(
            "7. Algorithm B approaches Algorithm A as L grows.",
            "section 3",
            abs((found[50].mean or 0) - heavy[N]) < 0.05 * N,
            f"{number(found[50].mean, 4)} at L = 50, {number(heavy[N], 4)} with Algorithm A",
        ),
        claim(
            "8. Algorithm B keeps sequence numbers bounded, from 0 to L-1.",
            "section 3",
            [all(largest < 2 * limit for limit, largest in numbers.items()), False],
            "bounded, but by 2L-1: with numbers modulo L the last of an old round passes for one of the new "
            "(docs/errata.md, suzuki-kasami-bounded B2); largest seen: "
            + ", ".join(f"{largest} with L = {limit}" for limit, largest in numbers.items()),
        ),
    ]
