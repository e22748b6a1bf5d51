"""Traces: recorded by replay, the same run as was driven, and readable by whoever gets them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card
from soloist.algorithms.printed import find_printed
from soloist.check import check
from soloist.core import UsageError
from soloist.core.trace import Recorder
from soloist.sim import Experiment, Saturated, Thinking, simulate
from soloist.sim.faults import faults
from soloist.sim.links import Network, delay
from soloist.watch import Trace, of_report, of_script, of_simulation, read
from soloist.watch.trace import LARGEST, parse, plain
from soloist.watch.validate import validate


def experiment(name: str, *texts: str, seed: int = 3, entries: int = 12) -> Experiment:
    card: Card = CATALOGUE[name]
    return Experiment(
        name,
        nodes=5,
        k=2 if card.capacity == "K" else 1,
        workload=Saturated() if card.everybody_asks else Thinking(0.1),
        network=Network(delay("exponential:1"), card.channels == "fifo"),
        inside=1.0,
        entries=entries,
        warmup=0,
        seed=seed,
        faults=faults(texts),
    )


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_simulation_is_recorded_as_it_was(name: str, tmp_path: Path) -> None:
    recorder = Recorder()
    simulate(experiment(name), recorder=recorder)
    trace = of_simulation(experiment(name))
    kinds = {"request": "request", "deliver": "deliver", "exit": "release", "timeout": "timeout"}
    driven = [(kinds[s.kind], s.site, s.time) for s in recorder.steps if s.kind in kinds]
    assert [(s.what, s.site, s.t) for s in trace.steps if s.what in kinds.values()] == driven
    sent = [(s.site, s.peer, type(s.message).__name__) for s in recorder.steps if s.kind == "send"]
    recorded = [(step.site, each.to, each.kind) for step in trace.steps for each in step.sent]
    assert sorted(map(str, recorded)) == sorted(map(str, sent))
    assert validate(trace) is None
    path = tmp_path / "trace.jsonl"
    path.write_text(trace.json_lines())
    assert read(path) == trace


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_algorithm_has_a_stage_lines_and_reasons(name: str) -> None:
    trace = of_simulation(experiment(name))
    stage, card = trace.head.stage, CATALOGUE[name]
    state = trace.state(0)[0]
    for field in (*(pointer.field for pointer in stage.pointers), stage.queue):
        assert field is None or field in state, f"{field} is no variable"
    if stage.token and stage.token.field:
        assert stage.token.field in state
    kinds = {each.kind for step in trace.steps for each in step.sent}
    assert not stage.token or kinds & set(stage.token.kinds)
    if card.family == "token" and name != "partitioned":
        assert stage.token, "a token that nobody sees"
    assert stage.token or stage.quorums or stage.edges or stage.queue or name == "partitioned"
    assert trace.head.source
    sources = [source.text.splitlines() for source in (trace.head.source, *trace.head.files)]
    for step in trace.steps:
        assert step.lines or step.what in ("begin", "pause", "resume", "note"), step
        for file, line in step.lines:
            assert sources[file][line - 1].strip()
    waited = [why for step in trace.steps for why in step.why.values() if why]
    assert waited
    assert all(why.startswith("waits") for why in waited)
    assert not any("waits with" in why for why in waited), "nothing is known of what it waits for"


@pytest.mark.parametrize(
    ("fault", "step"),
    [
        ("crash=1@5+10", "crash"),
        ("crash-new=1@5+10", "restart"),
        ("pause=1@5+3", "resume"),
        ("loss=0.05", "lose"),
        ("duplicate=0.1", "duplicate"),
        ("partition=0,1|2,3,4@5+10", "cut"),
        ("partition=0|1@0+0.5", "heal"),
        ("reorder=0.2", "note"),
    ],
)
def test_faults_are_steps(fault: str, step: str) -> None:
    trace = of_simulation(experiment("raynal", fault), 4000)
    assert step in {each.what for each in trace.steps}
    assert validate(trace) is None


def test_a_run_that_breaks_a_promise_ends_there_and_says_so() -> None:
    trace = of_simulation(experiment("naimi-trehel", "loss=0.1"))
    assert trace.head.finding
    assert trace.head.finding.property == "service"
    assert any(message.lost is not None for message in trace.messages().values())


def test_a_long_run_is_cut_and_says_so() -> None:
    trace = of_simulation(experiment("lamport"), most=50)
    assert trace.head.notes == ["The run goes on: it was cut off after 50 events."]
    assert 0 < len(trace.steps) < 50
    assert validate(trace) is None


def test_a_counterexample_becomes_a_trace() -> None:
    card = CATALOGUE["lamport"]
    report = check(card, nodes=2, rounds=1, channels="any")
    trace = of_report(report, card)
    assert trace.head.finding
    assert trace.head.finding.property == "exclusion"
    assert trace.steps[-1].enter
    assert validate(trace) is None
    with pytest.raises(UsageError, match="has no run to show"):
        of_report(check(card, nodes=2, rounds=1), card)


def test_a_step_that_fails_half_way_is_the_last_one() -> None:
    card = find_printed("ricart-agrawala-token")
    report = check(card, nodes=3, rounds=1)
    trace = of_report(report, card, printed=True)
    if report.property == "error":
        assert "the step fails" in (trace.steps[-1].text or "")
    assert validate(trace) is None


def test_a_script_has_pauses_crashes_and_losses() -> None:
    trace = of_script(
        ["start naimi-trehel nodes=3", "pause 0", "acquire 1", "acquire 2", "resume 0", "deliver 1>0", "lose 2>0", "crash 1", "restart 1"]
    )  # fmt: skip
    assert [step.what for step in trace.steps] == [
        "begin", "pause", "request", "request", "resume", "deliver", "lose", "crash", "lose", "restart",
    ]  # fmt: skip
    lost = [message for message in trace.messages().values() if message.lost is not None]
    assert [(message.sender, message.to) for message in lost] == [(2, 0), (0, 1)]
    with pytest.raises(UsageError, match="site 0 is paused; resume 0 lets it go on"):
        of_script(["start naimi-trehel nodes=3", "acquire 1", "pause 0", "deliver 1>0"])
    with pytest.raises(UsageError, match="site 2 is not paused"):
        of_script(["start naimi-trehel nodes=3", "resume 2"])


def test_values_are_plain() -> None:
    assert plain({3, 1}) == [1, 3]
    assert plain((1, (2, LARGEST))) == [1, [2, str(LARGEST)]]
    assert plain({2: {1}, 1: True}) == {"1": True, "2": [1]}


def test_the_states_are_those_of_the_run() -> None:
    trace = of_script(["start suzuki-kasami nodes=3", "acquire 1", "settle", "release 1"])
    last = trace.state(len(trace.steps) - 1)
    assert last[1]["LN"] == [-1, 0, -1]
    assert last[1]["have_privilege"] is True
    assert last[0]["have_privilege"] is False


@pytest.fixture
def lines() -> list[str]:
    return of_script(["start suzuki-kasami nodes=2", "acquire 1", "settle"]).json_lines().splitlines()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [], "is empty"),
        (lambda lines: ["hello", *lines], 'its first line has no "soloist"'),
        (lambda lines: ['{"a": 1}'], 'its first line has no "soloist"'),
        (lambda lines: [lines[0].replace('"version":2', '"version":7')], "version 7; this program reads 2"),
        (lambda lines: [lines[0].replace('"nodes":2', '"nodes":"two"')], r"line 1 is no head of a trace: .*nodes"),
        (lambda lines: [lines[0], lines[1], "{", lines[2]], "line 3 is no step of a trace"),
        (lambda lines: [lines[0], lines[2]], "this should be 0"),
        (lambda lines: [line.replace('"site":1', '"site":9') for line in lines], "names site 9; sites are 0 to 1"),
        (lambda lines: [line.replace('"message":0', '"message":5') for line in lines], "message 5, which nobody has sent"),
        (lambda lines: [line.replace('"request"', '"dances"') for line in lines], "line 3 is no step of a trace: .*what"),
        (lambda lines: lines[:1], "has a head, but no steps"),
        (lambda lines: [line.replace('"sent":[{"id":1', '"sent":[{"id":0') for line in lines], "sends message 0, which was sent before"),
        (lambda lines: [lines[0].replace('"edges":[[0,1]', '"edges":[[0,9]'), *lines[1:]], "its stage has site 9; sites are 0 to 1"),
    ],
)  # fmt: skip
def test_a_broken_trace_gets_one_clear_line(change: object, said: str, lines: list[str]) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse(change(lines), "x.jsonl")  # type: ignore[operator]
    assert str(caught.value).startswith("x.jsonl")
    assert "\n" not in str(caught.value)


def test_a_last_line_that_was_cut_off_is_left_out(lines: list[str]) -> None:
    trace = parse([*lines[:-1], lines[-1][:20]], "x")
    assert len(trace.steps) == len(lines) - 2
    assert trace.head.notes == ["The last line of the file was cut off."]


def test_the_first_impossible_step_is_found(lines: list[str]) -> None:
    def wrong(change: object) -> str:
        trace = parse(lines, "x")
        change(trace)  # type: ignore[operator]
        found = validate(trace)
        assert found
        return f"{found.step}: {found.why}"

    def twice(trace: Trace) -> None:
        trace.steps.insert(3, msgspec.structs.replace(trace.steps[2]))

    assert validate(parse(lines, "x")) is None
    assert wrong(twice).startswith("2: message 0 is not on its way")
    assert "is recorded to wait; the algorithm enters" in wrong(
        lambda t: setattr(t.steps[-1], "enter", False)
    )
    assert "RN = [9]" in wrong(lambda t: setattr(t.steps[1], "changed", {"RN": [9]}))
    assert "is recorded to send nothing" in wrong(lambda t: setattr(t.steps[1], "sent", []))
    assert "is recorded to be idle" in wrong(lambda t: setattr(t.steps[1], "phase", "idle"))
    assert "acquire at site 1" in wrong(lambda t: t.steps.insert(2, t.steps[1]))


@pytest.mark.parametrize("name", [name for name in CATALOGUE if CATALOGUE[name].family == "token"])
def test_there_are_always_as_many_tokens_to_be_seen(name: str) -> None:
    """At sites and on their way; where no variable tells, the page looks for who got it last."""
    trace = of_simulation(experiment(name))
    token, k = trace.head.stage.token, trace.head.k
    if not token or not token.field:
        return
    flying: set[int] = set()
    phases = ["idle"] * trace.head.nodes
    tokens = {id for id, message in trace.messages().items() if message.body.kind in token.kinds}
    for step, states in zip(trace.steps, trace.states(), strict=True):
        phases[step.site] = step.phase or phases[step.site]
        flying |= {sent.id for sent in step.sent} & tokens
        flying -= {step.message} if step.what == "deliver" else set()
        seen = len(flying)
        for site, fields in states.items():
            value = fields[token.field]
            seen += len(value) if isinstance(value, list) else value is True or type(value) is int
            seen += token.inside and phases[site] == "inside"
        assert seen == (1 if name in ONE_TOKEN_FOR_K else k), f"after step {step.n}"


ONE_TOKEN_FOR_K = ("makki",)
"""Its one token has K entries."""
