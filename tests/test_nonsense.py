"""What a program gets wrong when it simulates, checks, judges, watches or grades is one line, and nothing is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soloist.algorithms import find, find_any, load, load_any
from soloist.check import Limits, check, mistakes
from soloist.core import UsageError
from soloist.course.exercise import exercise
from soloist.course.grade import grade
from soloist.course.new import new
from soloist.history import check as judge
from soloist.lab import planned, read_sweep, run_sweep
from soloist.sim import Experiment, Listed, Thinking, simulate
from soloist.sim.links import Constant, Exponential, Lognormal, Network, Uniform
from soloist.watch import of_report, of_script, of_simulation, read

NAN, INF = float("nan"), float("inf")


def checked(**wrong: Any) -> Any:
    return check(**{"card": find("central"), "nodes": 2, "rounds": 1, **wrong})


def simulated(**wrong: Any) -> Any:
    return simulate(Experiment(**{"algorithm": "central", "nodes": 2, "entries": 20, **wrong}))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a word for sites": (lambda: simulated(nodes="3"), "nodes must be a whole number, not '3'"),
    "half a site": (lambda: simulated(nodes=2.5), r"nodes must be a whole number, not 2\.5"),
    "true for sites": (lambda: simulated(nodes=True), "nodes must be a whole number, not True"),
    "none for k": (lambda: simulated(k=None), "k must be a whole number, not None"),
    "half an entry": (lambda: simulated(entries=NAN), "entries must be a whole number, not nan"),
    "a word for a warm-up": (lambda: simulated(warmup="x"), "warmup must be a whole number, not 'x'"),
    "half a seed": (lambda: simulated(seed=1.5), r"seed must be a whole number, not 1\.5"),
    "a word for a stay": (lambda: simulated(inside="x"), "inside must be of type float, not 'x'"),
    "a number for an algorithm": (lambda: simulated(algorithm=5), "algorithm must be of type str, not 5"),
    "a word for options": (lambda: simulated(options="x=1"), "options must be of type dict, not 'x=1'"),
    "a delay for a network": (lambda: simulated(network=0.1), r"network must be of type Network, not 0\.1"),
    "a rate for a workload": (lambda: simulated(workload=0.1), "workload must be Thinking, Saturated or Listed"),
    "a word for a rate": (lambda: Thinking("x"), "rate must be a number, not 'x'"),  # type: ignore[arg-type]
    "no number for a rate": (lambda: Thinking(NAN), "rate must be above 0"),
    "a request that is none": (lambda: simulated(workload=Listed(((0.0,),))), "time and a site"),  # type: ignore[arg-type]
    "a request by a word": (lambda: simulated(workload=Listed(((0.0, "x"),))), "whole number, not 'x'"),  # type: ignore[arg-type]
    "a request never": (lambda: simulated(workload=Listed(((NAN, 0),))), "must not be negative"),
    "messages before they are sent": (lambda: Constant(-1), "latency must not be negative"),
    "messages that never come": (lambda: Exponential(INF), "must be finite, but is inf"),
    "no number for a delay": (lambda: Lognormal(NAN), "must be finite, but is nan"),
    "a spread back in time": (lambda: Uniform(-1, 1), "latency must not be negative"),
    "a word for a delay": (lambda: Network("1ms"), "delay must be a Constant"),  # type: ignore[arg-type]
    "no number for a cost": (lambda: Network(send_cost=NAN), "send cost must not be negative and must be finite"),
    "a name for a card": (lambda: checked(card="central"), "must be a Card, as soloist.algorithms.find gives it"),
    "a word for sites to check": (lambda: checked(nodes="2"), "nodes must be a whole number, not '2'"),
    "half a request": (lambda: checked(rounds=1.5), r"rounds must be a whole number, not 1\.5"),
    "words for requests": (lambda: checked(rounds=(1, "x")), "rounds must be a whole number, not 'x'"),
    "requests without end": (lambda: checked(rounds=10**9), "rounds must be at most 1000"),
    "a number for options": (lambda: checked(options=5), "options must be a dict of names and values, not 5"),
    "a word among faults": (lambda: simulated(faults=("x",)), "not 'x'"),
    "fewer states than none": (lambda: checked(endless_states=-2), "endless_states must not be negative"),
    "a word for requests": (lambda: checked(rounds="11"), "rounds must be a whole number, not '11'"),
    "a word for crashes": (lambda: checked(crashes="x"), "crashes must be a whole number, not 'x'"),
    "a number for a promise": (lambda: checked(properties=(5,)), "unknown property 5"),
    "a word for promises": (lambda: checked(properties="exclusion"), "several names, not 'exclusion'"),
    "a number for promises": (lambda: checked(properties=5), "several names, not 5"),
    "a word for reductions": (lambda: checked(reductions="values"), "several names, not 'values'"),
    "a number for a limit": (lambda: checked(limits=5), "limits must be Limits"),
    "a word for a limit": (lambda: Limits(states="x"), "limit on states must be positive, not x"),  # type: ignore[arg-type]
    "a word for cores": (lambda: checked(jobs="x"), "jobs must be a whole number, not 'x'"),
    "a word for states": (lambda: checked(endless_states="x"), "endless_states must be a whole number"),
    "a fault that is none": (lambda: checked(flood=1), "unknown argument 'flood'"),
    "a number for an algorithm to find": (lambda: find(5), "unknown algorithm 5"),  # type: ignore[arg-type]
    "a list for an algorithm to find": (lambda: find_any([]), r"unknown algorithm \[\]: it is named by a str"),  # type: ignore[arg-type]
    "a number for an algorithm to load": (lambda: load(5), "unknown algorithm 5"),  # type: ignore[arg-type]
    "nothing for any algorithm": (lambda: load_any(None), "unknown algorithm None"),  # type: ignore[arg-type]
    "a name to look for mistakes in": (lambda: mistakes("central"), "must be of type Card, not 'central'"),  # type: ignore[arg-type]
    "a number for a history": (lambda: judge(5), "a history must be a path, not 5"),  # type: ignore[arg-type]
    "numbers for histories": (lambda: judge([5]), "a history must be a path, not 5"),  # type: ignore[list-item]
    "a word for k": (lambda: judge("x", k="2"), "k must be a whole number, not '2'"),  # type: ignore[arg-type]
    "a word for a bypass": (lambda: judge("x", bypass="2"), "bypass must be a whole number, not '2'"),  # type: ignore[arg-type]
    "no number for a skew": (lambda: judge("x", skew=NAN), "skew must not be negative and must be finite"),
    "no history there": (lambda: judge("no such"), "cannot read the history no such"),
    "a number for a trace": (lambda: read(5), "a trace must be a path, not 5"),  # type: ignore[arg-type]
    "no trace there": (lambda: read("no such"), "cannot read the trace no such"),
    "a name to watch": (lambda: of_simulation("central"), "must be of type Experiment, not 'central'"),  # type: ignore[arg-type]
    "a name for a report": (lambda: of_report("central", find("central")), "must be of type Report"),  # type: ignore[arg-type]
    "a word for a script": (lambda: of_script("acquire 0"), "must be a list of commands, not 'acquire 0'"),
    "a name to sweep": (lambda: run_sweep("plan.toml"), "must be of type Sweep, not 'plan.toml'"),  # type: ignore[arg-type]
    "a name to plan": (lambda: planned("plan.toml"), "must be of type Sweep, not 'plan.toml'"),  # type: ignore[arg-type]
    "a number for a plan": (lambda: read_sweep(5), "a plan must be a path, not 5"),  # type: ignore[arg-type]
    "a number for a new one": (lambda: new(5, Path()), "a name must be of type str, not 5"),  # type: ignore[arg-type]
    "a number for a folder": (lambda: new("my-lock", 5), "the folder must be a path, not 5"),  # type: ignore[arg-type]
    "a number for a hand-in": (lambda: grade(5, exercise(1)), "a hand-in must be a path, not 5"),  # type: ignore[arg-type]
    "a number for an exercise": (lambda: grade("x.py", 1), "the exercise must be of type Exercise, not 1"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_makes_no_sense_is_refused_in_one_line(wrong: str) -> None:
    use, why = WRONG[wrong]
    with pytest.raises(UsageError, match=why) as refused:
        use()
    assert "\n" not in str(refused.value)


def test_a_path_is_as_good_as_its_text(tmp_path: Path) -> None:
    """For a file of one's own, too."""
    file, _ = new("my-lock", tmp_path)
    assert load(file) is load(str(file))
    (history := tmp_path / "history.jsonl").write_text('{"time": 1, "process": "a", "event": "acquire"}\n')
    assert judge(history).holds == judge(str(history)).holds == judge([str(history)]).holds == 1
