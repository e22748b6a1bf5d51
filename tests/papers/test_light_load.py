"""What an entry costs when requests are rare: the papers' formulas, within the confidence interval.

Each site asks with rate 0.001 and a message takes 0.001, so that requests hardly ever meet. One interval in twenty misses
by chance, and all tests here share their requests (same seeds, same think times), so they miss together.
"""

from __future__ import annotations

import pytest

from soloist.algorithms.naimi_trehel import harmonic
from soloist.sim import Experiment, Result, Thinking, simulate
from soloist.structures.trees import tree

SIZES = (10, 30)


def light(name: str, nodes: int, entries: int = 4000, **options: str) -> Result:
    return simulate(
        Experiment(
            name, nodes, options=options, workload=Thinking(0.001), entries=entries, replications=10, seed=11
        ),
        jobs=2,
    )


def assert_costs(result: Result, theory: float) -> None:
    low, high = result.messages_per_entry.ci95 or (0, 0)
    assert low <= theory <= high, f"{theory} is not in [{low}, {high}], seeds 11 to 20"
    assert high - low < 0.04 * theory, "an interval so wide proves nothing"


@pytest.mark.parametrize("nodes", SIZES)
def test_naimi_trehel_costs_a_harmonic_number(nodes: int) -> None:
    """Naimi and Trehel 1987: O(log N) on average, exactly H(N-1) with the token included
    (survey of 1993, token-based algorithms)."""
    assert_costs(light("naimi-trehel", nodes), harmonic(nodes - 1))


@pytest.mark.parametrize("topology", ["line", "star", "tree"])
@pytest.mark.parametrize("nodes", SIZES)
def test_raymond_costs_twice_the_mean_distance(nodes: int, topology: str) -> None:
    """Raymond 1989: a REQUEST and a PRIVILEGE on each edge between the asker and the token."""
    result = light("raymond-tree", nodes, topology=topology)
    assert_costs(result, 2 * tree(topology, nodes).mean_distance)


@pytest.mark.parametrize("nodes", SIZES)
def test_suzuki_kasami_costs_n_unless_the_token_is_here(nodes: int) -> None:
    """Suzuki and Kasami 1985, section 2: N messages, or none. The asker has the token with
    probability 1/N, which leaves N-1 on average."""
    assert_costs(light("suzuki-kasami", nodes), nodes - 1)


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize(("name", "factor"), [("ricart-agrawala", 2), ("lamport", 3)])
def test_permission_based_algorithms_always_cost_the_same(name: str, factor: int, nodes: int) -> None:
    """Ricart and Agrawala 1981: 2(N-1) exactly. Lamport 1978: 3(N-1) exactly."""
    result = light(name, nodes, entries=400)
    assert result.messages == factor * (nodes - 1) * result.entries
