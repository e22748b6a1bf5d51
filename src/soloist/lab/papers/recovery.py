"""Recovery as published: unsafe runs, runs in which somebody waits for ever, and what recovery takes, against timeouts.

Delays are uniform up to d; times are told in d. A run has five sites and one crash, or none where timing alone is the matter.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import msgspec

from soloist.algorithms import RECOVERY, find_any
from soloist.algorithms.printed import RECOVERY_PRINTED
from soloist.core import PropertyViolated
from soloist.lab import plots
from soloist.lab.report import Claim, Findings, claim, number
from soloist.lab.table import Point
from soloist.lab.takeover import BY_PROOF, BY_SILENCE, VIEWS, D, takeover
from soloist.lab.view_change import Takeover
from soloist.lab.workbench import Workbench
from soloist.sim import Experiment, Thinking
from soloist.sim.experiment import run
from soloist.sim.faults import faults
from soloist.sim.links import Network, Uniform

ABOUT = "recovery as published and by views: unsafe and stuck runs, and what a crash takes, against timeouts"

NODES, RATE, ENTRIES = 5, 100.0, 100
FOR_EVER = "crash=any@0..0.15"
CRASH = {"nishio-recovery": f"{FOR_EVER}+0.05", "raymond-tree-recovery": "crash-new=any@0..0.15+0.05"}
PATIENCE = {name: "T" for name in RECOVERY if name != "raymond-tree-recovery"} | {
    "naimi-trehel-recovery": "Twait"
}
"""The timeout by which a failure is detected. Raymond's sites have none: one that comes back says so."""
WAITS = (5, 10, 20, 50)
ANSWERS = (0.5, 1, 2, 3.1)
ENOUGH = {"naimi-trehel-recovery": 3}
"""Delays d that answers need: a question and an answer, and here the token under way as well."""
SOON = {"helary-plouzeau-raynal-recovery": 2}
"""After how many d a failure is presumed that is none: half of one, but where a flood takes longer than that nobody would ever be served."""
RUNS = 40
"""Crashes of a holder, for each scheme and timeout."""
UNSAFE = "Share of unsafe runs"
TIMED = {
    name: ("Twait", "Telec") if name == "naimi-trehel-recovery" else (option, "Treply")
    for name, option in PATIENCE.items()
    if name != "nishio-recovery"
}
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


class Crash(msgspec.Struct, frozen=True):
    """Crashes of a holder, one a run, under one scheme or by views; `wait` is the timeout, or the lease, in d."""

    name: str
    wait: int
    runs: int
    first: int


def endure(crash: Crash) -> list[Takeover]:
    options = {PATIENCE[crash.name]: crash.wait * D} if crash.name in PATIENCE else {}
    seeds = range(crash.first, crash.first + crash.runs)
    return [takeover(crash.name, seed, options, crash.wait * D) for seed in seeds]


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
        """The algorithms with recovery, repaired, and where it says so as the survey prints them; four of the nine are reconstructions, for the survey
        only mentions them. Beside them what real locks do, recovery by views: the same machines in simulated time, where votes are written down in no
        time. What that takes on a real machine `soloist bench recovery` measures.""",
    )
    _recommended(bench, report)
    _detection(bench, report)
    _takeover(bench, report)
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


def _takeover(bench: Workbench, report: Findings) -> None:
    """The same crash for all: of a holder, while all others wait."""
    crashes = [
        Crash(name, wait, bench.entries(RUNS), bench.seeds.first)
        for name in (*PATIENCE, *VIEWS)
        for wait in WAITS
    ]
    crashes.append(Crash("raymond-tree-recovery", 0, bench.entries(RUNS), bench.seeds.first))
    series: dict[str, list[Point]] = {}
    rows = []
    for crash, found in zip(crashes, bench.map("takeover", endure, crashes), strict=True):
        times = [each.time / D for each in found]
        messages, renewals = (
            fmean(getattr(each, what) for each in found) for what in ("messages", "renewals")
        )
        if crash.wait:
            series.setdefault(crash.name, []).append(Point(crash.wait, fmean(times), None, len(times)))
        rows.append((crash.name, crash.wait or None, fmean(times), max(times), messages, renewals or None))
    report.heading("From the crash of a holder until the next one is inside")
    report.table((">", "timeout or lease/d", ">mean/d", ">worst/d", ">messages", ">renewals meanwhile"), rows)
    title = "From the crash of a holder until the next one is inside"
    path = bench.figure("takeover")
    plots.lines(series, path, title=title, x="timeout, or lease (d)", y="time (d)", log="xy")
    report.figure(title, path.name)
    by = {label: {p.x: p.mean or 0.0 for p in points} for label, points in series.items()}
    proved, silent = by.pop(BY_PROOF), by.pop(BY_SILENCE)
    report.claims.append(
        claim(
            "views: with a proof of a holder's end the next one is inside sooner than with any of these schemes; without, after about a lease, and within one and a half",
            "",
            "docs/crashes.md",
            [
                all(proved[wait] < each[wait] for each in by.values() for wait in WAITS if wait >= 10),
                all(wait / 2 < silent[wait] < 1.5 * wait for wait in WAITS if wait >= 10),
            ],
            f"proved: {_told(proved)}; by silence: {_told(silent)} (times in d)",
            "a scheme that is quicker, or a lease that is not what is waited for",
        )
    )


def _timing(bench: Workbench, report: Findings) -> None:
    """Nothing fails, and failures are presumed at once."""
    trials = [
        _trial(
            bench,
            name,
            "loss=0",
            200,
            options={wait: SOON.get(name, 0.5) * D, answer: time * D},
            printed=printed,
        )
        for name, (wait, answer) in TIMED.items()
        for printed in ((False, True) if name in RECOVERY_PRINTED else (False,))
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
    report.claims += [_enough(name, answer, shares[name]) for name, (_, answer) in TIMED.items()]
    printed = shares["mishra-srimani-recovery, as printed"]
    report.claims.append(
        claim(
            "mishra-srimani-recovery: to act on N-2 answers, with tokens that have no incarnation, is unsafe though nothing fails, however long answers are waited for",
            "",
            "its page",
            all(printed.values()),
            f"as printed: {_told(printed)}",
            "printed rules without an unsafe run",
        )
    )


def _enough(name: str, answer: str, shares: dict[float, float]) -> Claim:
    least = ENOUGH.get(name, 2)
    return claim(
        f"{name}: safety rests on time: {answer} must be at least {least:g} d, and that is enough",
        "",
        "its page",
        [not any(share for time, share in shares.items() if time >= least), shares[ANSWERS[0]] > 0],
        f"unsafe runs: {_told(shares)}",
        "unsafe runs with enough time, or none with too little",
    )


def _told(shares: dict[float, float]) -> str:
    return ", ".join(f"{number(share)} at {time:g} d" for time, share in shares.items())
