"""How fast our locks are: beside other locks, a lock server as small as can be, and bare messages.

Everything runs on loopback, with real client processes, in one run: in each round every system is measured
once, one after another, and of the rounds the median counts. Hand-offs are measured by turns of their own.
Compare only figures of one run.

pair       to take a lock that nobody wants and give it back; ours: the token is here already
contended  P processes that want nothing but to enter, each again as soon as it has left
hand-off   from release in one process to entry in the other, which has been waiting

Our nodes talk as they do when nobody says otherwise: on one host through Unix sockets. Across hosts it is TCP, so that
is measured too. They have no lease (`lease=None`): two of them, which pairs and hand-offs take, would have none anyway. What
one costs `soloist bench leases` measures.
"""

from __future__ import annotations

import importlib.util
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, pairwise
from statistics import median, median_high
from typing import NamedTuple

import msgspec

from soloist.bench.lock_crew import HOLD_SECONDS, Crew
from soloist.bench.lock_figures import Contended, contention, in_order, overlaps, p50_p99
from soloist.bench.lock_peers import PEERS, Peer
from soloist.bench.lock_workers import Job, Role
from soloist.core import unknown
from soloist.testing import free_ports

PROCESSES = (2, 4, 8)
OURS = NAIMI, RICART = "naimi-trehel", "ricart-agrawala"
LOOPS = ("asyncio", "uvloop")
TURNS = 4
"""Turns in which the hand-offs of a round are measured."""
FAILURES = (RuntimeError, OSError, subprocess.SubprocessError)

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


class Measurement(msgspec.Struct, frozen=True):
    """One system. Times in microseconds; None is what it does not do, or what is not installed."""

    system: str
    setting: str
    pair_us: float | None = None
    contended: list[Contended] = []
    hand_off_p50_us: float | None = None
    hand_off_p99_us: float | None = None
    overlaps: int = 0
    """Entries while another process was inside: must be 0."""
    missing: str | None = None
    """How to install it, or why it failed."""

    def at(self, processes: int) -> Contended | None:
        return next((each for each in self.contended if each.processes == processes), None)


class Bar(msgspec.Struct, frozen=True):
    """One of the figures that we want to reach."""

    what: str
    ours: str
    setting: str
    value: float
    limit: float
    at_most: bool

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit


class System(msgspec.Struct, frozen=True):
    """What is measured: an algorithm of ours, a peer, or bare messages."""

    name: str
    setting: str
    loop: str = "asyncio"
    peer: Peer | None = None
    bare: bool = False
    shortcut: bool = True
    """Whether our nodes may use more than TCP."""
    without: tuple[str, ...] = ()
    """Parts of our nodes that are switched off."""

    def missing(self) -> str | None:
        """How to install what it needs, or None."""
        if self.loop == "uvloop" and not importlib.util.find_spec("uvloop"):
            return "pip install uvloop"
        return self.peer.missing() if self.peer else None


def systems() -> list[System]:
    ours = [System(name, loop, loop) for name in OURS for loop in LOOPS]
    ours += [System(NAIMI, f"{loop}, TCP", loop, shortcut=False) for loop in LOOPS]
    bare = [System("one-way message", loop, loop, bare=True) for loop in LOOPS]
    return [*ours, *(System(p.name, p.setting, p.loop, p) for p in PEERS), *bare]


def measure(
    processes: Sequence[int] = PROCESSES,
    seconds: float = 1.0,
    rounds: int = 3,
    only: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measurement]:
    """One row for each system (or for those named): the median of the rounds."""
    names = {system.name for system in systems()}
    for name in only:
        if name not in names:
            raise unknown("system", name, names)
    chosen = [system for system in systems() if not only or system.name in only]
    steps = count(1)
    total = rounds * len(chosen) * (1 + TURNS)

    def step() -> None:
        progress(next(steps), total)

    samples: dict[System, list[Measurement]] = {system: [] for system in chosen}
    for _ in range(rounds):
        for system, rows in samples.items():
            rows.append(_sample(system, processes, seconds))
            step()
    handed = hand_offs(chosen, seconds / TURNS, rounds * TURNS, step)
    return [_whole(_median_row(rows), handed[system]) for system, rows in samples.items()]


def sample(system: System, processes: Sequence[int], seconds: float) -> Measurement:
    """All figures of one system, measured once."""
    return _whole(_sample(system, processes, seconds), hand_offs([system], seconds, 1)[system])


def _whole(row: Measurement, handed: Measurement) -> Measurement:
    if row.missing or handed.missing:
        return row if row.missing else handed
    return msgspec.structs.replace(
        row,
        hand_off_p50_us=handed.hand_off_p50_us,
        hand_off_p99_us=handed.hand_off_p99_us,
        overlaps=row.overlaps + handed.overlaps,
    )


