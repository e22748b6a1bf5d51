"""Every scheme of recovery without one of its rules is caught; with them it holds, and no timer runs out where nothing fails."""

from __future__ import annotations

from collections import Counter

import pytest

from soloist import algorithms
from soloist.algorithms import RECOVERY, find_any
from soloist.check import Limits, Report, check
from soloist.core import UsageError
from soloist.lab.recovery_checks import SAFETY, SEARCHES, SERVICE, Search
from soloist.sim import Saturated, Thinking
from soloist.sim.links import Constant, Uniform
from tests.algorithms.test_recovery import outcomes

from .mutants_recovery import CALM, NAIMI, WRONG, Wrong

LIMITS = Limits(states=200_000)
ALARMS = {"Search", "Probe", "Consult", "PrivilegeCheck", "TokenMissing", "Restart"}
"""What is said only where a failure is presumed."""


def reports(wrong: Wrong) -> list[Report]:
    if wrong.kind:
        mine = [s for s in SEARCHES if (s.algorithm, s.kind) == (wrong.card.name, wrong.kind)]
        return [search.run(wrong.card) for search in mine]
    judged = SAFETY if "timeouts" in wrong.network else SERVICE
    return [
        check(
            wrong.card,
            len(wrong.rounds),
            wrong.rounds,
            options=wrong.options,
            properties=judged,
            limits=LIMITS,
            **wrong.network,
        )
    ]


@pytest.mark.parametrize("wrong", [w for w in WRONG if not w.crashes], ids=lambda w: w.name)
def test_caught_in_every_order_of_events(wrong: Wrong) -> None:
    found = reports(wrong)
    assert found
    if wrong.breaks == "alarm":
        assert all(report.vacuity and ALARMS & set(report.vacuity.messages) for report in found)
    else:
        assert wrong.breaks in {report.property for report in found}


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.crashes], ids=lambda w: w.name)
def test_caught_in_simulated_runs(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it takes many sites, or several that act in one instant; with the rule all these runs are fine."""

    def found() -> Counter[str]:
        name, faults, nodes = wrong.card.name, wrong.crashes, wrong.nodes
        return outcomes(name, *faults, delay=Constant(0.001), workload=Saturated(), nodes=nodes) + outcomes(
            name, *faults, delay=Uniform(0.0, 0.001), workload=Thinking(100.0), nodes=nodes
        )

    assert set(found()) == {"fine"}
    monkeypatch.setitem(algorithms.RECOVERY, wrong.card.name, wrong.card)
    assert found()[wrong.breaks]


def test_every_scheme_has_mutants() -> None:
    assert {wrong.card.name for wrong in WRONG} == set(RECOVERY) == {search.algorithm for search in SEARCHES}


@pytest.mark.parametrize("name", RECOVERY)
def test_no_failure_is_presumed_where_none_is_and_waiting_is_not_in_vain(name: str) -> None:
    """Else a scheme would hide errors of the algorithm that it extends: whoever is forgotten is served by a recovery."""
    own = {"naimi-trehel-recovery": NAIMI, "nishio-recovery": {"last": ("T",)}, "raymond-tree-recovery": {}}
    network = own.get(name, CALM)
    report = check(find_any(name), 3, (2, 1, 1), properties=SERVICE, limits=LIMITS, **network)
    assert report.verdict == "holds"
    assert report.vacuity
    assert not ALARMS & set(report.vacuity.messages)


# Timers that are slow.


def test_a_timer_that_nobody_sets_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"unknown timer 'Trepy'.*Treply"):
        check(
            find_any("singhal-dynamic-recovery"), 2, 1, slow=("Trepy",), timeouts=2, properties=["exclusion"]
        )


def test_slow_timers_outlast_messages_and_the_last_ones_everything() -> None:
    """With free timers a site that is inside is taken for dead; with slow ones, its answer is waited for."""
    card = find_any("singhal-dynamic-recovery")
    rounds = (1, 1)
    free = check(card, 2, rounds, timeouts=2, properties=["exclusion"])
    assert (free.verdict, free.property) == ("violated", "exclusion")
    slow = check(card, 2, rounds, timeouts=2, properties=["exclusion"], slow=("all",))
    assert slow.verdict == "holds"
    assert slow.vacuity
    assert "Probe" in slow.vacuity.messages
    last = check(card, 2, rounds, properties=["exclusion"], slow=("Treply",), last=("T",))
    assert last.vacuity
    assert "Probe" in last.vacuity.messages_unreached


def test_the_command_of_a_search_is_that_search(capsys: pytest.CaptureFixture[str]) -> None:
    from soloist.cli import main

    search: Search = next(s for s in SEARCHES if s.algorithm == "singhal-dynamic-recovery")
    assert main(search.command.split()[1:]) == 0
    assert f"main search      {search.run().states} states" in capsys.readouterr().out
