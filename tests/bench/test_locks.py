"""The lock benchmark runs and reports everything it should. What it measures is not judged here."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import deque
from statistics import median
from typing import cast

import msgspec
import pytest

from soloist.bench import (
    lock_central,
    lock_choice,
    lock_locality,
    lock_memory,
    lock_peers,
    lock_semaphores,
    locks,
)
from soloist.bench.bars import bar_table
from soloist.bench.lock_bars import GOALS, LOCK, TCP, bars
from soloist.bench.lock_crew import Crew, Crews
from soloist.bench.lock_figures import (
    contention,
    in_order,
    most_inside,
    overlaps,
    p50_p99,
    spread,
    with_spread,
)
from soloist.bench.lock_workers import Done, Job
from soloist.core import SoloistError, UsageError

MILLION = 1_000_000


def done(*visits: tuple[float, float], end: float = 100) -> Done:
    """A process with one task that was inside from … to … (milliseconds)."""
    return Done(end=int(end * MILLION), visits=[[(int(a * MILLION), int(b * MILLION)) for a, b in visits]])


# Figures.


def test_visits_are_put_in_order_and_overlaps_are_seen() -> None:
    visits = in_order([done((1, 2), (5, 6)), done((3, 4))])
    assert [visit.process for visit in visits] == [0, 1, 0]
    assert overlaps(visits) == 0
    assert overlaps(in_order([done((1, 4)), done((3, 5))])) == 1


def test_fairness_counts_only_the_time_when_all_are_at_it() -> None:
    """100 ms, of which the first fifth is warming up; what was begun before the end is not waited for."""
    busy = done((5, 6), (30, 31), (32, 33), (34, 35), (50, 51))
    other = done((40, 41), (60, 61), (101, 102))
    found = contention([busy, other], 0.1)
    assert found.processes == 2
    assert found.entries_per_second == pytest.approx(6 / 0.08)
    assert found.longest_run == 3
    assert found.jain == pytest.approx(36 / (2 * (16 + 4)))


def test_no_visit_is_no_division_by_zero() -> None:
    found = contention([Done(end=MILLION), Done(end=MILLION)], 0.001)
    assert (found.entries_per_second, found.jain, found.longest_run) == (0, 0, 0)
    assert p50_p99([]) == (None, None)


def test_how_many_were_inside_together_is_counted() -> None:
    assert most_inside([]) == 0
    assert most_inside(in_order([done((1, 4), (4, 5)), done((3, 5)), done((4, 6))])) == 3
    assert most_inside(in_order([done((1, 2)), done((2, 3))])) == 1  # the one left as the other came


def test_a_figure_is_shown_with_its_spread() -> None:
    assert with_spread(200.0, spread([190.0, None, 230.0])) == "200 ±10%"
    assert with_spread(200.0, spread([200.0])) == "200"  # one round says nothing
    assert with_spread(None, None) == "-"


def test_percentiles_are_in_microseconds() -> None:
    assert p50_p99([each * 1000 for each in range(101)]) == (pytest.approx(50), pytest.approx(99))


# Goals.


def row(system: str, setting: str, pair: float, rate: float, hand_off: float) -> locks.Measurement:
    return locks.Measurement(system, setting, pair, [locks.Contended(8, rate, 0.98, 2)], hand_off, hand_off)


def test_goals_are_ratios_of_one_run() -> None:
    rows = [
        row(LOCK, "asyncio, TCP", 3, 4000, 100),
        row("central", "any", 50, 5000, 200),
        row("central-buffered", "any", 1, 5000, 1),
        row("central-uvloop", "any", 1, 2000, 1),
        row("redis-py", "any", 200, 1000, 50_000),
        row("one-way message", "uvloop", 1, 1, 1),
        row("one-way message", "asyncio", 1, 1, 80),
    ]
    found = bars(rows)
    assert {bar.what: (bar.value, bar.met) for bar in found} == {
        "re-entry / redis-py's pair": (pytest.approx(0.015), True),
        "hand-off p50 / central": (pytest.approx(0.5), True),
        "hand-off p50 / bare message": (pytest.approx(1.25), True),
        "entries/s at 8 / central-buffered": (pytest.approx(0.8), False),
        "entries/s at 8 / central-uvloop": (pytest.approx(2.0), True),
        "Jain index at 8": (0.98, False),
        "longest run at 8": (2, True),
    }
    columns, cells = bar_table(found)
    assert all(len(each) == len(columns) for each in cells)


def test_a_goal_is_the_median_of_what_the_rounds_say_each_by_itself() -> None:
    """As when the machine is slow for both in one round, and something disturbs one of them in another."""
    ours, theirs = (3000, 6000, 4000), (5000, 10_000, 2000)
    setting = "asyncio, TCP"
    rows = [
        msgspec.structs.replace(
            row(name, where, 1, median(rates), 1), rounds=[row(name, where, 1, rate, 1) for rate in rates]
        )
        for name, where, rates in [(LOCK, setting, ours), ("central-buffered", "any", theirs)]
    ]
    [found] = [bar for bar in bars(rows) if bar.what.endswith("/ central-buffered")]
    assert (found.setting, found.value, found.spread) == (setting, pytest.approx(0.6), (0.6, 2.0))
    assert "0.6-2" in " ".join(bar_table([found])[1][0])


def test_a_round_in_which_one_of_them_has_no_figure_is_left_out() -> None:
    def turns(system: str, setting: str, times: list[float | None]) -> locks.Measurement:
        each = [locks.Measurement(system, setting, hand_off_p50_us=time) for time in times]
        return locks.Measurement(system, setting, rounds=each)

    found = bars([turns(LOCK, "asyncio", [10, None, 30, 40]), turns("central", "any", [20, 20, None, 20])])
    assert [(bar.what, bar.value, bar.spread) for bar in found] == [
        ("hand-off p50 / central", pytest.approx(1.25), (0.5, 2.0))
    ]


def test_every_goal_is_judged_where_everything_is_measured() -> None:
    """A goal that names what nobody measures would be met by silence."""
    each = [locks.Contended(processes, 1000, 1, 1) for processes in locks.PROCESSES]
    rows = [locks.Measurement(s.name, s.setting, 1, each, 1, 1) for s in locks.systems()]
    found = bars(rows)
    assert {bar.what for bar in found} == {goal.what for goal in GOALS}
    settings = {goal.what: goal.settings for goal in GOALS if goal.ours == LOCK and goal.theirs}
    for what, wanted in settings.items():
        judged = {bar.setting for bar in found if (bar.what, bar.ours) == (what, LOCK)}
        assert judged >= set(wanted or TCP)


def test_what_is_missing_has_no_part_in_the_goals() -> None:
    rows = [
        row(LOCK, "asyncio", 3, 4000, 100),
        locks.Measurement("redis-py", "any", missing="apt-get …"),
    ]
    assert "re-entry / redis-py's pair" not in {bar.what for bar in bars(rows)}


# Runs.

SECONDS = (0.1, 1.0, 5.0)
"""How long is measured: as short as will do. On a busy machine nothing may happen in a tenth of a second."""


def sample(tried: locks.System, processes: tuple[int, ...], hand_off: bool = True) -> locks.Measurement:
    for seconds in SECONDS:
        found = locks.sample(tried, processes, seconds)
        entered = all(each.entries_per_second for each in found.contended)
        if found.missing or (entered and (found.hand_off_p50_us is not None or not hand_off)):
            break
    return found


@pytest.mark.parametrize("loop", locks.LOOPS)
def test_ours_gives_all_figures(loop: str) -> None:
    for name in locks.OURS:
        tried = locks.System(name, loop, loop)
        found = sample(tried, (2, 3))
        if tried.missing():
            assert (loop, found.missing) == ("uvloop", "pip install uvloop")
        else:
            assert_complete(found)
            assert all(each.messages_per_entry is not None for each in found.contended)


@pytest.mark.parametrize("name", ["central", "central-buffered"])
def test_the_central_server_gives_all_figures(name: str) -> None:
    assert_complete(sample(system(name), (2,)))


@pytest.mark.parametrize("peer", [peer for peer in lock_peers.PEERS if peer.programs], ids=lambda p: p.name)
def test_a_peer_gives_all_figures_or_says_how_to_install_it(peer: lock_peers.Peer) -> None:
    hand_off = peer.name not in ("redis-py", "redis-py-unix")  # which polls too seldom for so short a run
    found = sample(system(peer.name), (2,), hand_off)
    if missing := peer.missing():
        assert found.missing == missing
        assert "install" in missing
    else:
        assert_complete(found, hand_off)


def test_bare_messages_are_timed() -> None:
    [found] = [each for each in locks.systems() if each.bare and each.loop == "asyncio"]
    measured = sample(found, (2,))
    assert measured.missing is None
    assert measured.hand_off_p50_us is not None


def test_rounds_give_one_row_a_system() -> None:
    steps: list[tuple[int, int]] = []
    rows = locks.measure(
        (2,), 0.05, 2, ["ricart-agrawala", "central"], lambda done, total: steps.append((done, total))
    )
    names = [(row.system, row.missing) for row in rows]
    assert [name for name, _ in names] == ["ricart-agrawala"] * 2 + ["central"]
    assert [row.setting for row in rows[:2]] == ["asyncio", "uvloop"]
    assert steps[-1] == (30, 30)
    for row in rows:
        paired = [bool(each.contended) for each in row.rounds]
        assert paired == [True] * 2 + [False] * 2 * locks.TURNS  # the rounds, and the turns of the hand-offs
        assert row.missing is None
    columns, cells = locks.table(rows, (2,))
    assert all(len(each) == len(columns) for each in cells)


def test_locality_gives_a_row_for_each_setting() -> None:
    for seconds in SECONDS:
        rows = lock_locality.measure((0, 2), processes=2, tasks=2, seconds=seconds, rounds=1)
        assert [each.locality for each in rows] == [0, 2]
        if all(each.entries_per_second and each.messages_per_entry for each in rows):
            break
    assert all(each.entries_per_second > 0 and each.messages_per_entry > 0 for each in rows)


def test_what_is_to_be_measured_reaches_the_clients() -> None:
    [job] = locks.jobs_of(
        locks.System("any", "any", shortcut=False, without=("eager",)), "", ["contend"], tasks=3, locality=4
    )
    assert (job.value, job.tasks, job.locality, job.shortcut, job.without) == (1, 3, 4, False, ("eager",))


def test_semaphores_give_a_row_each_beside_the_first() -> None:
    for seconds in SECONDS:
        try:
            first, other = lock_semaphores.measure(["srimani-reddy"], seconds, rounds=1)
            break
        except SoloistError as error:
            assert "nobody entered in that time" in str(error)  # noqa: PT017
    assert [first.algorithm, other.algorithm] == ["raymond-k", "srimani-reddy"]
    assert (first.entries_ratio, first.messages_ratio) == (1, 1)
    assert first.rare_messages >= lock_semaphores.NODES - 1  # asks all others, each time
    assert other.messages_ratio == pytest.approx(other.messages / first.messages)
    assert other.messages_ratios == [other.messages_ratio]
    assert [(bar.what, bar.ours, bar.value) for bar in lock_semaphores.bars([first, other])] == [
        ("messages / raymond-k", "srimani-reddy", other.messages_ratio),
        ("entries/s / raymond-k", "srimani-reddy", other.entries_ratio),
    ]
    columns, cells = lock_semaphores.table([first, other])
    assert all(len(each) == len(columns) for each in cells)


def test_candidates_for_the_default_are_measured_in_pairs() -> None:
    for seconds in SECONDS:
        try:
            rows = lock_choice.measure(seconds, rounds=2, processes=[2])
            break
        except SoloistError as error:
            assert "nobody entered in that time" in str(error)  # noqa: PT017
    settings = [(row.what, row.setting) for row in rows]
    whats = ["entries/s at 2", "hand-off, µs", "free pair, µs"]
    assert settings == [(what, setting) for setting in ("asyncio", "asyncio, TCP") for what in whats]
    for row in rows:
        assert 0 < row.least <= row.ratio <= row.largest
        assert all(row.values)
    assert rows[0].messages > (0, 0)
    columns, cells = lock_choice.table(rows)
    assert all(len(each) == len(columns) for each in cells)


def test_which_candidate_is_better_whichever_came_first() -> None:
    def pair(first: float, second: float) -> list[lock_choice.Figure]:
        return [lock_choice.Figure(first), lock_choice.Figure(second)]

    more = lock_choice.Trial("entries/s at 2", 2, more_is_better=True)
    less = lock_choice.Trial("free pair, µs", 2)
    assert list(lock_choice._ratios(more, [pair(10, 20), pair(0, 5)])) == [2]
    assert list(lock_choice._ratios(less, [pair(10, 20)])) == [0.5]
    assert [lock_choice._in_turn(turn)[0] for turn in (0, 1)] == list(lock_choice.CANDIDATES)


def test_a_semaphore_that_lets_in_too_many_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_semaphores, "most_inside", lambda visits: 3)
    with pytest.raises(SoloistError, match="raymond-k: 3 were inside together, where 2 may be"):
        lock_semaphores.measure(["raymond-k"], 0.05, rounds=1)


def test_idle_locks_cost_some_memory() -> None:
    found = lock_memory.measure(names=500, nodes=2)
    assert (found.names, found.nodes) == (500, 2)
    assert found.bytes_per_name > 0


def assert_complete(row: locks.Measurement, hand_off: bool = True) -> None:
    assert row.missing is None
    assert row.pair_us is not None
    assert row.contended
    assert all(each.entries_per_second > 0 and 0 < each.jain <= 1 for each in row.contended)
    assert all(each.longest_run >= 1 for each in row.contended)
    if hand_off:
        assert row.hand_off_p50_us is not None
        assert row.hand_off_p99_us is not None
    assert row.overlaps == 0


def system(name: str) -> locks.System:
    return next(each for each in locks.systems() if each.name == name)


# What goes wrong.


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown system 'reddis-py'; did you mean redis-py"):
        locks.measure(only=["reddis-py"])
    with pytest.raises(UsageError, match="unknown algorithm 'raymond'; did you mean raymond-k"):
        lock_semaphores.measure(["raymond"])


def test_a_server_that_does_not_start_is_said_and_does_no_harm() -> None:
    broken = lock_peers.Peer(
        "broken", "none", lock_peers.Etcd, lambda directory, port: [sys.executable, "-c", "print('no luck')"]
    )
    found = locks.sample(locks.System("broken", "none", peer=broken), (2,), seconds=0.05)
    assert found.missing == "failed: its server did not start: no luck"


def test_clients_serve_one_system_after_another_but_not_after_a_failure() -> None:
    with Crews(1) as crews:
        with crews.lent("asyncio") as first:
            pass
        with pytest.raises(RuntimeError, match="StopIteration"), crews.lent("asyncio") as second:
            second.run([Job("pair", "nobody", "1")], 0.05)
        assert second is first
        with crews.lent("asyncio") as third:
            assert third.processes.alive("client 0")
        assert not first.processes.alive("client 0")
    assert not third.processes.alive("client 0")


def test_a_client_that_fails_is_said() -> None:
    with Crew(1, "asyncio") as crew, pytest.raises(RuntimeError, match="StopIteration"):
        crew.run([Job("pair", "nobody", "1")], 0.05)
    assert not crew.processes.alive("client 0")


# The central server.


class Wire:
    """Counts the grants that a client was sent."""

    def __init__(self) -> None:
        self.grants = 0

    def write(self, data: bytes) -> None:
        self.grants += data.count(lock_central.GRANTED)


def test_the_central_server_serves_in_order() -> None:
    queues: dict[bytes, deque[lock_central.Server]] = {}
    a, b, c = clients = [lock_central.Server(queues) for _ in range(3)]
    wires = [Wire() for _ in clients]
    for client, wire in zip(clients, wires, strict=True):
        client.wire = cast(asyncio.Transport, wire)

    def grants() -> list[int]:
        return [wire.grants for wire in wires]

    c.data_received(b"+x\n+y\n")
    a.data_received(b"+x")  # cut anywhere
    a.data_received(b"\n")
    b.data_received(b"+x\n")
    assert grants() == [0, 0, 2]
    c.data_received(b"-x\n+x\n")
    assert grants() == [1, 0, 2]
    a.data_received(b"-x\n")
    assert grants() == [1, 1, 2]
    b.data_received(b"-x\n")
    assert grants() == [1, 1, 3]


# The command.


def soloist(*words: str) -> str:
    command = [sys.executable, "-m", "soloist", "bench", "locks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_prints_tables_and_json() -> None:
    tiny = (LOCK, "central", "--rounds", "1", "--processes", "2", "--seconds")
    assert "hand-off p50" in soloist(*tiny[1:], "0.05")
    assert "| central | minimal lock server, asyncio | " in soloist(*tiny[1:], "0.05", "--markdown")
    for seconds in SECONDS:
        found = json.loads(soloist(*tiny, str(seconds), "--json"))
        assert {row["system"] for row in found["rows"]} == {LOCK, "central"}
        if found["bars"]:
            break
    assert {"what", "value", "limit", "met"} <= set(found["bars"][0])