@contextmanager
def _open(system: System, processes: int) -> Iterator[tuple[Crew, str]]:
    """Client processes, and where their server is, if they need one."""
    with Crew(processes, system.loop) as crew:
        if system.peer is None:
            yield crew, ""
        else:
            with system.peer.serving() as where:
                yield crew, where


def _sample(system: System, processes: Sequence[int], seconds: float) -> Measurement:
    if system.bare or (missing := system.missing()):
        return Measurement(system.name, system.setting, missing=None if system.bare else missing)
    try:
        with _open(system, max([2, *processes])) as (crew, where):
            return _figures(system, crew, where, processes, seconds)
    except FAILURES as error:
        return Measurement(system.name, system.setting, missing=f"failed: {error}")


def _figures(system: System, crew: Crew, where: str, processes: Sequence[int], seconds: float) -> Measurement:
    overlapping = 0
    done = crew.run(_jobs(system, where, ["pair", "idle"] if system.peer is None else ["pair"]), seconds)
    pair = median(done[0].durations) / 1000
    contended = []
    for size in processes:
        done = crew.run(_jobs(system, where, ["contend"] * size), seconds)
        overlapping += overlaps(in_order(done))
        contended.append(contention(done, seconds))
    return Measurement(system.name, system.setting, pair, contended, overlaps=overlapping)


def hand_offs(
    chosen: Sequence[System], seconds: float, turns: int, step: Callable[[], None] = lambda: None
) -> dict[System, Measurement]:
    """One row for each system, with nothing but its hand-offs: the median of the turns.

    All take turns, and often: how soon an idle processor wakes up changes from second to second.
    """
    rows: dict[System, list[Measurement]] = {system: [] for system in chosen}
    with ExitStack() as stack:
        opened: dict[System, tuple[Crew, str]] = {}
        for system in chosen:
            missing = system.missing()
            try:
                if not missing:
                    opened[system] = stack.enter_context(_open(system, 2))
            except FAILURES as error:
                missing = f"failed: {error}"
            if missing:
                rows[system].append(Measurement(system.name, system.setting, missing=missing))
        for _ in range(turns):
            for system, (crew, where) in opened.items():
                try:
                    rows[system].append(_hand_offs(system, crew, where, seconds))
                except FAILURES as error:
                    rows[system].append(Measurement(system.name, system.setting, missing=f"failed: {error}"))
                step()
    return {system: _median_row(each) for system, each in rows.items()}


def _hand_offs(system: System, crew: Crew, where: str, seconds: float) -> Measurement:
    overlapping = 0
    if system.bare:
        port = str(*free_ports(1))
        roles: list[Role] = ["pong", "ping"]
        done = crew.run([Job(role, system.name, port, hold_seconds=HOLD_SECONDS) for role in roles], seconds)
        durations = done[0].durations
    else:
        visits = in_order(crew.run(crew.by_turns(_jobs(system, where, ["hold", "hold"])), seconds))
        durations = [b.entered - a.left for a, b in pairwise(visits) if a.process != b.process]
        overlapping = overlaps(visits)
    p50, p99 = p50_p99(durations)
    return Measurement(
        system.name, system.setting, hand_off_p50_us=p50, hand_off_p99_us=p99, overlaps=overlapping
    )


def _jobs(system: System, where: str, roles: Sequence[Role], tasks: int = 1, locality: int = 1) -> list[Job]:
    """Each cluster has ports of its own, and each set of jobs a lock of its own."""
    lock = f"bench-{time.monotonic_ns()}"
    if system.peer:
        return [Job(role, system.name, where, lock) for role in roles]
    nodes = {f"n{index}": f"127.0.0.1:{port}" for index, port in enumerate(free_ports(len(roles)))}
    return [
        Job(role, system.name, name, lock, nodes, tasks, locality, system.shortcut, without=system.without)
        for role, name in zip(roles, nodes, strict=True)
    ]


