"""What an entry costs when everybody always wants one."""

from __future__ import annotations

import pytest

from soloist.sim import Experiment, Result, Saturated, simulate
from soloist.sim.links import Constant, Network

T = 1.0


def heavy(name: str, nodes: int) -> Result:
    network = Network(Constant(T))
    return simulate(Experiment(name, nodes, workload=Saturated(), network=network, inside=T, entries=1000))


@pytest.mark.parametrize("nodes", [5, 10, 30])
def test_suzuki_kasami_costs_n(nodes: int) -> None:
    """Suzuki and Kasami 1985, section 2: N-1 REQUESTs and one PRIVILEGE."""
    assert heavy("suzuki-kasami", nodes).messages_per_entry.mean == nodes


@pytest.mark.parametrize("nodes", [5, 10, 30])
def test_raymond_costs_at_most_four(nodes: int) -> None:
    """Raymond 1989: about four messages per entry under heavy demand, whatever N is."""
    assert 3 < heavy("raymond-tree", nodes).messages_per_entry.mean <= 4


@pytest.mark.parametrize("name", ["ricart-agrawala", "lamport", "suzuki-kasami", "naimi-trehel"])
def test_the_next_one_enters_a_message_later(name: str) -> None:
    """Survey of 1993: the synchronisation delay of these four is T."""
    assert heavy(name, 10).sync_delay.mean == pytest.approx(T)


@pytest.mark.parametrize("name", ["ricart-agrawala", "lamport"])
def test_entries_follow_the_timestamps(name: str) -> None:
    """Lamport 1978, condition II; Ricart and Agrawala 1981, section on fairness."""
    assert heavy(name, 10).fairness.inversions == 0
