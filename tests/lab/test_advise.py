"""Advice: that it is what a larger sweep, made without it, would say; and that a situation is read as it was."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from soloist.algorithms import CATALOGUE
from soloist.cli import main
from soloist.core import UsageError
from soloist.lab import Contender, Seeds, Sweep, run_sweep
from soloist.lab.advise import TIED, advise
from soloist.lab.situation import Situation, read_traces

SITUATIONS = {
    "rare requests in a rack": (Situation(5, rate=0.5, latency=0.0002, inside=0.001), ()),
    "a busy lock": (Situation(8, rate=None, latency=0.0005, inside=0.0002), ()),
    "far apart, without a server": (
        Situation(7, rate=2.0, latency=0.04, jitter=0.02, inside=0.005),
        ("central",),
    ),
    "strict order": (
        Situation(10, rate=20.0, latency=0.001, jitter=0.0005, inside=0.002, fair="strict"),
        (),
    ),
    "a semaphore": (Situation(9, k=3, rate=20.0, latency=0.001, inside=0.05), ()),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_advice_is_what_a_full_sweep_shows(name: str) -> None:
    """Other seeds, and longer runs: the fewest messages among those that enter soonest, within 5 %."""
    situation, without = SITUATIONS[name]
    advice = advise(situation, without=without)
    tried = [each.algorithm for each in advice.ranking]
    everything = {n for n, card in CATALOGUE.items() if card.capacity == "K" or situation.k == 1}
    assert set(tried) | set(advice.ruled_out) == everything

    plan = Sweep(
        "full", tuple(map(Contender, tried)), {**situation.parameters(), "entries": 1000}, {}, Seeds(2, 200)
    )
    rows = run_sweep(plan).rows
    assert not any(row.error for row in rows)
    time = {a: fmean(r.response_time or 0 for r in rows if r.algorithm == a) for a in tried}
    messages = {a: fmean(r.messages_per_entry or 0 for r in rows if r.algorithm == a) for a in tried}
    soonest = [a for a in tried if time[a] <= TIED * min(time.values())]
    assert advice.best.algorithm == min(soonest, key=messages.__getitem__)
    assert advice.reasons[0].startswith(advice.best.algorithm)


def test_the_same_seed_gives_the_same_advice() -> None:
    situation = Situation(4, rate=5.0)
    assert advise(situation, entries=100, jobs=1) == advise(situation, entries=100, jobs=2)


def test_strict_order_rules_out_what_does_not_keep_it() -> None:
    advice = advise(Situation(4, fair="strict"), entries=50, seeds=Seeds(2), jobs=1)
    assert {each.algorithm for each in advice.ranking} == {"lamport", "lodha-kshemkalyani", "ricart-agrawala"}
    assert advice.ruled_out["naimi-trehel"] == "its order of entries is no-starvation, not strict"


def test_large_messages_are_ruled_out() -> None:
    advice = advise(Situation(12, rate=5.0, max_bytes=20), entries=50, seeds=Seeds(2), jobs=1)
    assert "bytes on average" in advice.ruled_out["naimi-thiare"]


@pytest.mark.parametrize(
    ("by", "figure"), [("messages", "messages"), ("bytes", "bytes"), ("fairness", "fairness")]
)
def test_another_criterion(by: str, figure: str) -> None:
    advice = advise(Situation(5, rate=50.0), by, entries=100, seeds=Seeds(2), jobs=1)  # type: ignore[arg-type]
    figures = [getattr(each, figure).mean for each in advice.ranking]
    assert figures[0] <= TIED * min(figures)


def test_what_never_rests_is_not_simulated_for_ever() -> None:
    advice = advise(Situation(3, rate=1e-6), entries=20, seeds=Seeds(1), jobs=1)
    assert "while nobody asks" in advice.ruled_out["token-ring"]
    assert "only while all the others ask" in advice.ruled_out["raynal"]


# Situations read from traces.


def test_a_situation_is_read_as_it_was_simulated(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    command = (
        "simulate ricart-agrawala --nodes 6 --rate 4 --latency lognormal:20ms,0.4 --inside 30ms --entries 800"
    )
    assert main([*command.split(), "--trace", str(trace)]) == 0
    found = read_traces([trace])
    assert found.nodes == 6
    assert found.rate == pytest.approx(4, rel=0.1)
    assert found.latency == pytest.approx(0.02, rel=0.05)
    assert found.jitter == pytest.approx(0.02 * 0.4165, rel=0.1)  # sqrt(exp(0.4²) - 1)
    assert found.inside == pytest.approx(0.03, rel=0.01)


def test_who_asks_all_the_time_is_recognised(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    command = "simulate naimi-trehel --nodes 4 --saturate --latency 1ms --inside 1ms --entries 200"
    assert main([*command.split(), "--trace", str(trace)]) == 0
    assert read_traces([trace]).rate is None


def test_traces_of_several_locks_need_a_choice(tmp_path: Path) -> None:
    trace = tmp_path / "a.jsonl"
    steps = [("request", 0.0), ("enter", 1.0), ("exit", 3.0)]
    lines = [
        json.dumps({"node": "a", "lock": f"lock:{lock}", "kind": kind, "site": 0, "time": time})
        for lock in ("orders", "jobs")
        for kind, time in steps
    ]
    trace.write_text("\n".join(lines) + '\n{"node": "a", "lo')  # the last line is being written
    with pytest.raises(UsageError, match="several locks, choose one: jobs, orders"):
        read_traces([trace])
    with pytest.raises(UsageError, match="no lock 'x'; they have jobs, orders"):
        read_traces([trace], "x")
    assert read_traces([trace], "orders").inside == 2.0


# The command.


def test_the_command_prints_a_ranking_reasons_and_a_line_of_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "advise",
                "--nodes",
                "4",
                "--rate",
                "2",
                "--latency",
                "2ms",
                "--entries",
                "60",
                "--seeds",
                "2",
                "--without",
                "central",
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "Best first, by time" in said
    assert "Not central: you do not want it." in said
    assert said.rstrip().rpartition("\n")[2].strip().startswith('algorithm = "')


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            ["advise", "--nodes", "6", "--k", "2", "--rate", "9", "--entries", "60", "--seeds", "2", "--json"]
        )
        == 0
    )
    advice = json.loads(capsys.readouterr().out)
    assert advice["config"] == f'semaphore_algorithm = "{advice["ranking"][0]["algorithm"]}"'


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "--nodes is missing"),
        ("--nodes 0", "nodes must be from 1 to"),
        ("--nodes 3 --k 5", "k must be from 1 to the number of nodes"),
        ("--nodes 3 --fair often", "fair must be strict, causal or none, not 'often'"),
        ("--nodes 3 --by luck", "unknown criterion 'luck'"),
        ("--nodes 3 --without none", "unknown algorithm 'none'"),
        ("--nodes 3 --rate 1 --saturate", "exclude each other"),
        ("--nodes 3 --rate -1", "rate must be above 0"),
        ("--nodes 3 --latency soon", "--latency must be a number"),
        ("--nodes 3 --seeds 0", "--seeds must be at least 1"),
        ("--trace nowhere.jsonl", "cannot read nowhere.jsonl"),
        ("--trace README.md", "README.md:1: not a step of a trace"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
