"""Faults in the simulator: their grammar, what they do, and what is said after them."""

from __future__ import annotations

import msgspec
import pytest

from soloist.core import PropertyViolated, UsageError
from soloist.core.trace import Recorder
from soloist.sim import Experiment, Result, Saturated, Thinking, listed, simulate
from soloist.sim.faults import FORMS, Fault, fault, faults
from soloist.sim.links import Constant, Exponential, Network


def run(
    name: str, *texts: str, requests: str = "", nodes: int = 3, **more: object
) -> tuple[Result, list[str]]:
    """A run over links of delay 1 with 1 inside, and its trace."""
    given: dict[str, object] = {
        "workload": listed(requests) if requests else Thinking(0.2),
        "network": Network(Constant(1.0), fifo=True),
        "inside": 1.0,
        "entries": 100,
        **more,
    }
    recorder = Recorder()
    result = simulate(Experiment(name, nodes, faults=faults(texts), **given), recorder=recorder)  # type: ignore[arg-type]
    return result, [" ".join(line.split()) for line in recorder.lines()]


# The grammar.


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("crash=2@10", Fault("crash", 2, 10, 10)),
        ("crash=any@0..20+5", Fault("crash", None, 0, 20, 5)),
        ("crash-new=2@1+5ms", Fault("crash-new", 2, 1, 1, 0.005)),
        ("restart=2@20", Fault("restart", 2, 20, 20)),
        ("restart-new=2@20", Fault("restart-new", 2, 20, 20)),
        ("pause=1@5+3", Fault("pause", 1, 5, 5, 3)),
        ("partition=0,1|2@10+5", Fault("partition", None, 10, 10, 5, sides=((0, 1), (2,)))),
        ("partition=0>1,2@10", Fault("partition", None, 10, 10, sides=((0,), (1, 2)), one_way=True)),
        ("loss=0.01", Fault("loss", amount=0.01)),
        ("reorder=0.5+3", Fault("reorder", amount=0.5, lasting=3)),
        ("crash-rate=2", Fault("crash-rate", amount=2)),
        ("pause-rate=0.1+1", Fault("pause-rate", amount=0.1, lasting=1)),
    ],
)
def test_faults_as_written(text: str, read: Fault) -> None:
    assert fault(text) == msgspec.structs.replace(read, text=text)


@pytest.mark.parametrize("kind", FORMS)
def test_each_kind_says_how_it_should_read_and_reads_so(kind: str) -> None:
    with pytest.raises(UsageError, match=f"fault '{kind}=x' should read {kind}="):
        fault(f"{kind}=x")
    assert fault(FORMS[kind].rpartition("such as ")[2]).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "crash", "crash=1", "crash=-1@2", "crash=1@-2", "crash=1@5..2", "crash-new=1@2", "restart=1@2+3", "pause=1@2",
        "loss=1.5", "loss=-1", "loss=nan", "loss=0.1+2", "crash-rate=inf", "partition=0,1@3", "partition=0|0@3",
        "partition=0>1>2@3", "pause-rate=1", "reorder=",
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="should read"):
        fault(text)


def test_other_bad_input() -> None:
    with pytest.raises(UsageError, match="unknown fault 'crsh'; did you mean crash"):
        fault("crsh=1@2")
    with pytest.raises(UsageError, match="loss is given twice"):
        faults(["loss=0.1", "loss=0.2"])
    with pytest.raises(UsageError, match=r"'partition=0\|3@1' names site 3; sites are 0 to 2"):
        Experiment("lamport", 3, faults=faults(["partition=0|3@1"]))


# Nothing happens, or the same.


@pytest.mark.parametrize("name", ["lamport", "naimi-trehel", "maekawa", "token-ring", "raymond-k"])
@pytest.mark.parametrize("network", [Network(Constant(0.5)), Network(Exponential(0.5), True, 0.1, 0.1)])
def test_faults_that_never_happen_change_nothing(name: str, network: Network) -> None:
    calm = Experiment(name, 5, workload=Thinking(0.3), network=network, entries=200)
    shaken = msgspec.structs.replace(
        calm, faults=faults(["loss=0", "crash=1@1e9", "duplicate=0", "reorder=0"])
    )
    first, second = simulate(calm), simulate(shaken)
    assert second.faults == {}
    assert msgspec.structs.replace(second, wall_seconds=0.0, faults=msgspec.UNSET) == msgspec.structs.replace(
        first, wall_seconds=0.0
    )


def test_one_seed_is_one_run_with_faults_too() -> None:
    shaken = ("crash=1@1e9", "pause-rate=0.05+2", "reorder=0.1+2")
    first, again, other = (run("ricart-agrawala", *shaken, nodes=2, seed=seed) for seed in (1, 1, 2))
    assert first[1] == again[1] != other[1]
    assert set(first[0].faults) >= {"pause", "reorder"}  # type: ignore[arg-type]


# Crashes and returns.


def test_a_crashed_site_is_not_inside_and_mail_for_it_is_lost() -> None:
    """Site 1 has the token from time 2 on and dies with it: nobody else gets in."""
    with pytest.raises(
        PropertyViolated, match=r"sites 2 still wait .* nothing is on its way; before it: 1 crash at time 2.5"
    ):
        run("naimi-trehel", "crash=1@2.5", requests="1@0,2@5")


