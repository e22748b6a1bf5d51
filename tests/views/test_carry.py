"""Locks that are held when an epoch begins: their holders are inside, where everybody expects them, and all goes on."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement, permutations, product

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card
from soloist.check.carry import check_start, held, sizes_of
from soloist.check.explore import explore
from soloist.check.reductions import Space
from soloist.check.setting import setting
from soloist.cli import main
from soloist.core import IDLE, INSIDE, Port, Process, UsageError
from soloist.sim.script import Script
from soloist.structures.quorums import Quorums
from soloist.views import fence
from soloist.views.carry import Carried, Holder, carry, starting_counter
from soloist.views.prefix import Prefix, System, prefix

from .cluster import Cluster, live

NODES = ["a", "b", "c", "d", "e"]
SMALL = [(name, n, k) for name, card in CATALOGUE.items() for n, k in sizes_of(card)]
LONG = {("lamport", 3, 1), ("makki", 3, 3), ("raymond-k", 3, 3)}
"""Those among them that take long."""
FOUR = [
    ("bulgannawar-vaidya", 4, 1),
    ("bulgannawar-vaidya", 4, 2),
    ("central", 4, 1),
    ("kakugawa", 4, 2),
    ("naimi-trehel", 4, 1),
    ("partitioned", 4, 2),
    ("raymond-tree", 4, 1),
    ("suzuki-kasami", 4, 1),
    ("token-ring", 4, 1),
]
"""Small enough with four sites; of a semaphore of two these are two nodes with two sites each."""
RESTLESS = ["token-ring", "raynal-inform"]
"""Never at rest inside `partitioned` where a group has no holder."""
OPTIONS = [
    ("bulgannawar-vaidya", {"token": "last-seen", "inform": 1}),
    ("kakugawa", {"coterie": "cohorts"}),
    ("kakugawa", {"coterie": "singletons"}),
    ("lodha-kshemkalyani", {"improvement": "1"}),
    ("lodha-kshemkalyani", {"improvement": "2"}),
    ("majority", {"votes": "all"}),
    ("partitioned", {"inner": "lamport"}),
    ("partitioned", {"inner": "raynal"}),
    ("srimani-reddy", {"L": 2}),
]


def slotted(card: Card) -> bool:
    return card.process.slot is not Process.slot


def sizes(card: Card) -> list[tuple[int, int]]:
    return [(n, k) for n in range(1, 6) for k in range(1, min(n, 3) + 1) if k == 1 or card.capacity == "K"]


def replayed(card: Card, start: Prefix, n: int, k: int, options: dict[str, object]) -> Script:
    """The steps of a prefix once more, by a driver that knows nothing of it."""
    script = Script()
    script.start(card, card.size(n, k, options), card.channels == "fifo")
    for step in start.steps:
        script.run(step)
    return script


def is_reached(
    card: Card, n: int, k: int, slots: tuple[int | None, ...], options: dict[str, object]
) -> Prefix:
    start = prefix(card, n, k, slots, options)
    script = replayed(card, start, n, k, options)
    assert tuple(port.process.snapshot() for port in script.ports) == start.snapshots
    assert [(f.sender, f.to, f.message) for f in script.flights] == [
        (f.sender, f.to, f.message) for f in start.mail
    ]
    processes = [start.process(site) for site in range(n)]
    assert [p.me for p in processes if p.phase is INSIDE] == sorted(start.holders)
    assert all(p.phase is IDLE for p in processes if p.me not in start.holders)
    assert len(start.holders) == len(slots)
    for site, slot in zip(start.holders, slots, strict=True):
        assert slot is None or processes[site].slot() == slot
    return start


# The prefix.


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_holders_are_inside_and_all_is_quiet(name: str) -> None:
    card = CATALOGUE[name]
    for n, k in sizes(card):
        for slots in held(card, k):
            start = is_reached(card, n, k, slots, {})
            assert not start.mail
            assert not start.timers


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_options_make_no_difference(name: str, options: dict[str, object]) -> None:
    card = CATALOGUE[name]
    for n, k in sizes(card):
        for slots in held(card, k):
            start = is_reached(card, n, k, slots, options)
            assert not start.mail


def test_most_algorithms_need_no_message_for_a_lock() -> None:
    free = [name for name, card in CATALOGUE.items() if prefix(card, 5, 1, [None]).steps == ("acquire 0",)]
    assert len(free) == 18


@pytest.mark.parametrize("inner", RESTLESS)
def test_what_never_rests_is_cut_and_under_way(inner: str) -> None:
    card = CATALOGUE["partitioned"]
    for n, k in sizes(card):
        for slots in held(card, k):
            start = is_reached(card, n, k, slots, {"inner": inner})
            turning = [g for g in range(k) if g not in slots and len(range(g, n, k)) > 1]
            assert {flight.to % k for flight in start.mail} == set(turning)


def test_without_holders_it_is_the_fresh_system() -> None:
    start = prefix(CATALOGUE["token-ring"], 3)
    assert start.steps == ()
    assert [(flight.sender, flight.to) for flight in start.mail] == [(0, 1)]
    assert not any(start.process(site).phase for site in range(3))


def test_a_timer_that_runs_is_part_of_it() -> None:
    """Whoever polls in vain never rests; it is cut where its timer runs, or its questions are under way."""
    card = CATALOGUE["raynal"]
    system = System(card.start(card.size(2)))
    assert not system.enter(1)
    timers, mail = system.as_prefix(()).timers, system.mail
    assert timers == ((1, "poll", 0.01),) or mail


def test_copies_are_of_one_s_own() -> None:
    start = prefix(CATALOGUE["lamport"], 3, 1, [None])
    one, other = start.process(0), start.process(0)
    assert one.snapshot() == other.snapshot() == start.snapshots[0]
    Port(one).release()
    assert one.snapshot() != other.snapshot() == start.process(0).snapshot()
    assert one.out is not other.out


# Seats.


def held_by(card: Card, nodes: list[str], capacity: int) -> list[list[Holder]]:
    """Every way in which nodes can hold a lock, or permits of a semaphore."""
    if not slotted(card):
        return [
            [(node, None) for node in owners]
            for count in range(1, capacity + 1)
            for owners in combinations_with_replacement(nodes, count)
        ]
    return [
        [(node, slot) for slot, node in enumerate(owners) if node]
        for owners in product([None, *nodes], repeat=capacity)
        if any(owners)
    ]  # fmt: skip


def seated_wrongly(start: Carried, card: Card, nodes: list[str], holders: list[Holder], capacity: int) -> str:
    """What is wrong with the way in which a lock starts, if something is."""
    if (
        any(start.hosts.count(node) != capacity for node in nodes)
        or len(start.hosts) != len(nodes) * capacity
    ):
        return "not every node has its sites"
    inside = {}
    for node in nodes:
        processes = start.processes(node)
        if [process.me for process in processes] != start.sites(node):
            return "a node has other processes than sites"
        inside |= {process.me: process for process in processes if process.phase is INSIDE}
    if sorted(inside) != sorted(start.seats):
        return "others are inside than the holders"
    for seat, (node, slot) in zip(start.seats, holders, strict=True):
        if start.hosts[seat] != node:
            return "a holder is not at a site of its node"
        if slotted(card) and slot is not None and inside[seat].slot() != slot:
            return "a holder has another slot"
    return ""


@pytest.mark.parametrize("name", CATALOGUE)
def test_holders_have_seats_at_their_nodes(name: str) -> None:
    card = CATALOGUE[name]
    for count, capacity in product(range(1, 6), range(1, 4)):
        if capacity > 1 and card.capacity == "1":
            continue
        nodes = NODES[:count]
        for holders in held_by(card, nodes, capacity):
            start = carry(card, nodes, holders, capacity)
            assert seated_wrongly(start, card, nodes, holders, capacity) == ""
            assert not start.prefix.mail


def test_everybody_comes_to_the_same_seats() -> None:
    for name, capacity in [("naimi-trehel", 1), ("bulgannawar-vaidya", 3), ("kakugawa", 2), ("raymond-k", 3)]:
        card = CATALOGUE[name]
        for holders in held_by(card, NODES[:3], capacity):
            hosts = {
                carry(card, nodes, order, capacity).hosts
                for nodes in permutations(NODES[:3])
                for order in permutations(holders)
            }
            assert len(hosts) == 1


def test_the_holder_of_a_lock_is_site_0_and_the_others_follow_in_order() -> None:
    start = carry(CATALOGUE["naimi-trehel"], ["c", "a", "b"], [("b", None)])
    assert (start.hosts, start.seats) == (("b", "a", "c"), (0,))


def test_the_holder_of_a_slot_has_the_site_of_this_number_and_each_node_a_site_in_each_group() -> None:
    start = carry(CATALOGUE["partitioned"], ["a", "b", "c"], [("b", 1), ("c", 0)], capacity=2)
    assert start.seats == (1, 0)
    assert start.hosts == ("c", "b", "a", "a", "b", "c")
    for node in "abc":
        assert {process.slot() for process in start.processes(node)} == {0, 1}


def test_quorums_of_holders_do_not_meet() -> None:
    start = carry(CATALOGUE["kakugawa"], ["a", "b"], [("a", None), ("a", None)], capacity=2)
    first, second = (set(start.prefix.process(seat).S) for seat in start.seats)  # type: ignore[attr-defined]
    assert not first & second
    assert start.seats == (0, 2)
    assert [start.hosts.count(node) for node in "ab"] == [2, 2]


def test_where_homes_meet_those_before_move_on() -> None:
    """Whoever is inside at site 0 has asked both others, so only sites 1 and 2 can be inside together."""
    homes = Quorums([{1, 2}, {1}, {2}], "by hand")
    start = is_reached(CATALOGUE["kakugawa"], 3, 2, (None, None), {"coterie": homes})
    assert start.holders == (1, 2)


def test_who_has_no_slot_takes_a_free_one() -> None:
    start = carry(CATALOGUE["bulgannawar-vaidya"], ["a", "b"], [("b", None), ("a", 0)], capacity=2)
    assert start.seats == (1, 0)


@pytest.mark.parametrize(
    ("nodes", "holders", "capacity", "complaint"),
    [
        (["a", "a"], [], 2, "nodes must have names of their own, not a, a"),
        (["a", "b"], [("c", 0)], 2, "c holds, but is not one of a, b"),
        (["a"], [("a", 0), ("a", 1), ("a", 2)], 2, "3 holders, where at most 2 can be inside"),
        (["a"], [("a", 1), ("a", 1)], 2, r"slots must be different ones from 0 to 1, not \[1, 1\]"),
        (["a"], [("a", 2)], 2, r"slots must be different ones from 0 to 1, not \[2\]"),
    ],
)
def test_an_impossible_start_is_refused(
    nodes: list[str], holders: list[Holder], capacity: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=f"^{complaint}$"):
        carry(CATALOGUE["bulgannawar-vaidya"], nodes, holders, capacity)


def test_more_inside_than_there_are_places_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^central with 3 sites and K = 1 cannot have 2 inside together$"):
        prefix(CATALOGUE["central"], 3, 1, [None, None])


# Fences.


def test_fences_go_on_above_those_that_are_carried() -> None:
    old = [fence(6, 1 << 39), fence(7, 12)]
    assert fence(8, starting_counter(8, old) + 1) > max(old)


def test_a_fence_that_is_not_older_than_the_epoch_is_refused() -> None:
    with pytest.raises(UsageError, match=f"carried into epoch 7 has fence {fence(7, 1)}, which is not of"):
        starting_counter(7, [fence(6, 3), fence(7, 1)])


# What follows: all of it, for small systems.


@pytest.mark.parametrize(
    ("name", "n", "k"),
    [
        pytest.param(*each, marks=[pytest.mark.soak] if each in LONG or each in FOUR else [])
        for each in [*SMALL, *FOUR]
    ],
)
def test_nothing_bad_follows(name: str, n: int, k: int) -> None:
    card = CATALOGUE[name]
    for slots in held(card, k):
        report = check_start(setting(card, n, 1, k), prefix(card, n, k, slots))
        assert (report.verdict, report.reason) == ("holds", "")
        assert report.max_inside == k
        assert ("fence" in report.properties) == (k == 1)


@pytest.mark.parametrize("name", CATALOGUE)
def test_nor_without_reductions(name: str) -> None:
    """What the algorithms declare about themselves is not relied on here."""
    card = CATALOGUE[name]
    for k in (1, 2) if card.capacity == "K" else (1,):
        for slots in held(card, k):
            what = msgspec.structs.replace(setting(card, 2, 1, k), start=prefix(card, 2, k, slots))
            graph = explore(Space(what, reductions=()))
            assert graph.complete
            assert graph.space.model.inside(graph.states[0]) == len(slots)


@pytest.mark.parametrize("inner", RESTLESS)
def test_nothing_bad_follows_where_mail_is_under_way(inner: str) -> None:
    card, options = CATALOGUE["partitioned"], {"inner": inner}
    for n, slots in product((3, 4), [(0,), (1,)]):
        report = check_start(setting(card, n, 1, 2, options=options), prefix(card, n, 2, slots, options))
        assert (report.verdict, report.reason) == ("holds", "")


@pytest.mark.parametrize("name", CATALOGUE)
def test_epoch_after_epoch(name: str) -> None:
    """Nodes crash and come while the lock is used; whoever holds goes on holding."""
    card = CATALOGUE[name]
    entries = carried = 0
    for seed, capacity in product(range(8), (1, 2, 3) if card.capacity == "K" else (1,)):
        cluster = live(Cluster(card, capacity, seed), changes=6)
        entries += cluster.entries
        carried += cluster.carried
    assert entries > 20
    assert carried > 5


# The command.


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "carry", "central", "naimi-trehel"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["algorithm", "starts", "states", "seconds", "verdict"]
    assert [line.split()[0] for line in out[2:]] == ["central", "naimi-trehel"]
    assert all(line.endswith("  holds") for line in out[2:])


def test_the_command_with_four_sites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "carry", "token-ring", "--all", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["algorithms"]
    assert (found["verdict"], found["starts"]) == ("holds", 3)


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "carry", "central", "--json", "--states", "10"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["algorithms"]
    assert (found["algorithm"], found["verdict"], found["starts"]) == ("central", "incomplete", 2)
    assert found["where"] == "2 sites, K = 1, holders at 0"


def test_an_unknown_algorithm_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "carry", "centrl"]) == 2
    assert capsys.readouterr().err == "soloist: unknown algorithm 'centrl'; did you mean central?\n"
