"""Which algorithm our locks should run where nobody says: the candidates by turns, in the same processes.

In each round one is measured right after the other, and which comes first changes from round to round. That gives
a ratio, above 1 if the second candidate is better; of the rounds the median counts, with the least and the largest beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from statistics import median

import msgspec

from soloist.bench.lock_crew import Crew
from soloist.bench.lock_figures import contention, in_order, number, overlaps
from soloist.bench.locks import BULGANNAWAR, NAIMI, System, Table, jobs_of
from soloist.core import SoloistError

CANDIDATES = (NAIMI, BULGANNAWAR)
PROCESSES = (2, 4, 8, 16, 32)


class Figure(msgspec.Struct, frozen=True):
    """One measurement of one candidate. What is better is more, or less, as `Measurement` says."""

    value: float
    messages: float | None = None
    """For each entry."""
    jain: float | None = None
    longest_run: int | None = None


class Measurement(msgspec.Struct, frozen=True):
    """One figure of both candidates: medians of the rounds, and how many times better the second is."""

    what: str
    setting: str
    values: tuple[float, float]
    messages: tuple[float | None, float | None]
    jain: tuple[float | None, float | None]
    longest_run: tuple[int | None, int | None]
    ratio: float
    least: float
    largest: float
    rounds: int


class Trial(msgspec.Struct, frozen=True):
    """Something to measure of each candidate."""

    what: str
    processes: int
    more_is_better: bool = False


def measure(
    seconds: float = 1.0,
    rounds: int = 5,
    processes: Sequence[int] = PROCESSES,
    loop: str = "asyncio",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measurement]:
    """Through the shortcut and over TCP: entries where everybody wants in, hand-offs, and free pairs."""
    trials = [Trial(f"entries/s at {size}", size, True) for size in processes]
    trials += [Trial("hand-off, µs", 2), Trial("free pair, µs", 2)]
    cases = [(trial, shortcut) for shortcut in (True, False) for trial in trials]
    found: dict[tuple[Trial, bool], list[list[Figure]]] = {case: [] for case in cases}
    steps = count(1)
    with Crew(max([2, *processes]), loop) as crew:
        for turn in range(rounds):
            for trial, shortcut in cases:
                pair = [_figure(crew, name, loop, trial, shortcut, seconds) for name in _in_turn(turn)]
                found[trial, shortcut].append(pair if turn % 2 == 0 else pair[::-1])
                progress(next(steps), rounds * len(cases))
    return [_row(trial, loop, shortcut, pairs) for (trial, shortcut), pairs in found.items()]


def _in_turn(turn: int) -> Sequence[str]:
    return CANDIDATES if turn % 2 == 0 else CANDIDATES[::-1]


def _figure(crew: Crew, name: str, loop: str, trial: Trial, shortcut: bool, seconds: float) -> Figure:
    system = System(name, loop, loop, shortcut=shortcut)
    try:
        return _measured(crew, system, trial, seconds)
    except RuntimeError as error:
        raise SoloistError(f"{name}: {error}") from None


def _measured(crew: Crew, system: System, trial: Trial, seconds: float) -> Figure:
    if trial.more_is_better:
        done = crew.run(jobs_of(system, "", ["contend"] * trial.processes), seconds)
        _check(system, overlaps(in_order(done)))
        busy = contention(done, seconds)
        return Figure(busy.entries_per_second, busy.messages_per_entry, busy.jain, busy.longest_run)
    if trial.what.startswith("free pair"):
        durations = crew.run(jobs_of(system, "", ["pair", "idle"]), seconds)[0].durations
    else:
        visits = in_order(crew.run(crew.by_turns(jobs_of(system, "", ["hold", "hold"])), seconds))
        _check(system, overlaps(visits))
        durations = [b.entered - a.left for a, b in pairwise(visits) if a.process != b.process]
    return Figure(median(durations) / 1000 if durations else 0.0)


def _check(system: System, together: int) -> None:
    if together:
        raise SoloistError(f"{system.name}: {together} entries while another process was inside")


def _row(trial: Trial, loop: str, shortcut: bool, pairs: Sequence[Sequence[Figure]]) -> Measurement:
    ratios = list(_ratios(trial, pairs))
    if not ratios:
        raise SoloistError("nobody entered in that time; give more --seconds")
    first, second = zip(*pairs, strict=True)
    return Measurement(
        trial.what,
        loop if shortcut else f"{loop}, TCP",
        (median(each.value for each in first), median(each.value for each in second)),
        (first[-1].messages, second[-1].messages),
        (first[-1].jain, second[-1].jain),
        (first[-1].longest_run, second[-1].longest_run),
        median(ratios),
        min(ratios),
        max(ratios),
        len(ratios),
    )


def _ratios(trial: Trial, pairs: Sequence[Sequence[Figure]]) -> Iterator[float]:
    for first, second in pairs:
        if first.value and second.value:
            better = second.value / first.value
            yield better if trial.more_is_better else 1 / better


def table(rows: Sequence[Measurement]) -> Table:
    columns = ("what", "setting", *(f">{name}" for name in CANDIDATES), ">times better", ">least-largest")
    return (*columns, ">messages", ">Jain", ">longest run"), [
        (
            row.what,
            row.setting,
            *map(number, row.values),
            f"{row.ratio:.2f}",
            f"{row.least:.2f}-{row.largest:.2f}",
            _both(row.messages, "{:.1f}"),
            _both(row.jain, "{:.3f}"),
            _both(row.longest_run, "{}"),
        )
        for row in rows
    ]


def _both(values: tuple[float | None, float | None], form: str) -> str:
    return " / ".join("-" if value is None else form.format(value) for value in values)