def test_a_site_that_does_not_matter_may_crash() -> None:
    result, trace = run("naimi-trehel", "crash=2@0.5", requests="1@0,1@10,2@20")
    assert result.entries == 2
    assert result.faults == {"crash": 1}
    assert "0.500000 2 crash" in trace
    assert not any(line.startswith("20.") for line in trace)


def test_back_as_it_was_it_is_still_inside() -> None:
    result, trace = run("naimi-trehel", "crash=1@2.5", "restart=1@8", requests="1@0,2@8")
    assert result.entries == 2
    assert [line for line in trace if line.endswith((" exit", "restart"))] == [
        "8.000000 1 restart", "9.000000 1 exit", "12.000000 2 exit",
    ]  # fmt: skip


def test_back_as_it_was_beside_another_it_is_one_too_many() -> None:
    """With its arbiter forgetful, site 0 of `central` lets in a second one meanwhile."""
    shaken = ("crash=1@2.5+4", "crash-new=0@2.6+0.1")
    with pytest.raises(
        PropertyViolated, match=r"sites 1, 2 are inside together at time 6\.5; before it: 1 restart"
    ) as error:
        run("central", *shaken, requests="1@0,2@3", inside=9.0)
    assert error.value.property == "exclusion"


def test_back_as_new_it_has_forgotten_its_request_and_asks_when_it_is_time() -> None:
    result, trace = run("ricart-agrawala", "crash-new=2@0.5+1", requests="2@0,2@4")
    assert (result.entries, result.faults) == (1, {"crash": 1, "lose": 2, "restart": 1})
    assert "1.500000 2 restart as new" in trace


def test_a_request_whose_time_comes_while_the_site_is_down_is_made_on_return() -> None:
    _, trace = run("naimi-trehel", "crash=2@1+9", requests="2@5")
    assert "10.000000 2 request" in trace


# Pauses.


def test_a_paused_site_does_later_what_was_due() -> None:
    _, trace = run("naimi-trehel", "pause=0@0.5+3", "pause=1@5+4", requests="1@0")
    assert trace == [
        "0.000000 1 request", "0.000000 1 -> 0 Request(i=1)", "0.500000 0 pause until 3.5", "3.500000 0 <- 1 Request(i=1)",
        "3.500000 0 -> 1 Token()", "4.500000 1 <- 0 Token()", "4.500000 1 enter", "5.000000 1 pause until 9.0", "9.000000 1 exit",
    ]  # fmt: skip


# Links.


def test_a_partition_loses_what_leaves_and_what_arrives_and_one_way_only_that() -> None:
    for cut, works in (("0|1", False), ("0>1", False), ("1>0", False), ("0|2", True), ("2>0", True)):
        if works:
            run("naimi-trehel", f"partition={cut}@0.5+9", requests="1@0")
        else:
            with pytest.raises(PropertyViolated, match=r"before it: partition"):
                run("naimi-trehel", f"partition={cut}@0.5", requests="1@0")
    result, _ = run("naimi-trehel", "partition=0|1@0.5+0.3", requests="1@0")  # healed before the arrival
    assert result.faults == {"heal": 1, "partition": 1}


def test_a_lost_message_is_named() -> None:
    with pytest.raises(PropertyViolated, match=r"before it: 1 -> 0 lose Request\(i=1\) at time 0 "):
        run("naimi-trehel", "loss=1", requests="1@0")


def test_a_token_that_comes_twice_is_noticed() -> None:
    with pytest.raises(PropertyViolated) as error:
        run("naimi-trehel", "duplicate=1", requests="1@0,2@0")
    assert "before it: " in str(error.value)


def test_what_is_put_out_of_order_arrives_late() -> None:
    with pytest.raises(PropertyViolated, match=r"before it: \d -> \d reorder"):
        run("lamport", "reorder=0.3+9", workload=Saturated(), entries=2000)


def test_shares_are_about_what_was_asked_for() -> None:
    result, _ = run("suzuki-kasami", "reorder=0.25", entries=2000, network=Network(Constant(0.1)))
    assert isinstance(result.faults, dict)
    assert 0.22 < result.faults["reorder"] / result.messages < 0.31


# Those who wait for ever.


def test_a_lost_token_ends_a_run() -> None:
    with pytest.raises(PropertyViolated, match="nothing is on its way"):
        run("token-ring", "crash=any@5..30", workload=Saturated(), entries=1000)


def test_rates_do_not_keep_a_dead_run_alive() -> None:
    with pytest.raises(PropertyViolated, match="still wait"):
        run("naimi-trehel", "crash=1@2.5", "pause-rate=1+0.1", requests="1@0,2@5")


def test_requests_of_the_dead_do_not_count() -> None:
    result, _ = run("ricart-agrawala", "crash=0@0.5", requests="0@0", nodes=1)
    assert result.entries == 1  # it had entered
    with pytest.raises(PropertyViolated, match="none of the requests that count was served"):
        run("ricart-agrawala", "crash=0@0.5", requests="0@1", nodes=1)
