"""Every wrong algorithm is caught, in the way it is wrong, by a shortest run that can be replayed."""

from __future__ import annotations

from itertools import chain

import pytest

from soloist import algorithms
from soloist.algorithms import raymond_tree
from soloist.check import PROPERTIES, REDUCTIONS, Limits, Report, Space, check, setting, text
from soloist.core import ProtocolError, UsageError
from soloist.sim.script import Script

from . import mutants, mutants_entries, mutants_permission, mutants_token, mutants_variants
from .mutants import Mutant, RaymondAskedForgotten, mutant

MUTANTS = [
    *mutants.MUTANTS,
    *mutants_permission.MUTANTS,
    *mutants_token.MUTANTS,
    *mutants_entries.MUTANTS,
    *mutants_variants.MUTANTS,
]
COUNT_WITHOUT_END = {
    "AgrawalElAbbadiYoungestFirst": {"clocks"},
    "SuzukiKasamiLastInFirstOut": {"values", "clocks"},
    "RicartAgrawalaTokenLowestFirst": {"values", "clocks"},
}
"""The reductions without which no state comes back."""
LIMITS = Limits(states=100_000)
FEW = 3_000
"""More states than these have with all reductions; without them a search finds nothing, however long it goes on."""


def run(wrong: Mutant, without: tuple[str, ...] = ()) -> Report:
    kept = [name for name in REDUCTIONS if name not in without]
    return check(
        wrong.card,
        wrong.nodes,
        wrong.rounds,
        wrong.k,
        options=wrong.options,
        properties=wrong.properties,
        reductions=kept,
        limits=LIMITS,
        endless_states=FEW if wrong.name in COUNT_WITHOUT_END else 20_000,
    )


@pytest.mark.parametrize("wrong", MUTANTS, ids=lambda m: m.name)
def test_caught(wrong: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(algorithms.CATALOGUE, wrong.card.name, wrong.card)
    report = run(wrong)
    assert (report.verdict, report.property, len(report.trace)) == ("violated", wrong.breaks, wrong.steps)
    assert report.reason
    assert report.properties[wrong.breaks] == "violated"
    if wrong.breaks != "capacity":
        assert_replays(report)


def assert_replays(report: Report) -> None:
    """The script of a counterexample drives the very processes, command by command, to the same events."""
    script = Script()
    start, *commands = report.script.splitlines()
    script.run(start)
    if report.property == "error":
        last = commands.pop()
    for step, command in zip(report.trace, commands, strict=False):
        assert [line.strip() for line in script.run(command)] == list(step.events)
    if report.property == "error":
        with pytest.raises((ProtocolError, AssertionError, IndexError)) as error:
            script.run(last)
        assert str(error.value) in report.reason


def used(wrong: Mutant) -> list[str]:
    """The reductions without which a search of it is another one. What is declared about a class counts only once it was
    proved, but where starvation is looked for it is relied on nevertheless."""
    what = setting(wrong.card, wrong.nodes, wrong.rounds, wrong.k, options=wrong.options)
    space = Space(what, trust=wrong.breaks == "starvation")
    made = {"clocks": space.clocks, "receiver": space.receiver, "early": space.early}
    return [name for name in REDUCTIONS if name in space.reductions and made.get(name, True)]


WITHOUT = [
    (wrong, without) for wrong in MUTANTS for without in (*((name,) for name in used(wrong)), REDUCTIONS)
]


def test_every_reduction_is_left_out_somewhere() -> None:
    """But for `early`: only Lamport's messages are, and those of no wrong algorithm (`test_reductions` has them)."""
    assert {*chain.from_iterable(without for _, without in WITHOUT if len(without) == 1)} == {*REDUCTIONS} - {
        "early"
    }


@pytest.mark.parametrize(
    ("wrong", "without"), WITHOUT, ids=lambda each: each.name if isinstance(each, Mutant) else "+".join(each)
)
def test_no_reduction_hides_it(wrong: Mutant, without: tuple[str, ...]) -> None:
    """docs/checking.md, "Reductions": cross-check every reduction against the unreduced search."""
    report = run(wrong, without)
    if COUNT_WITHOUT_END.get(wrong.name, set()) & set(
        without
    ):  # counted without end, no state comes back: nothing is found, nothing promised
        assert (report.verdict, report.properties["starvation"]) == ("incomplete", "for these requests")
        return
    assert (report.verdict, report.property) == ("violated", wrong.breaks)
    if wrong.breaks != "starvation":  # of equally short ways to a cycle another may be shown
        assert len(report.trace) == wrong.steps


def test_a_run_with_timers_can_be_replayed() -> None:
    """Whoever polls and is alone with its wish polls for ever."""
    report = check(algorithms.find("raynal"), 2, 1, properties=["starvation"])
    assert any(step.action == "timeout" for step in report.trace)
    script = Script()
    start, *commands = report.script.splitlines()
    script.run(start)
    for step, command in zip(report.trace, commands, strict=True):
        assert [line.strip() for line in script.run(command)] == list(step.events)
    with pytest.raises(UsageError, match="no timer 'tea' running"):
        script.run("timeout 1 tea")


def test_every_algorithm_has_a_mutant() -> None:
    """An algorithm that nobody has seen the checker refute may hold because nothing is looked at."""
    assert {m.card.name for m in MUTANTS} == {*algorithms.CATALOGUE, *algorithms.VARIANTS}


def test_every_promise_is_broken_by_some_mutant() -> None:
    assert {m.breaks for m in MUTANTS} == set(PROPERTIES)


def test_last_in_first_out_starves_with_a_lasso() -> None:
    """Two others hand the token to each other for ever, though every message arrives."""
    report = run(next(m for m in MUTANTS if m.name == "SuzukiKasamiLastInFirstOut"))
    assert report.loop is not None
    cycle = report.trace[report.loop :]
    entering = {step.site for step in cycle if step.enters}
    assert len(entering) == 2
    (starving,) = {0, 1, 2} - entering
    assert f"site {starving} waits for ever" in report.reason
    assert report.bypass_bound == "unbounded"
    assert "again and again" in text(report)


def test_an_endless_growth_is_told_from_a_large_space() -> None:
    """The growth report shows that there is no end to it."""
    endless = mutant(raymond_tree.CARD, RaymondAskedForgotten, "", 0)
    report = check(endless.card, 2, 1, limits=Limits(states=5_000))
    assert report.verdict == "incomplete"
    assert "growing still" in report.reason
    assert report.exit_code() == 3
