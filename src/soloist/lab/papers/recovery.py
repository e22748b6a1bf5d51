"""Recovery as published: unsafe runs, runs in which somebody waits for ever, and what recovery takes, against timeouts.

Delays are uniform up to d; times are told in d. A run has five sites and one crash, or none where timing alone is the matter.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import msgspec

from soloist.algorithms import RECOVERY, find_any
from soloist.core import PropertyViolated
from soloist.lab import plots
from soloist.lab.report import Findings, claim, number
from soloist.lab.table import Point
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment, Thinking
from soloist.sim.experiment import run
from soloist.sim.faults import faults
from soloist.sim.links import Network, Uniform

ABOUT = "recovery as published: unsafe and stuck runs, and the longest wait, against timeouts"

D = 0.001
"""Time units: the longest delay."""
NODES, RATE, ENTRIES = 5, 100.0, 100
FOR_EVER = "crash=any@0..0.15"
CRASH = {"nishio-recovery": f"{FOR_EVER}+0.05", "raymond-tree-recovery": "crash-new=any@0..0.15+0.05"}
PATIENCE = {"nishio-recovery": "T", "naimi-trehel-recovery": "Twait", "mishra-srimani-recovery": "T"}
"""The timeout by which a failure is detected."""
WAITS = (5, 10, 20, 50)
ANSWERS = (0.5, 1, 2, 3.1)
ENOUGH = 3
"""Delays d that Telec needs: a question, the token under way, an answer."""
UNSAFE = "Share of unsafe runs"
TIMED = {"naimi-trehel-recovery": ("Twait", "Telec"), "mishra-srimani-recovery": ("T", "Treply")}
"""Where safety rests on time: when a failure is presumed, and how long answers are waited for."""


class Trial(msgspec.Struct, frozen=True):
    """Many runs of one kind."""

    algorithm: str
    fault: str
    runs: int
    first: int
    entries: int
    options: dict[str, float] = {}
    printed: bool = False


class Endings(msgspec.Struct, frozen=True):
    """How they ended. The longest wait of a run, in d, is a mean over those that ended well."""

    fine: int
    unsafe: int
    stuck: int
    longest: float | None
    messages: float | None

    @property
    def runs(self) -> int:
        return self.fine + self.unsafe + self.stuck


def attempt(trial: Trial) -> Endings:
    experiment = Experiment(
        trial.algorithm,
        NODES,
        options=dict(trial.options),
        workload=Thinking(RATE),
        network=Network(Uniform(0.0, D), fifo=find_any(trial.algorithm).channels == "fifo"),
        entries=trial.entries,
        warmup=0,
        printed=trial.printed,
        faults=faults(trial.fault.split()),
    )
    waits, costs, unsafe, stuck = [], [], 0, 0
    for seed in range(trial.first, trial.first + trial.runs):
        try:
            found = run(experiment, seed)
        except PropertyViolated as error:
            stuck += error.property == "service"
            unsafe += error.property != "service"
        else:
            waits.append(max(found.waits) / D)
            costs.append(fmean(found.cost))
    if not waits:
        return Endings(0, unsafe, stuck, None, None)
    return Endings(len(waits), unsafe, stuck, fmean(waits), fmean(costs))


def reproduce(bench: Workbench) -> Findings:
    report = Findings(
        "Recovery as published",
        "The survey of 1993, section 4, and what its descriptions leave out",
        """The algorithms with recovery, repaired, and where it says so as the survey prints them. What real locks do, recovery by views, is
        measured elsewhere (`soloist bench recovery`).""",
    )
    _recommended(bench, report)
    _detection(bench, report)
    _timing(bench, report)
    return report


def _try(bench: Workbench, what: str, trials: list[Trial]) -> list[tuple[Trial, Endings]]:
    return list(zip(trials, bench.map(what, attempt, trials), strict=True))


def _trial(bench: Workbench, name: str, fault: str, runs: int, **more: Any) -> Trial:
    return Trial(name, fault, bench.entries(runs), bench.seeds.first, ENTRIES, **more)


def _recommended(bench: Workbench, report: Findings) -> None:
    trials = [_trial(bench, name, CRASH.get(name, FOR_EVER), 500) for name in RECOVERY]
    for trial, found in _try(bench, "one crash", trials):
        report.claims.append(
            claim(
                f"{trial.algorithm}: after one crash at a random moment ({trial.fault}) nobody is unsafe, and nobody waits for ever",
                "",
                "its page",
                [not found.unsafe, not found.stuck],
                f"{found.runs} runs: {found.unsafe} unsafe, {found.stuck} stuck; longest wait {number(found.longest)} d on average",
                "one such run",
            )
        )


def _detection(bench: Workbench, report: Findings) -> None:
    trials = [
        _trial(bench, name, CRASH.get(name, FOR_EVER), 100, options={option: wait * D})
        for name, option in PATIENCE.items()
        for wait in WAITS
    ]
    series: dict[str, list[Point]] = {}
    rows = []
    for trial, found in _try(bench, "detection", trials):
        wait = round(next(iter(trial.options.values())) / D)
        series.setdefault(trial.algorithm, []).append(Point(wait, found.longest, None, found.fine))
        rows.append((trial.algorithm, wait, found.unsafe, found.stuck, found.longest, found.messages))
    report.heading("What recovery takes, against the time until a failure is presumed")
    report.table(("algorithm", ">timeout/d", ">unsafe", ">stuck", ">longest wait/d", ">messages/entry"), rows)
    title = "Longest wait of a run with one crash"
    path = bench.figure("detection")
    plots.lines(series, path, title=title, x="timeout (d)", y="longest wait (d)", log="x")
    report.figure(title, path.name)


def _timing(bench: Workbench, report: Findings) -> None:
    """Nothing fails, and failures are presumed at once."""
    trials = [
        _trial(bench, name, "loss=0", 200, options={wait: D / 2, answer: time * D}, printed=printed)
        for name, (wait, answer) in TIMED.items()
        for printed in (False, True)
        for time in ANSWERS
    ]
    unsafe: dict[str, list[Point]] = {}
    for trial, found in _try(bench, "timing", trials):
        label = trial.algorithm + (", as printed" if trial.printed else "")
        time = trial.options[TIMED[trial.algorithm][1]] / D
        unsafe.setdefault(label, []).append(Point(time, found.unsafe / found.runs, None, found.runs))
    report.heading("Unsafe runs where nothing fails, against the time that answers are waited for")
    shares = {label: {p.x: p.mean or 0.0 for p in points} for label, points in unsafe.items()}
    report.table(
        ("algorithm", *(f">{time:g} d" for time in ANSWERS)),
        [(label, *by_time.values()) for label, by_time in shares.items()],
    )
    path = bench.figure("timing")
    plots.lines(unsafe, path, title=UNSAFE, x="time for answers (d)", y="unsafe runs")
    report.figure(UNSAFE, path.name)
    naimi, mishra = (shares[name] for name in TIMED)
    printed = shares["mishra-srimani-recovery, as printed"]
    report.claims += [
        claim(
            f"naimi-trehel-recovery: safety rests on time; Telec must be at least {ENOUGH:g} d",
            "",
            "its page",
            [not any(share for time, share in naimi.items() if time >= ENOUGH), naimi[ANSWERS[0]] > 0],
            _told(naimi),
            "unsafe runs with enough time, or none with too little",
        ),
        claim(
            "mishra-srimani-recovery: to act on N-2 answers, with tokens that have no incarnation, is unsafe though nothing fails; the repairs are not, with a Treply of 2 d",
            "",
            "its page",
            [any(printed.values()), not any(share for time, share in mishra.items() if time >= 2)],
            f"as printed: {_told(printed)}; repaired: {_told(mishra)}",
            "printed rules without an unsafe run, or repaired ones with one",
        ),
    ]


def _told(shares: dict[float, float]) -> str:
    return ", ".join(f"{number(share)} at {time:g} d" for time, share in shares.items())
