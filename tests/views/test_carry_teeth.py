"""Deliberate mistakes in carrying holders over, each caught by what the right way passes: see `test_carry`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card
from soloist.check import Report
from soloist.check.carry import check_start
from soloist.check.setting import setting
from soloist.core import Outbox
from soloist.core.process import first
from soloist.sim.script import Script
from soloist.views import carry as carrying
from soloist.views import prefix as beginning
from soloist.views.carry import carry
from soloist.views.prefix import Flight, Prefix, System, prefix

from .cluster import Cluster, Wrong, live
from .test_carry import seated_wrongly

PARTITIONED = {"inner": "token-ring"}


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """What mistakes have led to must not be taken for right, nor the other way round."""
    caches = (carrying._carry, beginning._prefix)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def follows(card: Card, start: Prefix, n: int, k: int = 1, **options: object) -> Report:
    return check_start(setting(card, n, 1, k, options=options), start)


def live_long(card: Card, capacity: int, kind: type[Cluster] = Cluster, **ways: Any) -> None:
    """Twenty runs of several epochs each."""
    for seed in range(20):
        live(kind(card, capacity, seed, **ways), changes=6)


def changed(start: Prefix, site: int, other: Prefix) -> Prefix:
    """With one site as another prefix leaves it."""
    snapshots = list(start.snapshots)
    snapshots[site] = other.snapshots[site]
    return msgspec.structs.replace(start, snapshots=tuple(snapshots))


def entered_at(card: Card, n: int, site: int) -> Prefix:
    """The system with its holder at this site, wherever it should be."""
    system = System(card.start(card.size(n)))
    assert system.enter(site)
    return system.as_prefix((site,))


# Seats.


def test_a_holder_at_a_wrong_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites are dealt as if nobody held: the lock is held at a site of the first member."""
    deal = carrying._deal
    monkeypatch.setattr(carrying, "_deal", lambda members, taken, places: deal(members, {}, places))
    card, nodes, holders = CATALOGUE["naimi-trehel"], ["a", "b"], [("b", None)]
    assert seated_wrongly(carry(card, nodes, holders), card, nodes, holders, 1) == (
        "a holder is not at a site of its node"
    )
    with pytest.raises(Wrong, match="holds at a site of"):
        live_long(card, 1)


def test_slots_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "_slots", lambda card, members, holders, k: (None,) * len(holders))
    card, nodes, holders = CATALOGUE["bulgannawar-vaidya"], ["a", "b"], [("b", 1)]
    assert (
        seated_wrongly(carry(card, nodes, holders, 2), card, nodes, holders, 2) == "a holder has another slot"
    )
    with pytest.raises(Wrong, match="had slot"):
        live_long(card, 2)


def test_a_choice_that_does_not_fall_on_the_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a holder is not at the site of its slot, it has to ask for that token."""
    card = CATALOGUE["bulgannawar-vaidya"]

    def enters() -> bool:
        return System(card.start(card.size(4, 2))).enter(3, slot=1)

    assert enters()
    monkeypatch.setattr(System, "_choose", lambda self, options: first(options))
    assert not enters()


def test_quorums_of_holders_that_meet() -> None:
    """Two holders at the first two sites, as other algorithms have them."""
    card = CATALOGUE["kakugawa"]
    system = System(card.start(card.size(4, 2)))
    assert system.enter(0)
    assert not system.enter(1)


def test_a_holder_whose_turn_never_comes() -> None:
    card = CATALOGUE["raynal"]
    assert not System(card.start(card.size(3))).enter(1)


def test_members_in_the_order_in_which_each_node_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "sorted", lambda things, key=None: list(things), raising=False)
    with pytest.raises(Wrong, match="nodes do not agree"):
        live_long(CATALOGUE["naimi-trehel"], 1)


# States.


@pytest.mark.parametrize("name", ["naimi-trehel", "suzuki-kasami", "raymond-tree", "neilsen-mizuno"])
def test_a_token_at_the_first_member_although_the_lock_is_held_elsewhere(name: str) -> None:
    card = CATALOGUE[name]
    right = entered_at(card, 3, 1)
    assert follows(card, right, 3).verdict == "holds"
    wrong = changed(right, 0, prefix(card, 3))
    assert follows(card, wrong, 3).property == "exclusion"


@pytest.mark.parametrize(
    ("name", "n", "broken"),
    [
        ("lamport", 2, "exclusion"),
        ("majority", 3, "exclusion"),
        ("kakugawa", 3, "exclusion"),
        ("raynal-inform", 3, "deadlock"),
    ],
)
def test_one_site_s_state_from_another_prefix(name: str, n: int, broken: str) -> None:
    """A node that starts its site afresh, as if it had not heard of the holder."""
    card = CATALOGUE[name]
    right = prefix(card, n, 1, [None])
    assert follows(card, right, n).verdict == "holds"
    assert follows(card, changed(right, 1, prefix(card, n)), n).property == broken


def test_what_is_under_way_is_dropped() -> None:
    """The token of the group that has no holder is lost: its place stays empty for ever."""
    card = CATALOGUE["partitioned"]
    right = prefix(card, 4, 2, [0], PARTITIONED)
    assert follows(card, right, 4, 2, **PARTITIONED).verdict == "holds"
    wrong = msgspec.structs.replace(right, mail=())
    assert follows(card, wrong, 4, 2, **PARTITIONED).property == "capacity"


def test_what_begin_sent_is_dropped() -> None:
    card = CATALOGUE["token-ring"]
    system = System(card.start(card.size(3)))  # nobody has called begin()
    assert not system.enter(0)


def test_a_system_that_begins_twice() -> None:
    """A node that calls begin() for the sites that it has taken over makes a second token."""
    card = CATALOGUE["token-ring"]
    right = prefix(card, 3, 1, [None])
    assert follows(card, right, 3).verdict == "holds"
    process = right.process(0)
    process.out = Outbox()
    process.begin()
    sent = tuple(Flight(sender, to[0], message) for sender, to, message, _ in process.out.sends)
    assert follows(card, msgspec.structs.replace(right, mail=sent), 3).property == "exclusion"


# Fences.


def test_an_epoch_that_is_not_counted() -> None:
    """Counting starts anew, but the epoch in the fence stays: a later holder has a lower fence."""

    class SameEpoch(Cluster):
        def change(self, members: list[str], epoch: int | None = None) -> None:
            super().change(members, epoch=7)

    with pytest.raises(Wrong, match="a fence that is not above all before"):
        live_long(CATALOGUE["naimi-trehel"], 1, SameEpoch, count_from=lambda epoch, fences: 0)


def test_nothing_of_this_is_so_without_mistakes() -> None:
    """The same runs, which the mistakes above do not survive."""
    for name, capacity in [("naimi-trehel", 1), ("bulgannawar-vaidya", 2)]:
        live_long(CATALOGUE[name], capacity)


# What a search finds can be played again.


def test_the_run_that_shows_a_mistake_begins_with_the_prefix() -> None:
    card = CATALOGUE["naimi-trehel"]
    right = entered_at(card, 3, 1)
    report = follows(card, changed(right, 0, prefix(card, 3)), 3)
    start, *commands = report.script.splitlines()
    assert start == "start naimi-trehel nodes=3 channels=any"
    assert tuple(commands[: len(right.steps)]) == right.steps
    script = Script()
    script.run(start)
    for command in right.steps:
        script.run(command)
    assert [port.inside for port in script.ports] == [False, True, False]
