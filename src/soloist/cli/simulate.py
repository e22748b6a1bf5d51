"""`soloist simulate`: one experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from soloist.algorithms import load_any
from soloist.algorithms.printed import find_printed
from soloist.cli import arguments as arg
from soloist.cli.arguments import algorithm_options
from soloist.cli.output import (
    STANDARD_OUTPUT,
    number,
    print_facts,
    print_json,
    print_text,
    progress_bar,
    write_text,
)
from soloist.cli.situations import network, workload
from soloist.core import UsageError
from soloist.core.trace import Recorder
from soloist.durations import duration
from soloist.sim import Experiment, Result
from soloist.sim import simulate as run_experiment
from soloist.sim.faults import faults


def simulate(
    name: Annotated[
        str,
        typer.Argument(
            help="The algorithm (`soloist algorithms` lists them), or a file of yours: my_lock.py."
        ),
    ],
    nodes: arg.Nodes = 10,
    k: arg.K = 1,
    rate: arg.Rate = None,
    saturate: arg.Saturate = False,
    requests: Annotated[
        str | None,
        typer.Option("--requests", metavar="LIST", help="Requests at given times: 0@0,2@1.5 (SITE@TIME)."),
    ] = None,
    entries: arg.Entries = 10_000,
    warmup: arg.Warmup = None,
    send_cost: arg.SendCost = "0",
    receive_cost: arg.ReceiveCost = "0",
    latency: arg.Latency = "0.001",
    channels: arg.Channels = None,
    inside: arg.Inside = "0.001",
    seed: arg.Seed = 1,
    replications: arg.Replications = 1,
    jobs: arg.Jobs = 1,
    option: arg.Options = None,
    fault: arg.Faults = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Run what a paper or the survey prints, errors and all.")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace", metavar="FILE", help="Write every step: text, or JSON lines for *.jsonl; - prints it."
        ),
    ] = None,
    json: arg.Json = False,
) -> None:
    """Simulate one algorithm, and measure what an entry costs.

    Times are in one unit of your choice; read as seconds, the defaults are a network of 1 ms. Only whole
    requests are counted: warm-up is left out, and so is what is still unserved at the end.

    Examples:

        soloist simulate naimi-trehel --nodes 30 --rate 0.001

        soloist simulate raymond-tree --nodes 15 --saturate --option topology=star

        soloist simulate ricart-agrawala -n 30 --latency exponential:2ms --replications 10 --jobs 0

        soloist simulate suzuki-kasami -n 3 --requests 1@0,2@0.0005 --trace -

        soloist simulate lamport -n 3 --fault pause=1@2+0.5 --fault duplicate=0.01
    """
    card = find_printed(name) if printed else load_any(name)
    experiment = Experiment(
        algorithm=name,
        nodes=nodes,
        k=k,
        options=algorithm_options(option),
        workload=workload(rate, saturate, requests),
        network=network(card, k, latency, send_cost, receive_cost, channels),
        inside=duration(inside, "--inside"),
        entries=entries,
        warmup=warmup,
        seed=seed,
        replications=replications,
        printed=printed,
        faults=faults(fault or ()),
    )
    recorder = None
    if trace:
        if json and trace in STANDARD_OUTPUT:
            raise UsageError("--json has standard output for itself; give --trace a file")
        write_trace(trace, recorder := Recorder())  # a bad path should not cost a long run
    with progress_bar(f"{name}, N={nodes}", json) as progress:
        result = run_experiment(experiment, recorder=recorder, progress=progress, jobs=jobs)
    if trace and recorder is not None:
        write_trace(trace, recorder)
    print_json(result) if json else print_result(result)


def write_trace(path: Path, recorder: Recorder) -> None:
    if path.suffix == ".jsonl":
        lines = [msgspec.json.encode(step.record()).decode() for step in recorder.steps]
    else:
        lines = recorder.lines()
    if recorder.dropped:
        lines.append(f"({recorder.dropped} more steps were not kept)")
    write_text(path, "".join(f"{line}\n" for line in lines), "trace")


def print_result(result: Result) -> None:
    r = result
    options = "".join(f", {key}={value}" for key, value in r.options.items())
    k = f", K={r.k}" if r.k > 1 else ""
    seeds = f"seed {r.seed}" if r.replications == 1 else f"seeds {r.seed}..{r.seed + r.replications - 1}"
    print_facts(
        f"{r.algorithm}, N={r.nodes}{k}{options}: {r.entries} entries after {r.warmup} of warm-up, {seeds}\n"
    )
    kinds = " + ".join(f"{number(count)} {kind}" for kind, count in r.by_kind.items())
    m, t, s, f = r.messages_per_entry, r.response_time, r.sync_delay, r.fairness
    facts = {
        "messages per entry": f"{number(m.mean)}{interval(m.ci95)}  = {kinds or 'none'}",
        "theory": f"at most {r.bound}; {number(r.light_load)} at light load",
        "time to enter": f"{number(t.mean)}{interval(t.ci95)}, median {number(t.p50)}, p99 {number(t.p99)}",
        "sync delay": f"{number(s.mean)}{interval(s.ci95)}",
        "throughput": f"{number(r.throughput.mean)} entries per time unit",
        "message size": f"{number(r.words_per_message, 2)} words, {number(r.bytes_per_message, 1)} bytes",
        "fairness": f"Jain {f.jain:.4f}, {f.inversions} inversions, longest bypass {f.max_bypass}",
        "simulated": f"{r.simulated_time:.6g} time units, {r.events} events in {r.wall_seconds:.2f} s",
    }
    if r.faults:
        facts["faults"] = ", ".join(f"{count} {kind}" for kind, count in r.faults.items())
    for name, text in facts.items():
        print_facts(f"  {name:<20} {text}")
    if not r.warmed_up:
        print()
        print_text(young(r))


def young(r: Result) -> str:
    """What is wrong with figures that come too soon."""
    return (
        f"The start may not be forgotten yet: {number(r.warmup / r.nodes)} requests per site came before these figures, and "
        f"trees and queues that change with every entry take about five; so theory need not fit. Try --warmup {5 * r.nodes}."
    )


def interval(ci95: tuple[float, float] | None) -> str:
    return f" ± {number((ci95[1] - ci95[0]) / 2)}" if ci95 else ""
