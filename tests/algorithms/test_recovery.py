"""Recovery as published: nobody is unsafe or left behind after a crash, and what is printed fails as it says."""

from __future__ import annotations

from collections import Counter

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, find, find_any
from soloist.algorithms.printed import (
    PRINTED,
    RECOVERY_ERRATA,
    RECOVERY_PRINTED,
    RECOVERY_SLIPS,
    Erratum,
    find_printed,
)
from soloist.check import Report, check
from soloist.cli import main
from soloist.core import PropertyViolated, UsageError
from soloist.lab.refute import refute
from soloist.net import Node
from soloist.sim import Experiment, Saturated, Thinking, simulate
from soloist.sim.experiment import run
from soloist.sim.faults import faults
from soloist.sim.links import Constant, Delay, Network, Uniform
from soloist.sim.script import Script
from soloist.sim.workload import Workload

CRASH = {"nishio-recovery": "crash=any@0..0.3+0.05", "raymond-tree-recovery": "crash-new=any@0..0.3+0.05"}
"""The crash that each is made for, where that is not one for ever: Nishio's controllers keep the state, Raymond's sites lose it."""
SEEDS = 25
LINKS = Constant(0.001)


def outcomes(
    name: str, *texts: str, delay: Delay = LINKS, seeds: int = SEEDS, nodes: int = 5, **more: object
) -> Counter[str]:
    """How so many runs end, by the promise that was broken."""
    given: dict[str, object] = {"workload": Thinking(100.0), "entries": 150, "warmup": 0, **more}
    network = Network(delay, fifo=find_any(name).channels == "fifo")
    experiment = Experiment(name, nodes, network=network, faults=faults(texts), **given)  # type: ignore[arg-type]
    found: Counter[str] = Counter()
    for seed in range(1, seeds + 1):
        try:
            run(experiment, seed)
            found["fine"] += 1
        except PropertyViolated as error:
            found[error.property] += 1
    return found


# After a crash.


