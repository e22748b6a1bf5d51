"""What is read from traces: causal order, and which requests crossed."""

from __future__ import annotations

import pytest

from soloist.core.trace import Step
from soloist.lab.history import CausalOrder, causal_order, concurrency, traced
from soloist.lab.sweep import Contender, experiment
from soloist.sim import Experiment, Listed, Thinking


def test_a_request_that_passes_one_it_knew_of_is_counted() -> None:
    """1 asks and tells 2, which then asks, too, and enters first."""
    message = object()
    steps = [
        Step("request", 1),
        Step("send", 1, peer=2, message=message),  # type: ignore[arg-type]
        Step("deliver", 2, peer=1, message=message),  # type: ignore[arg-type]
        Step("request", 2),
        Step("enter", 2),
        Step("exit", 2),
        Step("enter", 1),
    ]
    assert causal_order(steps) == CausalOrder(entries=2, passed=1)
    # In their order; and where 2 had not heard of 1, any order will do.
    in_order = [*steps[:4], Step("enter", 1), Step("exit", 1), Step("enter", 2)]
    assert causal_order(in_order) == CausalOrder(2, 0)
    unheard = [steps[0], steps[1], steps[3], steps[2], *steps[4:]]
    assert causal_order(unheard) == CausalOrder(2, 0)


def test_news_travels_through_others() -> None:
    """1 tells 2, and 2 tells 3."""
    first, second = object(), object()
    steps = [
        Step("request", 1),
        Step("send", 1, peer=2, message=first),  # type: ignore[arg-type]
        Step("deliver", 2, peer=1, message=first),  # type: ignore[arg-type]
        Step("send", 2, peer=3, message=second),  # type: ignore[arg-type]
        Step("deliver", 3, peer=2, message=second),  # type: ignore[arg-type]
        Step("request", 3),
        Step("enter", 3),
    ]
    assert causal_order(steps).passed == 1


def test_what_the_card_promises_is_what_the_trace_shows() -> None:
    """Lamport serves by timestamp, so in causal order, too; Suzuki and Kasami do not."""
    wild = {"nodes": 6, "rate": 1.0, "latency": "exponential:1", "inside": 0.5, "entries": 300}
    assert causal_order(traced(experiment(Contender("lamport"), wild))).passed == 0
    assert causal_order(traced(experiment(Contender("naimi-thiare"), wild))).passed == 0
    assert causal_order(traced(experiment(Contender("suzuki-kasami"), wild))).passed > 0


@pytest.mark.parametrize(("together", "messages"), [(1, 4), (2, 3 + 4), (3, 8)])
def test_requests_made_at_once_are_concurrent(together: int, messages: int) -> None:
    """Lodha and Kshemkalyani 2000, section 3.4.1: three at once cost 8 messages; section 4.1 for the others."""
    at_once = Listed(tuple((0.0, site) for site in range(together)))
    served = concurrency(traced(Experiment("lodha-kshemkalyani", nodes=3, workload=at_once)))
    assert [each.concurrent for each in served] == [together - 1] * together
    assert sum(each.messages for each in served) == messages


def test_requests_far_apart_are_not() -> None:
    run = Experiment("lodha-kshemkalyani", nodes=3, workload=Thinking(0.001), entries=50)
    assert {(each.concurrent, each.messages) for each in concurrency(traced(run))} == {(0, 4)}
