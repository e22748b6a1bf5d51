"""What the permission-based algorithms cost: the survey of 1993, section 5 and Table 2."""

from __future__ import annotations

from math import log2

import pytest

from soloist.sim import Experiment, Result, Saturated, Thinking, simulate
from soloist.sim.links import Constant, Exponential, Network
from soloist.sim.script import Script
from soloist.sim.workload import listed
from soloist.structures.information import information
from soloist.structures.quorums import quorums, tree

T = 1.0


def one_by_one(name: str, nodes: int, **options: object) -> int:
    """Messages of one entry of each site, none of which meets another."""
    requests = listed(f"{site}@{site * 100}" for site in range(nodes))
    result = simulate(Experiment(name, nodes, options=options, workload=requests))
    assert result.entries == nodes
    return result.messages


def light(name: str, nodes: int, **options: object) -> Result:
    workload = Thinking(0.001)
    return simulate(
        Experiment(name, nodes, options=options, workload=workload, entries=3000, replications=10, seed=21),
        jobs=2,
    )


def heavy(name: str, nodes: int, **options: object) -> Result:
    network = Network(Constant(T))
    return simulate(
        Experiment(
            name, nodes, options=options, workload=Saturated(), network=network, inside=T, entries=1000
        )
    )


def assert_costs(result: Result, theory: float) -> None:
    low, high = result.messages_per_entry.ci95 or (0, 0)
    assert low <= theory <= high, f"{theory} is not in [{low}, {high}], seeds 21 to 30"
    assert high - low < 0.04 * theory, "an interval so wide proves nothing"


SIZES = (5, 10, 30)


# Nobody, somebody, everybody.


@pytest.mark.parametrize("nodes", SIZES)
def test_a_coordinator_costs_three_and_itself_nothing(nodes: int) -> None:
    assert one_by_one("central", nodes) == 3 * (nodes - 1)
    assert heavy("central", nodes).messages_per_entry.mean == pytest.approx(3 * (nodes - 1) / nodes, rel=0.02)


@pytest.mark.parametrize("nodes", SIZES)
def test_lamport_with_fewer_acknowledgements(nodes: int) -> None:
    """Lamport 1978, the footnote: an ACK is not needed where something newer has been sent. 2(N-1) to 3(N-1)."""
    assert one_by_one("lamport", nodes, acks="needed") == 3 * (nodes - 1) * nodes
    everybody = listed(f"{site}@0" for site in range(nodes))
    result = simulate(Experiment("lamport", nodes, options={"acks": "needed"}, workload=everybody))
    # All requests have time stamp 1, and of each pair only the lower site has to acknowledge.
    assert result.messages == 2 * (nodes - 1) * nodes + nodes * (nodes - 1) // 2
    network = Network(Exponential(1.0), fifo=True)
    loaded = simulate(
        Experiment("lamport", nodes, options={"acks": "needed"}, network=network, entries=1000, seed=21)
    )
    assert 2 * (nodes - 1) < loaded.messages_per_entry.mean < 3 * (nodes - 1)


# Permissions that are kept.


@pytest.mark.parametrize("nodes", SIZES)
def test_carvalho_roucairol_costs_nothing_to_2_n_1(nodes: int) -> None:
    """Table 2: 0 to 2(N-1)."""
    first = simulate(Experiment("carvalho-roucairol", nodes, workload=listed("1@0")))
    again = simulate(Experiment("carvalho-roucairol", nodes, workload=listed("1@0,1@9,1@19")))
    assert first.messages == again.messages == 2 * (nodes - 1)
    assert heavy("carvalho-roucairol", nodes).messages_per_entry.mean <= 2 * (nodes - 1)


@pytest.mark.parametrize("name", ["carvalho-roucairol", "singhal-dynamic"])
@pytest.mark.parametrize("nodes", [10, 30])
def test_half_of_the_permissions_are_there_under_light_load(nodes: int, name: str) -> None:
    """Survey, Singhal: N-1 messages on average."""
    assert_costs(light(name, nodes), nodes - 1)


@pytest.mark.parametrize("nodes", SIZES)
def test_singhal_starts_as_a_staircase(nodes: int) -> None:
    """Site i asks the i sites below it. (The survey gives no start; the original was not at hand.)"""
    assert one_by_one("singhal-dynamic", nodes) == nodes * (nodes - 1)
    alone = simulate(Experiment("singhal-dynamic", nodes, workload=listed("0@0")))
    assert alone.messages == 0
    last = simulate(Experiment("singhal-dynamic", nodes, workload=listed(f"{nodes - 1}@0")))
    assert last.messages == 2 * (nodes - 1)


@pytest.mark.parametrize("nodes", SIZES)
def test_singhal_costs_more_than_published_under_heavy_load(nodes: int) -> None:
    """Table 2 says 3(N-1)/2. Whoever leaves while all others wait gives every permission away."""
    mean = heavy("singhal-dynamic", nodes).messages_per_entry.mean
    assert 3 * (nodes - 1) / 2 < mean <= 2 * (nodes - 1)


# Quorums.


