"""Lodha and Kshemkalyani 2000: messages per entry against concurrency, and the exact count of section 4.1.

Every single request of every run is counted, and its concurrency set taken from the trace.
"""

from __future__ import annotations

from random import Random
from statistics import fmean

import msgspec

from soloist.lab import plots
from soloist.lab.history import Served, concurrency, traced
from soloist.lab.report import Claim, Report, claim, number
from soloist.lab.sweep import Contender, experiment
from soloist.lab.table import Point, Table
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment, Listed
from soloist.sim.statistics import estimate

ABOUT = "messages against concurrency, the exact count of section 4.1, Ricart-Agrawala and Lamport beside it"

N = 10
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
NAME = "lodha-kshemkalyani"
OURS, RICART, LAMPORT = "Lodha-Kshemkalyani", "Ricart-Agrawala", "Lamport"
IMPROVED = tuple(f"{OURS}, improvement {number}" for number in (1, 2, 3))
CONTENDERS = (
    Contender(NAME, OURS),
    Contender("ricart-agrawala", RICART),
    Contender("lamport", LAMPORT),
    *(Contender(NAME, label, {"improvement": str(place)}) for place, label in enumerate(IMPROVED, start=1)),
)
FIXED = {"nodes": N, "latency": "uniform:0.5,1.5", "inside": 0.1, "channels": "fifo"}


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


def reproduce(bench: Workbench) -> Report:
    report = Report(
        "A fair distributed mutual exclusion algorithm, measured again",
        "S. Lodha and A. Kshemkalyani, A fair distributed mutual exclusion algorithm, IEEE TPDS 11 (6), 2000",
    )
    table = bench.sweep("load", CONTENDERS, {**FIXED, "entries": 2000}, {"rate": RATES})
    runs = bench.map("section 4.1", count, cases(bench))
    draw(bench, report, table, runs)
    report.claims += claims(table, runs)
    return report


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


def draw(bench: Workbench, report: Report, table: Table, runs: list[Counted]) -> None:
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
    report.heading("Messages against concurrency")
    by_situation: dict[str, list[Counted]] = {}
    for run in runs:
        by_situation.setdefault(run.situation, []).append(run)
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


def claims(table: Table, runs: list[Counted]) -> list[Claim]:
    every = [each for run in runs for each in run.served]
    right = sum(each.messages == exact(each) for each in every)
    short_right = sum(each.messages == short(each) for each in every)
    means = {
        label: {point.x: point.mean for point in points if point.mean is not None}
        for label, points in table.group("messages_per_entry", "rate").items()
    }
    least, most = min(each.messages for each in every), max(each.messages for each in every)
    inversions = sum(row.inversions or 0 for row in table.rows if row.label in (OURS, RICART, LAMPORT))
    saved = {label: 1 - means[label][RATES[-1]] / means[OURS][RATES[-1]] for label in IMPROVED}
    return [
        claim(
            "1. Between N-1 and 2(N-1) messages per entry.",
            "abstract, section 4.1",
            least >= N - 1 and most <= 2 * (N - 1),
            f"{least} to {most} over {len(every)} requests, N = {N}",
        ),
        claim(
            "2. 2N - |CSet| messages if a concurrent request has lower priority, else one less.",
            "section 4.1, cases a and b",
            right == len(every),
            f"exact for {right} of {len(every)} requests, each counted by itself",
        ),
        claim(
            "3. 2(N-1) - x messages, with x other concurrent requests.",
            "abstract, sections 1 and 5",
            [short_right == len(every), short_right > 0],
            f"exact for {short_right / len(every):.0%}; the others sent a FLUSH, which this formula leaves out",
        ),
        claim(
            "4. Fewer messages than Ricart-Agrawala wherever requests are concurrent.",
            "abstract",
            all(means[OURS][rate] < means[RICART][rate] for rate in RATES),
            f"{number(means[OURS][RATES[0]], 4)} against {number(means[RICART][RATES[0]], 4)} at rate {RATES[0]:g}, "
            f"{number(means[OURS][RATES[-1]], 4)} against {number(means[RICART][RATES[-1]], 4)} at {RATES[-1]:g}",
        ),
        claim(
            "5. Ricart-Agrawala needs 2(N-1) messages and Lamport 3(N-1).",
            "abstract",
            [
                all(abs(means[RICART][rate] - 2 * (N - 1)) < 0.1 for rate in RATES),
                all(abs(means[LAMPORT][rate] - 3 * (N - 1)) < 0.1 for rate in RATES),
            ],
            f"{number(means[RICART][1.0], 4)} and {number(means[LAMPORT][1.0], 4)} at rate 1",
        ),
        claim(
            "6. Requests are served in the order of their timestamps.",
            "abstract, section 4.2",
            inversions == 0,
            f"{inversions} pairs in another order, in all runs of the three algorithms",
        ),
        claim(
            "7. The improvements save messages.",
            "section 5",
            [saved[label] > 0.01 for label in IMPROVED],
            ", ".join(f"{saved[label]:.0%} ({label.rpartition(', ')[2]})" for label in IMPROVED)
            + f" at rate {RATES[-1]:g}",
        ),
    ]
