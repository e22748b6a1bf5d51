"""Suzuki and Kasami 1985: what an entry costs, counted entry by entry."""

from __future__ import annotations

from collections import Counter

import pytest

from soloist.algorithms import find
from soloist.sim import Experiment, Saturated, Thinking
from soloist.sim.experiment import run
from soloist.sim.script import Script


@pytest.mark.parametrize("nodes", [2, 5, 10])
def test_algorithm_a_costs_nothing_or_n(nodes: int) -> None:
    """Section 2: N-1 REQUESTs and one PRIVILEGE, or nothing for the node that has the privilege."""
    costs = run(Experiment("suzuki-kasami", nodes, workload=Thinking(0.001), entries=1000), seed=1).cost
    assert set(costs) == {0, nodes}
    assert costs.count(0) / len(costs) == pytest.approx(1 / nodes, abs=0.06)


@pytest.mark.parametrize("nodes", [2, 5, 10])
def test_algorithm_a_costs_n_where_everybody_asks(nodes: int) -> None:
    """Section 2: at most N for an invocation, and that exactly as long as the holder is never alone."""
    experiment = Experiment("suzuki-kasami", nodes, workload=Saturated(), inside=0.01, entries=1000)
    assert set(run(experiment, seed=1).cost) == {nodes}


def entries_by_turns(name: str, nodes: int, turns: int, **options: int) -> tuple[Counter[str], set[int]]:
    """Every site enters so many times, one after the other and always on request: the messages by kind, and
    all request numbers."""
    given = " ".join(f"{key}={value}" for key, value in options.items())
    script = Script()
    script.run(f"start {name} nodes={nodes} {given}")
    sent: Counter[str] = Counter()
    numbers: set[int] = set()

    def deliver_all() -> None:
        while script.flights:
            message = script.flights[0].message
            sent[type(message).__name__] += 1
            numbers.add(getattr(message, "n", 0))
            script.run(f"deliver {script.flights[0]}")

    for _ in range(turns):
        for site in (*range(1, nodes), 0):
            script.run(f"acquire {site}")
            deliver_all()
            script.run(f"release {site}")
            deliver_all()
    return sent, numbers


@pytest.mark.parametrize("L", [2, 3, 5])
@pytest.mark.parametrize("nodes", [2, 4, 7])
def test_algorithm_b_costs_ln_and_n_minus_1_for_l_entries_of_a_node(nodes: int, L: int) -> None:
    """Section 3: L*N + (N-1) messages for L invocations by a single node."""
    sent, numbers = entries_by_turns("suzuki-kasami-bounded", nodes, turns=2 * L, L=L)
    rounds = 2 * nodes
    assert sent == {
        "Request": rounds * L * (nodes - 1),
        "Privilege": rounds * L,
        "Reply": rounds * (nodes - 1),
    }
    assert sent.total() == rounds * (L * nodes + (nodes - 1))
    assert max(numbers) == 2 * L - 1, "bounded, as promised; the paper has L-1 (erratum B2)"


def test_algorithm_b_costs_n_and_n_minus_1_over_l_on_average() -> None:
    """Section 3: N + (N-1)/L for an invocation, which comes near N as L grows."""
    means = []
    for L in (2, 4, 10):
        experiment = Experiment(
            "suzuki-kasami-bounded", 10, workload=Saturated(), inside=0.01, options={"L": L}
        )
        cost = run(experiment, seed=1).cost
        means.append(sum(cost) / len(cost))
        assert means[-1] == pytest.approx(10 + 9 / L, rel=0.01)
    assert means == sorted(means, reverse=True)


def test_l_is_at_least_two() -> None:
    """Section 3: L >= 2 is a fixed integer."""
    with pytest.raises(ValueError, match="L must be at least 2"):
        find("suzuki-kasami-bounded").size(3, options={"L": 1})


def test_mishra_and_srimani_cost_the_same() -> None:
    """Survey of 1993: L*N + (N-1) in the absence of failures."""
    ours, _ = entries_by_turns("mishra-srimani", 4, turns=4, L=2)
    assert ours == entries_by_turns("suzuki-kasami-bounded", 4, turns=4, L=2)[0]
