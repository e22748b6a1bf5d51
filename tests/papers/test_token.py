"""Survey of 1993, section 4 and its table 1: what the token-based algorithms cost, request by request."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest

from soloist.algorithms import find
from soloist.algorithms.nishio import Nishio, Token
from soloist.algorithms.singhal_heuristic import Request as SinghalRequest
from soloist.core import Port
from soloist.core.trace import Recorder
from soloist.sim import Experiment, Saturated, Thinking, simulate
from soloist.sim.experiment import run
from soloist.sim.links import Constant, Exponential, Network
from soloist.sim.script import Script
from soloist.structures.graphs import graph
from soloist.structures.trees import tree

T = 1.0


def lone_costs(name: str, nodes: int, **options: Any) -> list[float]:
    """Messages of each request, where requests hardly ever meet."""
    workload = Thinking(0.001)
    return run(Experiment(name, nodes, workload=workload, entries=1500, options=options), seed=5).cost


def mean_cost(name: str, nodes: int, **options: Any) -> float:
    experiment = Experiment(
        name, nodes, workload=Thinking(0.001), entries=3000, replications=4, seed=7, options=options
    )
    return simulate(experiment).messages_per_entry.mean


def formula(name: str, nodes: int, **options: Any) -> float:
    card = find(name)
    assert card.light
    return card.light(card.size(nodes, options=options))


# The ring.


@pytest.mark.parametrize("nodes", [2, 5, 9])
def test_a_request_on_the_ring_waits_for_n_messages_at_most(nodes: int) -> None:
    """Section 3.1: the token comes by."""
    for site in range(nodes):
        script = Script()
        script.run(f"start token-ring nodes={nodes}")
        script.run(f"acquire {site}")
        messages = 0
        while not script.ports[site].inside:
            script.run(f"deliver {script.flights[0]}")
            messages += 1
        assert messages == (site or nodes)


@pytest.mark.parametrize("nodes", [2, 5, 9])
def test_the_ring_costs_one_message_where_everybody_asks(nodes: int) -> None:
    """Section 3.1: very effective under high load."""
    costs = run(Experiment("token-ring", nodes, workload=Saturated(), entries=500), seed=1).cost
    assert set(costs) == {1}


def test_the_idle_ring_costs_the_more_the_fewer_ask() -> None:
    """Section 3.1: under light load this method has a high cost. The token makes a hop per time T, and an
    entry comes every 1/(N λ): that many messages fall on each."""
    for rate in (0.01, 0.001):
        experiment = Experiment(
            "token-ring", 5, workload=Thinking(rate), network=Network(Constant(T)), inside=0.0, entries=1000
        )
        result = simulate(experiment)
        assert result.messages_per_entry.mean == pytest.approx(1 / (5 * rate * T), rel=0.1)


# Algorithms that ask everybody.


@pytest.mark.parametrize("nodes", [2, 5, 10])
@pytest.mark.parametrize("name", ["ricart-agrawala-token", "nishio", "naimi-thiare"])
def test_asking_everybody_costs_nothing_or_n(name: str, nodes: int) -> None:
    """Table 1: N messages. Naimi and Thiare 2009, conclusion: 0 for the holder of the token, and else n."""
    assert set(lone_costs(name, nodes)) == {0, nodes}


def test_nishio_drops_a_token_that_has_been_replaced() -> None:
    """Section 4: a token older than the site knows of is a duplicate, and the site asks again."""
    port = Port(Nishio(me=1, n=2, request_data=[0, 0], token_data=[0, 0], have_token=False, age=3))
    port.acquire()
    assert [type(m).__name__ for _, _, m, _ in port.deliver(0, Token((0, 0), age=2))] == ["Request"]
    assert not port.inside
    port.deliver(0, Token((0, 0), age=3))
    assert port.inside


# Neilsen and Mizuno.


@pytest.mark.parametrize(
    ("topology", "nodes", "most"), [("line", 5, 5), ("line", 10, 10), ("star", 5, 3), ("star", 10, 3)]
)
def test_neilsen_mizuno_needs_the_diameter_and_one(topology: str, nodes: int, most: int) -> None:
    """Table 1: D+1, which is N on a line and 3 on a star."""
    costs = set(lone_costs("neilsen-mizuno", nodes, topology=topology))
    assert max(costs) == most == tree(topology, nodes).diameter + 1
    assert min(costs) == 0


@pytest.mark.parametrize(
    ("topology", "nodes", "mean"),
    [("line", 10, 99 / 30 + 0.9), ("star", 10, 2.52), ("star", 30, 2.836), ("line", 30, 899 / 90 + 29 / 30)],
)
def test_neilsen_mizuno_costs_the_distance_and_the_token(topology: str, nodes: int, mean: float) -> None:
    """A REQUEST for every edge on the way, and the PRIVILEGE straight back: (N²-1)/3N + 1-1/N on a line,
    2(N-1)²/N² + 1-1/N on a star."""
    assert formula("neilsen-mizuno", nodes, topology=topology) == pytest.approx(mean, abs=1e-3)
    assert mean_cost("neilsen-mizuno", nodes, topology=topology) == pytest.approx(mean, rel=0.03)


# Helary, Plouzeau and Raynal.


@pytest.mark.parametrize("nodes", [5, 10])
@pytest.mark.parametrize("topology", ["full", "ring", "line", "tree"])
def test_helary_plouzeau_raynal_stay_between_the_published_bounds(topology: str, nodes: int) -> None:
    """Table 1: N on a complete graph, N to 2N on a ring, N to 2(N-1) on a line, N to N-1+D on a tree."""
    most = {
        "full": nodes,
        "ring": 2 * nodes,
        "line": 2 * (nodes - 1),
        "tree": nodes - 1 + graph("tree", nodes).diameter,
    }[topology]
    costs = set(lone_costs("helary-plouzeau-raynal", nodes, topology=topology)) - {0}
    assert nodes <= min(costs)
    assert max(costs) <= most
    if topology in ("full", "line", "tree"):
        assert (min(costs), max(costs)) == (nodes, most), "the bounds are reached"


@pytest.mark.parametrize(
    ("topology", "nodes", "mean"),
    [("full", 10, 9), ("line", 10, 11.4), ("line", 30, 38.022), ("ring", 10, 11 * 0.9 + 2.5)],
)
def test_helary_plouzeau_raynal_cost_a_flood_and_the_way_back(topology: str, nodes: int, mean: float) -> None:
    """N-1 on a complete graph; (N-1)(1-1/N) + (N²-1)/3N on a line; N+1 requests on a ring, where waves cross."""
    name = "helary-plouzeau-raynal"
    assert formula(name, nodes, topology=topology) == pytest.approx(mean, abs=1e-3)
    assert mean_cost(name, nodes, topology=topology) == pytest.approx(mean, rel=0.03)


def test_any_connected_graph_will_do() -> None:
    """Section 4: nodes need no prior knowledge of the topology."""
    wheel = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4), (4, 1)]
    costs = set(lone_costs("helary-plouzeau-raynal", 5, topology=wheel)) - {0}
    assert 5 <= min(costs) <= max(costs) <= 2 * len(wheel)


# Mizuno, Neilsen and Rao.


def test_suzuki_kasami_is_a_special_case_of_mizuno_neilsen_rao() -> None:
    """Section 4: everybody in R_i, nobody but i in A_i."""
    everybody, alone = [range(6)] * 6, [[i] for i in range(6)]
    assert lone_costs("mizuno-neilsen-rao", 6, quorums=(everybody, alone)) == lone_costs("suzuki-kasami", 6)


@pytest.mark.parametrize("nodes", [7, 13, 31])
def test_mizuno_neilsen_rao_cost_three_roots_of_n_on_planes(nodes: int) -> None:
    """Table 1: 3 sqrt(N) for finite projective planes."""
    assert mean_cost("mizuno-neilsen-rao", nodes, quorums="plane") <= 3 * sqrt(nodes)


@pytest.mark.parametrize("quorums", ["grid", "tree", "plane"])
def test_mizuno_neilsen_rao_cost_what_the_card_says(quorums: str) -> None:
    measured = mean_cost("mizuno-neilsen-rao", 13, quorums=quorums)
    assert measured == pytest.approx(formula("mizuno-neilsen-rao", 13, quorums=quorums), rel=0.02)


# Singhal.


@pytest.mark.parametrize("nodes", [5, 10, 30])
def test_singhal_asks_half_of_them(nodes: int) -> None:
    """Section 4: (N+1)/2 in light traffic. The site at place p of the staircase asks p-1 others and gets the
    token; the first has it and pays nothing, which leaves (N+1)/2 - 1/N."""
    assert mean_cost("singhal-heuristic", nodes) == pytest.approx((nodes + 1) / 2 - 1 / nodes, rel=0.03)
    assert max(lone_costs("singhal-heuristic", nodes)) <= nodes


@pytest.mark.parametrize("nodes", [3, 6])
def test_singhal_sends_a_request_to_nobody_twice(nodes: int) -> None:
    """Section 4: N messages in heavy traffic: N-1 REQUESTs of one number, and the token."""
    recorder = Recorder()
    network = Network(Exponential(0.001))
    experiment = Experiment("singhal-heuristic", nodes, workload=Saturated(), network=network, entries=300)
    simulate(experiment, recorder=recorder)
    sent = [(s.site, s.message.sn, s.peer) for s in recorder.steps if isinstance(s.message, SinghalRequest)
            and s.kind == "send"]  # fmt: skip
    assert len(sent) == len(set(sent))


# How long the next one waits.


@pytest.mark.parametrize(
    "name",
    [
        "ricart-agrawala-token",
        "naimi-thiare",
        "neilsen-mizuno",
        "singhal-heuristic",
        "mizuno-neilsen-rao",
        "helary-plouzeau-raynal",
        "nishio",
        "token-ring",
    ],
)
def test_the_next_one_enters_a_message_later(name: str) -> None:
    """The token is sent straight to the next one: the synchronisation delay is T."""
    network = Network(Constant(T))
    result = simulate(Experiment(name, 6, workload=Saturated(), network=network, inside=T, entries=600))
    assert result.sync_delay.mean == pytest.approx(T)
