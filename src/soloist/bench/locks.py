"""How fast our locks are: beside other locks, a lock server as small as can be, and bare messages.

Everything runs on loopback, with real client processes, the same for all, in one run: in each round every system is
measured once, one after another, and of the rounds the median counts, with the least and the largest beside it. Hand-offs
are measured by turns of their own. Compare only figures of one run.

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

import msgspec

from soloist.bench.bars import Spread
from soloist.bench.lock_crew import HOLD_SECONDS, Crew, Crews
from soloist.bench.lock_figures import (
    Contended,
    contention,
    in_order,
    number,
    overlaps,
    p50_p99,
    spread,
    with_spread,
)
from soloist.bench.lock_peers import PEERS, Peer
from soloist.bench.lock_workers import Job, Role
from soloist.core import unknown
from soloist.testing import free_ports

PROCESSES = [2, 4, 8, 16, 32]
ROUNDS = 5
OURS = BULGANNAWAR, NAIMI, RICART = "bulgannawar-vaidya", "naimi-trehel", "ricart-agrawala"
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
    pair_spread: Spread | None = None
    hand_off_spread: Spread | None = None
    """Of the medians of the rounds, and of the turns."""
    rounds: list[Measurement] = []
    """Each round by itself, and each turn of the hand-offs."""

    def at(self, processes: int) -> Contended | None:
        return next((each for each in self.contended if each.processes == processes), None)


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
    lease: float | None = None
    folder: str = ""
    """Where nodes with a lease keep their votes."""

    def missing(self) -> str | None:
        """How to install what it needs, or None."""
        if self.loop == "uvloop" and not importlib.util.find_spec("uvloop"):
            return "pip install uvloop"
        return self.peer.missing() if self.peer else None


def systems() -> list[System]:
    ours = [System(name, loop, loop) for name in OURS for loop in LOOPS]
    ours += [
        System(name, f"{loop}, TCP", loop, shortcut=False) for name in (BULGANNAWAR, NAIMI) for loop in LOOPS
    ]
    bare = [System("one-way message", loop, loop, bare=True) for loop in LOOPS]
    return [*ours, *(System(p.name, p.setting, p.loop, p) for p in PEERS), *bare]


def measure(
    processes: Sequence[int] = PROCESSES,
    seconds: float = 1.0,
    rounds: int = ROUNDS,
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
    with Crews(max([2, *processes])) as crews:
        for _ in range(rounds):
            for system, rows in samples.items():
                rows.append(_sample(system, crews, processes, seconds))
                step()
    handed = hand_offs(chosen, seconds / TURNS, rounds * TURNS, step)
    return [_whole(_median_row(rows), handed[system]) for system, rows in samples.items()]


def sample(system: System, processes: Sequence[int], seconds: float) -> Measurement:
    """All figures of one system, measured once."""
    with Crews(max([2, *processes])) as crews:
        row = _sample(system, crews, processes, seconds)
    return _whole(_median_row([row]), hand_offs([system], seconds, 1)[system])


def _whole(row: Measurement, handed: Measurement) -> Measurement:
    if row.missing or handed.missing:
        return row if row.missing else handed
    return msgspec.structs.replace(
        row,
        hand_off_p50_us=handed.hand_off_p50_us,
        hand_off_p99_us=handed.hand_off_p99_us,
        overlaps=row.overlaps + handed.overlaps,
        hand_off_spread=handed.hand_off_spread,
        rounds=row.rounds + handed.rounds,
    )


@contextmanager
def _serving(system: System) -> Iterator[str]:
    """Where the server is, if there has to be one."""
    if system.peer is None:
        yield ""
    else:
        with system.peer.serving() as where:
            yield where


def _sample(system: System, crews: Crews, processes: Sequence[int], seconds: float) -> Measurement:
    if system.bare or (missing := system.missing()):
        return Measurement(system.name, system.setting, missing=None if system.bare else missing)
    try:
        with crews.lent(system.loop) as crew, _serving(system) as where:
            return _figures(system, crew, where, processes, seconds)
    except FAILURES as error:
        return Measurement(system.name, system.setting, missing=f"failed: {error}")


def _figures(system: System, crew: Crew, where: str, processes: Sequence[int], seconds: float) -> Measurement:
    overlapping = 0
    done = crew.run(jobs_of(system, where, ["pair", "idle"] if system.peer is None else ["pair"]), seconds)
    pair = median(done[0].durations) / 1000
    contended = []
    for size in processes:
        done = crew.run(jobs_of(system, where, ["contend"] * size), seconds)
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
                    crew = stack.enter_context(Crew(2, system.loop))
                    opened[system] = crew, stack.enter_context(_serving(system))
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
        visits = in_order(crew.run(crew.by_turns(jobs_of(system, where, ["hold", "hold"])), seconds))
        durations = [b.entered - a.left for a, b in pairwise(visits) if a.process != b.process]
        overlapping = overlaps(visits)
    p50, p99 = p50_p99(durations)
    return Measurement(
        system.name, system.setting, hand_off_p50_us=p50, hand_off_p99_us=p99, overlaps=overlapping
    )


def jobs_of(
    system: System, where: str, roles: Sequence[Role], tasks: int = 1, locality: int = 1
) -> list[Job]:
    """Each cluster has ports of its own, and each set of jobs a lock of its own."""
    lock = f"bench-{time.monotonic_ns()}"
    if system.peer:
        return [Job(role, system.name, where, lock) for role in roles]
    nodes = {f"n{index}": f"127.0.0.1:{port}" for index, port in enumerate(free_ports(len(roles)))}
    return [
        Job(
            role,
            system.name,
            name,
            lock,
            nodes,
            tasks=tasks,
            locality=locality,
            shortcut=system.shortcut,
            without=system.without,
            lease=system.lease,
            data=f"{system.folder}/{lock}-{name}" if system.lease else None,
        )
        for role, name in zip(roles, nodes, strict=True)
    ]


def _median_row(rows: Sequence[Measurement]) -> Measurement:
    if failed := next((row for row in rows if row.missing), None):
        return failed
    return Measurement(
        rows[0].system,
        rows[0].setting,
        _median(row.pair_us for row in rows),
        [median_contended(each) for each in zip(*(row.contended for row in rows), strict=True)],
        _median(row.hand_off_p50_us for row in rows),
        _median(row.hand_off_p99_us for row in rows),
        sum(row.overlaps for row in rows),
        pair_spread=spread(row.pair_us for row in rows),
        hand_off_spread=spread(row.hand_off_p50_us for row in rows),
        rounds=list(rows),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def median_contended(each: Sequence[Contended]) -> Contended:
    return Contended(
        each[0].processes,
        median(one.entries_per_second for one in each),
        median(one.jain for one in each),
        median_high(one.longest_run for one in each),
        _median(one.messages_per_entry for one in each),
        spread(one.entries_per_second for one in each),
    )


def table(rows: Sequence[Measurement], processes: Sequence[int]) -> Table:
    """Columns and cells, for people. Fairness is that of the largest number of processes.

    Beside each figure is its spread: half the way from the least to the largest of the rounds.
    """
    most = max(processes)
    columns = ("system", "setting", ">pair", *(f">P={count}" for count in processes))
    columns += (">Jain", ">run", ">messages", ">hand-off p50", ">p99")
    return columns, [_cells(row, processes, most) for row in rows if not row.missing]


def _cells(row: Measurement, processes: Sequence[int], most: int) -> tuple[str, ...]:
    found = [row.at(count) for count in processes]
    rates = [with_spread(each.entries_per_second, each.spread) if each else "-" for each in found]
    busy = row.at(most)
    fairness = (f"{busy.jain:.3f}", str(busy.longest_run)) if busy else ("-", "-")
    messages = f"{busy.messages_per_entry:.1f}" if busy and busy.messages_per_entry else "-"
    times = (with_spread(row.hand_off_p50_us, row.hand_off_spread), number(row.hand_off_p99_us))
    pair = with_spread(row.pair_us, row.pair_spread)
    return (row.system, row.setting, pair, *rates, *fairness, messages, *times)