@pytest.mark.parametrize("delay", [Constant(0.001), Uniform(0.0, 0.001)], ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("name", RECOVERY)
def test_one_crash_leaves_nobody_unsafe_and_nobody_waiting(name: str, delay: Delay) -> None:
    assert outcomes(name, CRASH.get(name, "crash=any@0..0.3"), delay=delay) == {"fine": SEEDS}


@pytest.mark.soak
@pytest.mark.parametrize("name", RECOVERY)
def test_five_hundred_crashes(name: str) -> None:
    crash = CRASH.get(name, "crash=any@0..0.3")
    assert outcomes(name, crash, delay=Uniform(0.0, 0.001), seeds=500) == {"fine": 500}


@pytest.mark.parametrize("name", RECOVERY)
def test_the_crash_of_a_site_with_the_token_is_recovered_from(name: str) -> None:
    """Saturated, and site 0 stops inside (or, where there is no token, holds a permission)."""
    crash = CRASH.get(name, "crash=any@0..0.3").replace("any@0..0.3", "0@0.0005")
    result = simulate(Experiment(name, 5, workload=Saturated(), entries=100, faults=faults([crash])))
    assert result.entries >= 99


@pytest.mark.parametrize(
    "name", ["agrawal-el-abbadi-recovery", "naimi-trehel-recovery", "singhal-dynamic-recovery"]
)
def test_more_than_one_crash(name: str) -> None:
    """Sites 1 and 3 of a tree of seven: then site 4 is left out again, having been asked, and must not keep its grant."""
    found = outcomes(name, "crash=1@0..0.05", "crash=3@0..0.05", delay=Uniform(0.0, 0.001), nodes=7)
    assert found == {"fine": SEEDS}


@pytest.mark.parametrize("workload", [Thinking(100.0), Saturated()], ids=lambda w: type(w).__name__)
@pytest.mark.parametrize("name", [name for name in RECOVERY if name != "raymond-tree-recovery"])
def test_a_failure_that_is_presumed_too_soon_does_no_harm(name: str, workload: Workload) -> None:
    """As long as answers are waited for as they should be."""
    patience = "Twait" if name == "naimi-trehel-recovery" else "T"
    crash = CRASH.get(name, "crash=any@0..0.1").replace("0.3", "0.1")
    for soon in (
        (0.005,) if name in ("nishio-recovery", "helary-plouzeau-raynal-recovery") else (0.0005, 0.002)
    ):
        for fault in ("loss=0", crash):
            found = outcomes(
                name, fault, delay=Uniform(0.0, 0.001), options={patience: soon}, workload=workload, entries=100
            )  # fmt: skip
            assert found == {"fine": SEEDS}


def test_a_question_that_comes_while_another_is_open_is_asked_next() -> None:
    """Site 2 dies as the owner of the grant of site 0, and whenever site 0 is asked about it, it waits for answers itself."""
    experiment = Experiment(
        "agrawal-el-abbadi-recovery", 5, workload=Thinking(100.0), entries=250, warmup=0, faults=faults(["crash=any@0..0.5"])
    )  # fmt: skip
    assert run(experiment, 352).faults["crash"] == 1


@pytest.mark.parametrize("name", RECOVERY)
def test_without_a_fault_it_is_the_algorithm_that_it_extends(name: str) -> None:
    card = find_any(name)
    result = simulate(Experiment(name, 5, workload=Thinking(0.1), entries=500))
    assert card.light is not None
    assert result.messages_per_entry.mean == pytest.approx(card.light(card.size(5)), rel=0.1)


def test_nishio_needs_no_clock_for_safety_and_lost_messages_do_not_stop_it() -> None:
    found = outcomes("nishio-recovery", "loss=0.01", delay=Uniform(0.0, 0.002), options={"T": 0.005})
    assert found == {"fine": SEEDS}


def test_where_safety_rests_on_time_a_short_time_is_unsafe() -> None:
    hasty = {"Twait": 0.0005, "Telec": 0.0005}
    found = outcomes("naimi-trehel-recovery", "loss=0", delay=Uniform(0.0, 0.001), options=hasty)
    assert found["fine"] < SEEDS
    assert found["exclusion"]


def test_a_crash_that_cuts_the_network_makes_two_tokens_where_sites_know_their_neighbours_only() -> None:
    """The page of helary-plouzeau-raynal-recovery says so: site 1 is the middle of a line."""
    report = check(
        find_any("helary-plouzeau-raynal-recovery"), nodes=3, rounds=(1, 0, 1), crashes=1, options={"topology": "line"},
        slow=("Treply",), last=("T",), properties=["exclusion"],
    )  # fmt: skip
    assert (report.verdict, report.property) == ("violated", "exclusion")
    assert any(step.action == "crash" and step.site == 1 for step in report.trace)


# As printed.


def test_in_the_words_of_the_survey_a_request_may_die_with_a_crashed_site() -> None:
    assert outcomes("naimi-trehel-recovery", "crash=any@0..0.3", printed=True)["service"]


INCARNATIONS = {
    # Site 2 has made a token while the first was on its way to site 1, and has passed it on to site 0. Site 1 makes a third one, when at last the first
    # one comes: it is not the one that the third is to replace. All this fits into one delay, if T is short.
    "what was replaced is not taken": (
        "acquire 1; deliver 1>0; acquire 2; acquire 0; deliver 0>2 Request(n=0); timeout 2 T; "
        "deliver 2>0 PrivilegeCheck(); deliver 2>1 PrivilegeCheck(); deliver 0>2; "
        "deliver 1>2 NoCrit(inc=0); deliver 2>0 CreatePrivilege(inc=1); "
        "deliver 2>1 CreatePrivilege(inc=1); deliver 0>2; deliver 1>2 Update; release 2; "
        "deliver 2>1 Recovered(inc=1); timeout 1 T; deliver 1>0; deliver 1>2 PrivilegeCheck(); "
        "deliver 0>1 NoCrit(inc=1); deliver 2>1 NoCrit(inc=1); deliver 0>1 Privilege; "
        "deliver 2>0 Privilege",
        [0],
    ),
    # Site 0 has promised to wait for the token of site 1, which is not made since site 2 had the old one: it is the new one from now on.
    "a holder that refuses raises its token": (
        "acquire 2; deliver 2>0; acquire 1; acquire 0; deliver 0>2 Request; timeout 1 T; "
        "deliver 1>0 PrivilegeCheck; deliver 1>2 PrivilegeCheck; deliver 0>1 NoCrit; deliver 2>1 NoCrit; "
        "deliver 1>0 CreatePrivilege; deliver 0>2 Privilege; deliver 1>2 CreatePrivilege; release 2; "
        "deliver 2>0 Privilege",
        [0],
    ),
    "so does who is about to make one when it comes": (
        "acquire 1; deliver 1>0; timeout 1 T; deliver 1>0; deliver 1>2 PrivilegeCheck; "
        "deliver 0>1 NoCrit; deliver 2>1 NoCrit; deliver 1>0 CreatePrivilege; deliver 0>1 Privilege; "
        "acquire 0; deliver 0>1 Request; release 1; deliver 1>0 Privilege",
        [0],
    ),
    # Site 2 has died with the promise of site 0, of which site 1 learns by its NO_CRIT.
    "a new token is above all that was promised": (
        "acquire 2; deliver 2>0; timeout 2 T; deliver 2>0; deliver 2>1 PrivilegeCheck; "
        "deliver 0>2 NoCrit; deliver 1>2 NoCrit; deliver 2>0 CreatePrivilege; crash 2; acquire 1; "
        "timeout 1 T; timeout 1 T; deliver 1>0 PrivilegeCheck; deliver 0>1 NoCrit; timeout 1 Treply; "
        "deliver 1>0 CreatePrivilege; deliver 0>1 Update",
        [1],
    ),
    "an older token of Nishio is raised by a holder that says NACK": (
        "acquire 0; acquire 1; acquire 2; timeout 1 T; deliver 1>2 TokenMissing; deliver 1>0 TokenMissing; "
        "deliver 2>0 Request; release 0; deliver 0>2 Token",
        [2],
    ),
    "and by a proposer that it reaches": (
        "acquire 1; deliver 1>0; timeout 1 T; deliver 1>0; deliver 0>1 Token; "
        "acquire 0; deliver 0>1 Request; release 1; deliver 1>0 Token",
        [0],
    ),
}


@pytest.mark.parametrize(("steps", "inside"), INCARNATIONS.values(), ids=INCARNATIONS)
def test_old_tokens_are_told_from_new_ones(steps: str, inside: list[int]) -> None:
    script = Script()
    name = "nishio-recovery" if "Token" in steps else "mishra-srimani-recovery"
    for command in (f"start {name} nodes=3", *steps.split("; ")):
        said = script.run(command)
    assert any("enter" in line for line in said), "the last step lets somebody in"
    assert [site for site in range(3) if script.ports[site].inside] == inside


def test_in_the_words_of_the_survey_two_tokens_may_be_about() -> None:
    hasty = {"T": 0.0005}
    links = Uniform(0.0, 0.001)
    assert outcomes("mishra-srimani-recovery", "loss=0", delay=links, options=hasty) == {"fine": SEEDS}
    assert outcomes("mishra-srimani-recovery", "loss=0", delay=links, options=hasty, printed=True)[
        "exclusion"
    ]


@pytest.mark.parametrize("erratum", RECOVERY_ERRATA, ids=lambda e: f"{e.algorithm}-{e.code}")
def test_an_erratum_fails_as_it_says_and_its_repair_does_not(erratum: Erratum) -> None:
    report = refute(erratum)
    assert (report.verdict, report.property) == ("violated", erratum.breaks)
    repaired = check(
        find_any(erratum.algorithm),
        nodes=erratum.nodes,
        rounds=erratum.rounds,
        properties=erratum.properties,
        timeouts=erratum.timeouts,
    )
    assert repaired.verdict == "holds"


# In every order.


def test_nishio_is_safe_in_every_order_of_events_with_a_crash_and_a_return() -> None:
    report = check(
        find_any("nishio-recovery"), nodes=2, rounds=1, crashes=1, restart="snapshot", timeouts=2,
        properties=["exclusion", "error", "deadlock"],
    )  # fmt: skip
    assert report.verdict == "holds"
    assert report.vacuity
    assert set(report.vacuity.messages) == {"Ack", "Nack", "Request", "Token", "TokenMissing"}


@pytest.mark.parametrize("restart", ["fresh", "snapshot"])
@pytest.mark.parametrize("topology", ["line", "tree"])
def test_raymond_comes_back_in_every_order_of_events_if_links_are_fifo(topology: str, restart: str) -> None:
    def judged(channels: str) -> Report:
        return check(
            find_any("raymond-tree-recovery"), nodes=3, rounds=1, crashes=1, restart=restart, channels=channels,
            options={"topology": topology}, properties=["exclusion", "error", "livelock"],
        )  # fmt: skip

    assert judged("fifo").verdict == "holds"
    assert judged("any").verdict == "violated"


def test_quorums_are_chosen_anew_in_every_order_of_events() -> None:
    """One timer that runs out tells nobody dead; a second one does."""
    card = find_any("agrawal-el-abbadi-recovery")
    report = check(card, nodes=3, rounds=(1, 1, 0), crashes=1, timeouts=1, properties=["exclusion", "error"])
    assert report.verdict == "holds"


@pytest.mark.parametrize(
    "name", [name for name in RECOVERY if name not in ("nishio-recovery", "raymond-tree-recovery")]
)
def test_with_timers_that_run_out_whenever_they_like_the_others_are_not(name: str) -> None:
    report = check(find_any(name), nodes=3, rounds=(1, 1, 0), crashes=1, properties=["exclusion"])
    assert (report.verdict, report.property) == ("violated", "exclusion")
    assert any(step.timer for step in report.trace)


def test_with_timers_that_stop_running_out_liveness_is_not_judged() -> None:
    card = find_any("nishio-recovery")
    assert "livelock" not in check(card, nodes=2, rounds=1, timeouts=1).properties
    with pytest.raises(UsageError, match="livelock cannot be judged where timers stop running out"):
        check(card, nodes=2, rounds=1, timeouts=1, properties=["livelock"])


# A group of their own.


def test_they_are_kept_apart_from_the_catalogue() -> None:
    assert not set(RECOVERY) & set(CATALOGUE)
    assert set(RECOVERY_PRINTED) <= set(RECOVERY)
    assert not set(RECOVERY_PRINTED) & set(PRINTED)
    assert {each.algorithm for each in (*RECOVERY_ERRATA, *RECOVERY_SLIPS)} == set(RECOVERY_PRINTED)
    for name, card in RECOVERY.items():
        assert card.name == name
        assert find_any(name) is card
    for name in RECOVERY_PRINTED:
        assert find_printed(name).process is not RECOVERY[name].process


def test_locks_refuse_them_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"nishio-recovery is for `simulate`, .* take nishio$"):
        find("nishio-recovery")
    with pytest.raises(UsageError, match="nishio-recovery is for `simulate`"):
        Node("a", peers={"a": "127.0.0.1:0"}, algorithm="nishio-recovery")


def test_the_command_lists_them_after_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    first, _, second = capsys.readouterr().out.partition("With recovery")
    assert all(name in second and name not in first for name in RECOVERY)


@pytest.mark.parametrize("value", ["0", "-1", "x", "inf", "nan"])
def test_a_time_that_makes_no_sense(value: str) -> None:
    with pytest.raises(UsageError, match=r"T must be a time above 0, such as 0\.02, not "):
        find_any("nishio-recovery").size(3, 1, {"T": value})
