"""What an entry costs where K sites may be inside: the bounds of the papers and of the survey of 1993, Table 3.

Messages are charged to the request that caused them, and a late one may be charged to a neighbour: hence
the margin of a few messages in all.
"""

from __future__ import annotations

from typing import Any

import pytest

from soloist.algorithms import find
from soloist.algorithms.naimi_trehel import harmonic
from soloist.core import Outbox, Port
from soloist.sim import Experiment, Listed, Result, Saturated, Thinking, simulate
from soloist.sim.links import Exponential, Network
from soloist.sim.workload import listed
from soloist.structures.quorums import Quorums

N, ENTRIES = 12, 1500
MARGIN = N / ENTRIES
T = 0.001


def run(name: str, k: int, load: Thinking | Saturated | Listed, nodes: int = N, **options: Any) -> Result:
    network = Network(Exponential(T), fifo=find(name).channels == "fifo")
    return simulate(
        Experiment(name, nodes, k, options=options, workload=load, network=network, inside=T, entries=ENTRIES)
    )


def light(name: str, k: int, nodes: int = N, **options: Any) -> float:
    return run(name, k, Thinking(0.001), nodes, **options).messages_per_entry.mean


def heavy(name: str, k: int, nodes: int = N, **options: Any) -> float:
    return run(name, k, Saturated(), nodes, **options).messages_per_entry.mean


def one(name: str, k: int, site: int, nodes: int = N) -> int:
    """Messages of a single request in an idle system."""
    return run(name, k, listed(f"{site}@0"), nodes).messages


@pytest.mark.parametrize("k", [1, 2, 3])
def test_raymond_costs_2n_k_1_to_2n_2(k: int) -> None:
    """Raymond 1989 (survey, section 6; Bulgannawar and Vaidya, section 4): 2N-K-1 if K-1 late replies are
    merged with others each time, 2(N-1) if none is."""
    assert one("raymond-k", k, 5) == 2 * (N - 1)
    assert light("raymond-k", k) == pytest.approx(2 * (N - 1), abs=MARGIN)
    assert 2 * N - k - 1 - MARGIN <= heavy("raymond-k", k) <= 2 * (N - 1) + MARGIN


def test_raymonds_messages_have_four_words() -> None:
    """Bulgannawar and Vaidya, Fig. 5: a horizontal line."""
    assert run("raymond-k", 3, Saturated()).words_per_message == 4


@pytest.mark.parametrize("k", [1, 2, 3])
def test_srimani_reddy_costs_nothing_or_n_to_n_k_1(k: int) -> None:
    """Survey, Table 3: 0 or N+K-1, which is N-1 requests and a token from every site that has one idle."""
    assert one("srimani-reddy", k, 0) == 0
    assert one("srimani-reddy", k, N - 1) == N - 1 + k
    assert N - 1 <= heavy("srimani-reddy", k) <= N + k - 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_srimani_reddy_is_near_n_1(k: int) -> None:
    """Bulgannawar and Vaidya, section 4: close to N-1 on average."""
    assert light("srimani-reddy", k) == pytest.approx(N - 1, rel=0.06)


@pytest.mark.parametrize("L", [1, 2, 5])
def test_bounded_numbers_cost_n_1_acks_every_l_requests(L: int) -> None:
    """Survey, section 6: N+K-1 'if L is a very large integer'."""
    result = run("srimani-reddy", 2, Thinking(0.001), L=L)
    assert result.by_kind["Ack"] == pytest.approx(result.by_kind["Request"] / L, rel=0.05)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_makki_needs_many_messages_at_light_load_and_about_three_at_heavy(k: int) -> None:
    """Bulgannawar and Vaidya, section 4. At light load each entry is a round of its own, and everybody is asked."""
    assert light("makki", k, 30) > 30
    assert heavy("makki", k, 30) == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_bulgannawar_vaidya_needs_the_fewest_messages(k: int) -> None:
    """Section 4, Fig. 4, for light and for heavy load; here without INFORMs."""
    for cost in (light, heavy):
        mine = cost("bulgannawar-vaidya", k)
        assert mine < min(cost(name, k) for name in ("raymond-k", "srimani-reddy", "makki"))


def test_bulgannawar_vaidya_with_one_token_costs_a_harmonic_number() -> None:
    """It extends the algorithm of Trehel and Naimi (section 1), whose mean is H(N-1)."""
    assert light("bulgannawar-vaidya", 1) == pytest.approx(harmonic(N - 1), rel=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_the_heuristic_reduces_messages(k: int) -> None:
    """Section 4 says so for high load; without INFORMs it holds at light load. Each site then stays with one token."""
    heuristic = light("bulgannawar-vaidya", k, token="last-seen")
    assert heuristic < light("bulgannawar-vaidya", k)
    assert heuristic == pytest.approx(harmonic(N // k - 1), rel=0.06)


@pytest.mark.parametrize("coterie", ["majority", "cohorts", "singletons"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_kakugawa_costs_three_to_five_times_the_quorum(k: int, coterie: str) -> None:
    """Survey, Table 3: 3s to 5s, s the size of the largest quorum; what a site says to itself is not counted."""
    homes = find("kakugawa").size(N, k, {"coterie": coterie}).options["coterie"]
    s = max(map(len, homes.sets))
    assert light("kakugawa", k, coterie=coterie) == pytest.approx(3 * homes.mean_others, rel=0.03)
    assert heavy("kakugawa", k, coterie=coterie) <= 5 * s


def test_the_surveys_example_of_two_nodes_inside() -> None:
    """Survey, section 6: node 2 chooses {1,2}, node 4 chooses {3,4}, and both are inside. (Here from 0.)"""
    card = find("kakugawa")
    out = Outbox()
    homes = Quorums([{0, 2}, {0, 1}, {1, 3}, {2, 3}])
    ports = [Port(process, out) for process in card.start(card.size(4, 2, {"coterie": homes}))]
    under_way = [*ports[1].acquire(), *ports[3].acquire()]
    while under_way:
        sender, sites, message, _ = under_way.pop(0)
        for to in sites:
            under_way += ports[to].deliver(sender, message)
    assert [port.inside for port in ports] == [False, True, False, True]


@pytest.mark.parametrize("k", [2, 3])
def test_partitioning_helps_raymond_and_srimani_reddy(k: int) -> None:
    """Section 5: about 2(N/K-1) and N/K-1 messages in place of 2(N-1) and N-1."""
    for cost in (light, heavy):
        assert cost("partitioned", k, inner="raymond-k") == pytest.approx(2 * (N / k - 1), abs=MARGIN)
        assert cost("partitioned", k, inner="srimani-reddy") == pytest.approx(N / k - 1, abs=1.01)
