"""Every reduction answers as the unreduced search does (docs/checking.md, "Reductions")."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import REDUCTIONS, Report, Space, check, explore, setting, walk
from soloist.check.graphs import in_order
from soloist.check.trial import differences, hasty, passes, strays
from soloist.core import Process, UsageError

from .toys import HASTY, MISCOUNTING, Forgetful, ForgetfulOfMail, ReadsWhatIsSettled, card, recast

SMALL = [
    ("lamport", 2, 2, "fifo"),
    ("lamport", 2, 1, "any"),
    ("lamport", 3, (1, 1, 0), "fifo"),
    ("naimi-trehel", 3, 1, "any"),
    ("raymond-tree", 3, 2, "any"),
    ("ricart-agrawala", 2, 2, "any"),
    ("ricart-agrawala", 3, 1, "any"),
    ("ricart-agrawala", 3, (2, 1, 0), "fifo"),
    ("suzuki-kasami", 2, 2, "any"),
    ("suzuki-kasami", 3, 1, "any"),
]


@pytest.mark.parametrize("kind", MISCOUNTING, ids=lambda kind: kind.__name__)
def test_a_false_counter_would_be_noticed(kind: type[Process]) -> None:
    what = setting(recast(kind), 3, 1).unbounded()
    assert next(strays(what, 1000, seed=3), None)
    assert not passes(setting(recast(kind), 3, 1))


def test_a_false_declaration_would_be_noticed() -> None:
    """The trial has teeth: a value that is read although it is declared settled does not stand it."""
    assert next(differences(setting(card(Forgetful), 2, 2, 1, "any")), None)
    assert next(differences(setting(card(ForgetfulOfMail), 2, 2, 1, "fifo")), None)


def test_a_false_declaration_that_spoils_a_run_is_named() -> None:
    """A state of the search that no real run leads to."""
    graph = explore(Space(setting(card(ReadsWhatIsSettled), 3, 1), trust=True))
    assert graph.alarm is not None
    with pytest.raises(UsageError, match="declares something settled"):
        walk(graph.space, graph.path(graph.alarm))


@pytest.mark.parametrize("kind", HASTY, ids=lambda kind: kind.__name__)
def test_a_false_claim_to_be_early_would_be_noticed(kind: type[Process]) -> None:
    assert next(hasty(setting(card(kind), 3, (1, 1, 0), 1, "fifo")), None)


@lru_cache(maxsize=16)
def answer(name: str, nodes: int, rounds: Any, channels: str, without: tuple[str, ...] = ()) -> Report:
    kept = [reduction for reduction in REDUCTIONS if reduction not in without]
    return check(CATALOGUE[name], nodes, rounds, channels=channels, reductions=kept, endless_states=4_000)


@pytest.mark.parametrize(
    ("name", "nodes", "rounds", "channels"),
    [case for case in SMALL if case[0] == "ricart-agrawala" or case[:1] + case[3:] == ("lamport", "fifo")]
    + [("suzuki-kasami", 3, 1, "fifo"), ("naimi-trehel", 3, 2, "fifo"), ("raymond-tree", 3, 2, "fifo")],
    ids=str,
)
@pytest.mark.parametrize("without", [*((name,) for name in REDUCTIONS), REDUCTIONS], ids="+".join)
def test_same_answers(name: str, nodes: int, rounds: Any, channels: str, without: tuple[str, ...]) -> None:
    full = answer(name, nodes, rounds, channels)
    less = answer(name, nodes, rounds, channels, without)
    assert (less.property, less.max_inside) == (full.property, full.max_inside) == (None, 1)
    assert less.states >= full.states
    for report in (less, full):
        how_far = report.properties["starvation"]
        assert (report.verdict, how_far) in (("holds", "proved"), ("incomplete", "for these requests"))
        assert {how for name, how in report.properties.items() if name != "starvation"} == {"proved"}


@pytest.mark.parametrize("measure", ["messages", "wait"])
@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("lamport", (2, 2)),
        ("lamport", (1, 1, 0)),
        ("ricart-agrawala", (1, 1, 1)),
        ("suzuki-kasami", (2, 1, 1)),
    ],
    ids=str,
)
def test_reordering_keeps_the_worst_case(name: str, rounds: tuple[int, ...], measure: str) -> None:
    """Steps that properties look at are not reordered, so longest paths by entries and messages stay."""
    costs = []
    for less in ((), ("receiver",), ("early",), ("receiver", "early")):
        kept = [reduction for reduction in REDUCTIONS if reduction not in less]
        worst = check(
            CATALOGUE[name],
            len(rounds),
            rounds,
            channels="fifo",
            properties=["exclusion"],
            reductions=kept,
            worst=measure,
        ).worst
        assert worst is not None
        costs.append(worst.cost)
    assert len(set(costs)) == 1


@pytest.mark.parametrize("name", ["lamport", "ricart-agrawala", "suzuki-kasami"])
def test_receiver_pays_and_keeps_every_end(name: str) -> None:
    """Final states are the same with and without: no deadlock is lost."""
    what = setting(CATALOGUE[name], 3, (1, 1, 0), 1, "fifo")
    ends = []
    for kept in (["messages"], ["messages", "receiver"]):
        graph = explore(Space(what, kept))
        model = graph.space.model
        ends.append(
            {
                tuple(model.process(state, site).snapshot() for site in range(3))
                for here, state in enumerate(graph.states)
                if not graph.successors(here)
            }
        )
        ends.append(len(graph.states))
    assert ends[0] == ends[2]
    assert ends[3] < ends[1]


@pytest.mark.parametrize("rounds", [(2, 2), (1, 1, 0), (2, 1, 0)], ids=str)
def test_early_pays_and_keeps_every_end(rounds: tuple[int, ...]) -> None:
    what = setting(CATALOGUE["lamport"], len(rounds), rounds)
    ends, sizes = [], []
    for kept in (
        ["messages", "values"],
        ["messages", "values", "early"],
        ["messages", "values", "early", "receiver"],
    ):
        graph = explore(Space(what, kept))
        things = graph.space.model.things
        library = graph.space.model.library
        final = [state for here, state in enumerate(graph.states) if not graph.successors(here)]
        ends.append({tuple(library.processes[local.process] for local in things(s)[:-1]) for s in final})
        sizes.append(len(graph.states))
    assert ends[0] == ends[1] == ends[2]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("lamport", (2, 2)),
        ("lamport", (1, 1, 0)),
        ("lamport", (1, 1, 1)),
        ("ricart-agrawala", (2, 2)),
    ],
    ids=str,
)
def test_phases_follow_each_other_as_before(name: str, rounds: tuple[int, ...]) -> None:
    """All orders in which sites ask, enter and leave, with and without reordering."""
    what = setting(CATALOGUE[name], len(rounds), rounds, 1, "fifo")
    orders = []
    for kept in (["messages"], REDUCTIONS):
        graph = explore(Space(what, kept))
        seen: list[set[tuple[int, ...]]] = [set() for _ in graph.states]
        phases = [graph.space.model.phases(state) for state in graph.states]
        seen[0] = {(phases[0],)}
        order = in_order(graph)
        assert order is not None
        for here in order:
            for there in graph.successors(here):
                step = () if phases[there] == phases[here] else (phases[there],)
                seen[there] |= {run + step for run in seen[here]}
        orders.append(set().union(*(seen[i] for i in range(len(seen)) if not graph.successors(i))))
    assert orders[0] == orders[1]


def test_clocks_make_endless_requests_finite() -> None:
    """Counting from the least value in use, Ricart-Agrawala has 2622 states in all, whatever the rounds."""
    what = setting(CATALOGUE["ricart-agrawala"], 3, 1).unbounded()
    assert len(explore(Space(what, ["messages", "clocks", "values"])).states) == 2622