@pytest.mark.parametrize("shape", ["grid", "plane", "majority"])
@pytest.mark.parametrize("nodes", [7, 13, 25, 30])
def test_maekawa_costs_3_k_1_alone_and_about_4_k_1_loaded(nodes: int, shape: str) -> None:
    """Table 2: 3 sqrt(N) to 5 sqrt(N), exactly 3(K-1) for K sites in a quorum to 5(K-1)."""
    others = quorums(shape, nodes).others
    assert one_by_one("maekawa", nodes, quorums=shape) == 3 * sum(others)
    loaded = heavy("maekawa", nodes, quorums=shape).messages_per_entry.mean
    assert loaded == pytest.approx(4 * sum(others) / nodes, rel=0.05)
    assert loaded <= 5 * max(others)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_maekawa_on_a_plane_costs_3_q(order: int) -> None:
    """K = q+1 of N = q²+q+1 sites."""
    nodes = order**2 + order + 1
    assert one_by_one("maekawa", nodes, quorums="plane") == 3 * order * nodes


@pytest.mark.parametrize("structure", ["ricart-agrawala", "maekawa", "central", "lamport"])
@pytest.mark.parametrize("nodes", SIZES)
def test_sanders_costs_what_the_sets_say(nodes: int, structure: str) -> None:
    """Table 2: |I_i - {i}| + 2|R_i - {i}|, without contention."""
    costs = information(structure, nodes).costs
    expected = sum(inform + 2 * ask for inform, ask in costs)
    assert one_by_one("sanders", nodes, structure=structure) == expected


@pytest.mark.parametrize("nodes", [5, 10])
def test_sanders_costs_more_under_contention(nodes: int) -> None:
    """With Ricart and Agrawala's structure, a FAIL on top of each REQUEST: 3(N-1)."""
    mean = heavy("sanders", nodes).messages_per_entry.mean
    assert 2 * (nodes - 1) < mean <= 3 * (nodes - 1)


@pytest.mark.parametrize("nodes", [1, 3, 7, 15, 31])
def test_agrawal_el_abbadi_costs_3_log_n(nodes: int) -> None:
    """Table 2: O(log N); a path of K = log2(N+1) sites, the site itself among them."""
    K = int(log2(nodes + 1))
    assert one_by_one("agrawal-el-abbadi", nodes) == 3 * (K - 1) * nodes


@pytest.mark.parametrize(("nodes", "most"), [(7, 4), (15, 8)])
def test_agrawal_el_abbadi_with_inner_nodes_down(nodes: int, most: int) -> None:
    """Survey: (N+1)/2 if there are failures; that is the size of a quorum, and not the number of messages."""
    down = set(range(nodes // 2))
    assert {len(each) for each in tree(nodes, down).sets} == {most}
    leaf, inner = 3 * (most - 1), 3 * most
    assert one_by_one("agrawal-el-abbadi", nodes, failed=down) == most * leaf + len(down) * inner


@pytest.mark.parametrize("nodes", SIZES)
def test_majorities(nodes: int) -> None:
    """Survey, Thomas: (N+1)/2 sites, the site itself among them. If all are asked: all of them."""
    assert one_by_one("majority", nodes) == 3 * (nodes // 2) * nodes
    assert one_by_one("majority", nodes, votes="all") == 3 * (nodes - 1) * nodes


# Prime numbers.


@pytest.mark.parametrize("nodes", [5, 10])
def test_raynal_polls_more_often_than_published(nodes: int) -> None:
    """Table 2: 2(N-1)². That is one poll each time the turn is passed on; without news a site can only guess."""
    assert heavy("raynal", nodes).messages_per_entry.mean > 2 * (nodes - 1) ** 2


@pytest.mark.parametrize("nodes", SIZES)
def test_announced_turns_cost_one_broadcast_when_all_ask(nodes: int) -> None:
    assert heavy("raynal-inform", nodes).messages_per_entry.mean == nodes - 1


@pytest.mark.parametrize("nodes", [3, 5])
def test_announced_turns_exceed_the_published_bound(nodes: int) -> None:
    """The survey says at most (N-1)²; a site that asks again alone waits for N announcements to N-1 sites."""
    script = Script()
    for command in (f"start raynal-inform nodes={nodes}", "acquire 0", "settle"):
        script.run(command)
    steps = [*script.run("release 0"), *script.run("acquire 0"), *script.run("settle")]
    assert "  0  enter" in steps
    assert sum(" -> " in step for step in steps) == nodes * (nodes - 1) > (nodes - 1) ** 2


# Delays.


@pytest.mark.parametrize(
    ("name", "delay"),
    [
        ("central", 2),
        ("carvalho-roucairol", 1),
        ("singhal-dynamic", 1),
        ("lodha-kshemkalyani", 1),
        ("maekawa", 2),
        ("sanders", 1),
        ("majority", 2),
        ("raynal-inform", 1),
    ],
)
def test_how_long_until_the_next_one_is_inside(name: str, delay: int) -> None:
    """From an exit to the next entry: T, or 2T where somebody stands between."""
    mean = heavy(name, 10).sync_delay.mean
    assert mean is not None
    assert mean == pytest.approx(delay * T, rel=0.12)
