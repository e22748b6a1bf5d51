"""`soloist bench`: our speed and that of others, in one run."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

import typer

from soloist.bench import checker as checker_bench
from soloist.bench import (
    checker_cores,
    lock_ablations,
    lock_choice,
    lock_locality,
    lock_memory,
    lock_semaphores,
    lock_versions,
)
from soloist.bench import locks as locks_bench
from soloist.bench import simulator as simulator_bench
from soloist.bench import start as start_bench
from soloist.bench.ablation import PARTS
from soloist.bench.bars import bar_table
from soloist.bench.lock_bars import bars as lock_bars
from soloist.cli.arguments import Json, at_least
from soloist.cli.bench_bars import print_bars, print_measured
from soloist.cli.bench_clients import clients
from soloist.cli.bench_crashes import leases, nemesis, recovery
from soloist.cli.bench_page import page
from soloist.cli.help import Commands
from soloist.cli.output import print_json, print_table, print_text, progress_bar

bench = Commands(help="Measure our speed beside that of others, in one run, as ratios.")
for command in (recovery, nemesis, leases, clients, page):
    bench.command()(command)


@bench.command()
def simulator(
    messages: Annotated[int, typer.Option(help="Messages per measurement.")] = 300_000,
    rounds: Annotated[int, typer.Option(help="Measurements of each; the best counts.")] = 5,
    json: Json = False,
) -> None:
    """Messages per CPU second: this simulator, SimPy doing the same work, and a bare heap.

    Example:

        soloist bench simulator
    """
    at_least("--messages", 1, messages)
    at_least("--rounds", 1, rounds)
    with progress_bar("measuring", json) as progress:
        rows = simulator_bench.measure(messages=messages, rounds=rounds, progress=progress)
    bars = simulator_bench.bars(rows)
    if json:
        print_measured(rows, bars)
        return
    columns = ("nodes", "delay", ">ours/s", ">SimPy/s", ">bare heap/s", ">x SimPy", ">of bare heap")
    print_table(
        "Messages (bare heap: pops) per CPU second",
        columns,
        [
            (
                str(r.nodes),
                r.delay,
                f"{r.ours:,.0f}",
                f"{r.simpy:,.0f}",
                f"{r.bare_heap:,.0f}",
                f"{r.times_simpy:.1f}",
                f"{r.share_of_heap:.2f}",
            )
            for r in rows
        ],
    )
    print_bars(bars)


@bench.command()
def checker(
    repeat: Annotated[int, typer.Option(help="Measurements of each; the best counts.")] = 5,
    json: Json = False,
) -> None:
    """States per CPU second: this checker, and SPIN on a model of the same steps where it is installed; and two cores beside one.

    Example:

        soloist bench checker
    """
    at_least("--repeat", 1, repeat)
    rows = checker_bench.measure(repeat=repeat)
    with progress_bar("checks", json) as progress:
        shared = checker_cores.measure(repeat, progress)
    bars = checker_bench.bars(rows) + (checker_cores.bars(shared) if shared else [])
    if json:
        print_measured([*rows, *([shared] if shared else [])], bars)
        return
    print_table("Ricart-Agrawala, states per CPU second", *checker_bench.table(rows))
    if shared:
        print_table(f"On two cores, median of {repeat}", *checker_cores.table(shared))
    else:
        print_text("Two cores were not measured: there is one here.")
    print_bars(bars)


@bench.command()
def start(
    rounds: Annotated[int, typer.Option(help="Pairs of measurements; the median counts.")] = 9,
    json: Json = False,
) -> None:
    """How long it takes to begin: imports beside asyncio and msgspec, commands beside typer and rich.

    Example:

        soloist bench start
    """
    at_least("--rounds", 1, rounds)
    with progress_bar("measuring", json) as progress:
        rows = start_bench.measure(rounds, progress)
    bars = start_bench.bars(rows)
    if json:
        print_measured(rows, bars)
        return
    cells = [(r.what, f"{r.seconds * 1000:.1f}", f"{r.ratio:.2f}", r.base) for r in rows]
    columns = ("what", ">ms", ">times", "that of")
    print_table("Each in a process of its own, without the start of Python", columns, cells)
    print_bars(bars)


@bench.command()
def locks(
    systems: Annotated[list[str] | None, typer.Argument(help="Only these. (default: all)")] = None,
    seconds: Annotated[float, typer.Option(help="How long each measurement lasts.")] = 1.0,
    rounds: Annotated[
        int, typer.Option(help="Measurements of each; the median counts.")
    ] = locks_bench.ROUNDS,
    processes: Annotated[
        list[int], typer.Option(help="Contending processes; may be repeated.")
    ] = locks_bench.PROCESSES,
    locality: Annotated[
        bool, typer.Option("--locality", help="What the locality option does, instead.")
    ] = False,
    semaphores: Annotated[
        bool, typer.Option("--semaphores", help="Semaphores at five nodes, instead.")
    ] = False,
    value: Annotated[int, typer.Option(help="Permits of these semaphores.")] = lock_semaphores.VALUE,
    choice: Annotated[
        bool, typer.Option("--choice", help="What could be the default, in pairs, instead.")
    ] = False,
    memory: Annotated[bool, typer.Option("--memory", help="What an idle lock costs, instead.")] = False,
    without: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS", help="What ours are like without these parts, instead: a list, or all."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="TREE", help="Ours beside those of another worktree of this repository, instead."
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables as a page of the docs has them.")
    ] = False,
    json: Json = False,
) -> None:
    """Locks: ours, those of Redis, PostgreSQL, ZooKeeper and etcd where installed, and a minimal lock server.

    Example:

        soloist bench locks
        soloist bench locks naimi-trehel central --seconds 2
        soloist bench locks --locality
        soloist bench locks --semaphores --value 10
        soloist bench locks --choice --processes 8 --processes 32
        soloist bench locks --without eager,summons --rounds 10
        soloist bench locks --against ../before --rounds 10

    Ours have no lease here; what one costs `soloist bench leases` measures.
    """
    at_least("--seconds", 0.01, seconds)
    at_least("--rounds", 1, rounds)
    for size in processes:
        at_least("--processes", 1, size, 100)
    if memory:
        _print_memory(lock_memory.measure(), json)
        return
    with progress_bar("measuring", json) as progress:
        if against is not None:
            at_least("--rounds", 2, rounds)
            differences = lock_versions.measure(against, systems or (), seconds, rounds, progress)
            _print_differences(differences, rounds, json, markdown)
            return
        if without is not None:
            parts = [] if without == "all" else [part.strip() for part in without.split(",")]
            worths = lock_ablations.measure(parts, seconds, rounds, progress)
            _print_worths(worths, rounds, json, markdown)
            return
        if locality:
            found = lock_locality.measure(seconds=seconds, rounds=rounds, progress=progress)
            _print_locality(found, json, markdown)
            return
        if choice:
            chosen = lock_choice.measure(seconds, rounds, processes, progress=progress)
            _print_choice(chosen, rounds, json, markdown)
            return
        if semaphores:
            at_least("--value", 2, value, 100)
            found_rows = lock_semaphores.measure(systems or (), seconds, rounds, progress, value)
            _print_semaphores(found_rows, value, json, markdown)
            return
        rows = locks_bench.measure(processes, seconds, rounds, systems or (), progress)
    _print_locks(rows, processes, json, markdown)


def _print_locks(
    rows: list[locks_bench.Measurement], processes: list[int], json: bool, markdown: bool
) -> None:
    bars = lock_bars(rows)
    if json:
        print_measured(rows, bars)
        return
    title = f"Times in µs, entries per second; ours without a lease (Python {platform.python_version()})"
    _show(title, locks_bench.table(rows, processes), markdown)
    if markdown:
        print()
        _show("", bar_table(bars), markdown)
        return
    for row in rows:
        if row.missing:
            print(f"{row.system} was not measured: {row.missing}")
    print_bars(bars)


def _show(title: str, table: locks_bench.Table, markdown: bool) -> None:
    if not markdown:
        print_table(title, *table)
        return
    from soloist.lab.report import markdown_table  # it takes longer to load than all else here

    print(markdown_table(*table))


def _print_worths(worths: list[lock_ablations.Worth], rounds: int, json: bool, markdown: bool) -> None:
    if json:
        print_json(worths)
        return
    title = f"{lock_ablations.SYSTEM} without its parts, as multiples of the whole ({rounds} rounds: median, least, largest)"
    _show(title, lock_ablations.table(worths), markdown)
    for worth in worths:
        if worth.part in PARTS and not markdown:
            print(f"{worth.part}: {PARTS[worth.part]}")


def _print_differences(
    differences: list[lock_versions.Difference], rounds: int, json: bool, markdown: bool
) -> None:
    if json:
        print_json(differences)
        return
    title = f"This tree and the other, by turns ({rounds} rounds): times in µs, entries per second"
    _show(title, lock_versions.table(differences), markdown)
    worse = sum(each.worse for each in differences)
    print(
        f"{worse or 'None'} of {len(differences)} figures worse by more than the distance of the quartiles."
    )


def _print_choice(rows: list[lock_choice.Measurement], rounds: int, json: bool, markdown: bool) -> None:
    if json:
        print_json(rows)
        return
    _show(f"What could be the default lock: medians of {rounds} rounds", lock_choice.table(rows), markdown)


def _print_semaphores(
    rows: list[lock_semaphores.Measurement], value: int, json: bool, markdown: bool
) -> None:
    bars = lock_semaphores.bars(rows, value) if value == lock_semaphores.VALUE else []
    if json:
        print_measured(rows, bars)
        return
    title = f"Semaphores of {value}, {lock_semaphores.NODES} nodes: times in µs, entries per second"
    _show(title, lock_semaphores.table(rows), markdown)
    print_bars(bars)


def _print_locality(rows: list[lock_locality.Locality], json: bool, markdown: bool) -> None:
    if json:
        print_json(rows)
        return
    columns = ("locality", ">entries/s", ">messages per entry", ">Jain", ">longest run")
    cells: list[tuple[str, ...]] = [
        (
            str(r.locality),
            f"{r.entries_per_second:,.0f}",
            f"{r.messages_per_entry:.2f}",
            f"{r.jain:.3f}",
            str(r.longest_run),
        )
        for r in rows
    ]
    title = f"{lock_ablations.SYSTEM}, 4 processes with 3 tasks each, all after one lock"
    _show(title, (columns, cells), markdown)


def _print_memory(idle: lock_memory.Idle, json: bool) -> None:
    if json:
        print_json(idle)
        return
    print(
        f"{idle.bytes_per_name:,.0f} bytes per name and node ({idle.names:,} idle locks at {idle.nodes} nodes)"
    )