def _median_row(rows: Sequence[Measurement]) -> Measurement:
    if failed := next((row for row in rows if row.missing), None):
        return failed
    return Measurement(
        rows[0].system,
        rows[0].setting,
        _median(row.pair_us for row in rows),
        [_median_contended(each) for each in zip(*(row.contended for row in rows), strict=True)],
        _median(row.hand_off_p50_us for row in rows),
        _median(row.hand_off_p99_us for row in rows),
        sum(row.overlaps for row in rows),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _median_contended(each: Sequence[Contended]) -> Contended:
    return Contended(
        each[0].processes,
        median(one.entries_per_second for one in each),
        median(one.jain for one in each),
        median_high(one.longest_run for one in each),
        _median(one.messages_per_entry for one in each),
    )


def table(rows: Sequence[Measurement], processes: Sequence[int]) -> Table:
    """Columns and cells, for people. Fairness is that of the largest number of processes."""
    most = max(processes)
    columns = ("system", "setting", ">pair", *(f">P={count}" for count in processes))
    columns += (">Jain", ">run", ">messages", ">hand-off p50", ">p99")
    return columns, [_cells(row, processes, most) for row in rows if not row.missing]


def _cells(row: Measurement, processes: Sequence[int], most: int) -> tuple[str, ...]:
    rates = [each.entries_per_second if (each := row.at(count)) else None for count in processes]
    busy = row.at(most)
    fairness = (f"{busy.jain:.3f}", str(busy.longest_run)) if busy else ("-", "-")
    messages = f"{busy.messages_per_entry:.1f}" if busy and busy.messages_per_entry else "-"
    times = (_number(row.hand_off_p50_us), _number(row.hand_off_p99_us))
    return (row.system, row.setting, _number(row.pair_us), *map(_number, rates), *fairness, messages, *times)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


# The bars.


class Goal(NamedTuple):
    """A figure of ours as a multiple of a peer's, or by itself, and what it should be."""

    what: str
    ours: str
    theirs: str
    figure: Callable[[Measurement], float | None]
    limit: float
    at_most: bool


def _rate(row: Measurement) -> float | None:
    return busy.entries_per_second if (busy := row.at(8)) else None


def _jain(row: Measurement) -> float | None:
    return busy.jain if (busy := row.at(8)) else None


def _longest_run(row: Measurement) -> float | None:
    return busy.longest_run if (busy := row.at(8)) else None


GOALS = (
    Goal("re-entry / redis-py's pair", NAIMI, "redis-py", lambda row: row.pair_us, 0.02, True),
    Goal("hand-off p50 / central", NAIMI, "central", lambda row: row.hand_off_p50_us, 0.65, True),
    Goal("hand-off p50 / postgresql", NAIMI, "postgresql", lambda row: row.hand_off_p50_us, 0.8, True),
    Goal("entries/s at 8 / central", NAIMI, "central", _rate, 1.0, False),
    Goal("entries/s at 8 / postgresql", NAIMI, "postgresql", _rate, 1.3, False),
    Goal("entries/s at 8 / python-redis-lock", RICART, "python-redis-lock", _rate, 1.0, False),
    *(Goal("Jain index at 8", name, "", _jain, 0.99, False) for name in OURS),
    *(Goal("longest run at 8", name, "", _longest_run, 2, True) for name in OURS),
)


def bars(rows: Sequence[Measurement]) -> list[Bar]:
    """What we want to reach, as far as it was measured, in each setting."""
    peers = {row.system: row for row in rows if not row.missing}
    found = []
    for goal in GOALS:
        theirs = peers.get(goal.theirs)
        scale = (goal.figure(theirs) if theirs else None) if goal.theirs else 1.0
        for ours in rows:
            value = goal.figure(ours) if ours.system == goal.ours and not ours.missing else None
            if value is not None and scale:
                bar = Bar(goal.what, goal.ours, ours.setting, value / scale, goal.limit, goal.at_most)
                found.append(bar)
    return found


def bar_table(bars: Sequence[Bar]) -> Table:
    columns = ("what", "ours", "setting", ">reached", ">wanted", "met")
    return columns, [
        (
            bar.what,
            bar.ours,
            bar.setting,
            f"{bar.value:.3g}",
            f"{'≤' if bar.at_most else '≥'} {bar.limit:g}",
            "yes" if bar.met else "NO",
        )
        for bar in bars
    ]


# What `locality` does.


class Locality(msgspec.Struct, frozen=True):
    """Several tasks in each of several processes, all after one lock."""

    locality: int
    entries_per_second: float
    messages_per_entry: float
    jain: float
    longest_run: int


def measure_locality(
    localities: Sequence[int] = (0, 1, 4),
    processes: int = 4,
    tasks: int = 3,
    seconds: float = 1.0,
    rounds: int = 3,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Locality]:
    """One row for each setting: the median of the rounds."""
    system = System(NAIMI, "asyncio")
    samples: dict[int, list[Contended]] = {locality: [] for locality in localities}
    for round in range(rounds):
        with Crew(processes, system.loop) as crew:
            for index, locality in enumerate(localities):
                jobs = _jobs(system, "", ["contend"] * processes, tasks, locality)
                samples[locality].append(contention(crew.run(jobs, seconds), seconds))
                progress(round * len(localities) + index + 1, rounds * len(localities))
    return [_locality(locality, _median_contended(each)) for locality, each in samples.items()]


def _locality(locality: int, found: Contended) -> Locality:
    messages = found.messages_per_entry or 0.0
    return Locality(locality, found.entries_per_second, messages, found.jain, found.longest_run)
