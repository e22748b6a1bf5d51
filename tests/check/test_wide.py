"""Expanding many states at once is the same search, with the same states and edges in the same order, and so is judging them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from soloist import algorithms
from soloist.algorithms import CATALOGUE
from soloist.check import REDUCTIONS, Graph, Limits, Report, Space, check, explore, setting
from soloist.check.bypass import bypass
from soloist.check.graphs import is_acyclic, waiting_states
from soloist.check.properties.livelock import livelocked
from soloist.check.properties.starvation import starvation
from soloist.check.setting import Setting

from .test_mutants import MUTANTS, Mutant

np = pytest.importorskip("numpy")

from soloist.check import sweeps, tables, wide  # noqa: E402
from soloist.check.lookups import Numbers  # noqa: E402

exploring = sys.modules["soloist.check.explore"]  # the package has a function of this name


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first state on. How much memory is used would be looked up after each of them."""
    for name in ("PAUSE", "WIDE_FROM", "FRONTIER"):
        monkeypatch.setattr(exploring, name, 1)
    monkeypatch.setattr(exploring, "memory_used", lambda pid=None: 0)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where NumPy is not installed."""
    monkeypatch.setattr(exploring, "find_spec", lambda name: None)


def named(graph: Graph) -> list[Any]:
    """The states without the numbers by which a search knows processes and messages."""
    model = graph.space.model
    library, found = model.library, []
    for state in graph.states:
        *locals_, pool = model.things(state)
        found.append(
            [
                local._replace(
                    process=library.processes[local.process],
                    inbox=tuple(
                        item._replace(message=library.messages[item.message]) for item in local.inbox
                    ),
                )
                for local in locals_
            ]
            + [pool]
        )
    return found


def judged(graph: Graph) -> list[Any]:
    """What is found out about a graph as a whole."""
    lasso = starvation(graph)
    around = [graph.index[state] for state in lasso.prefix + lasso.cycle] if lasso else []
    found = [lasso and lasso.site, around, [waiting_states(graph, i) for i in range(graph.space.model.n)]]
    return [*found, is_acyclic(graph), bypass(graph), livelocked(graph)] if graph.complete else found


def compared(
    what: Setting, reductions: Iterable[str], monkeypatch: pytest.MonkeyPatch, states: int = 3000
) -> Graph:
    many = explore(Space(what, reductions), Limits(states=states))
    with monkeypatch.context() as patch:
        one_by_one(patch)
        one = explore(Space(what, reductions), Limits(states=states))
    assert isinstance(one.states, list)
    assert named(many) == named(one)
    for name in ("targets", "offsets", "parents", "growth", "alarm", "cut", "most_inside"):
        assert getattr(many, name) == getattr(one, name), name
    assert many.phases() == one.phases()
    assert judged(many) == judged(one)
    assert many.index == {state: number for number, state in enumerate(many.states)}
    assert many.states[-1] == list(many.states)[-1]
    return many


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.usefixtures("at_once")
def test_the_same_graph(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    card = CATALOGUE[name]
    cases = [
        (setting(card, 3, 1, channels="fifo"), REDUCTIONS),
        (setting(card, 3, 1, channels="any"), REDUCTIONS),
        (setting(card, 3, 1, channels="fifo"), ()),
        (setting(card, 2, 2, channels="any").unbounded(), REDUCTIONS),
        (setting(card, 2, 1, loss=True, duplicate=True, faults=1, crashes=1, restart="snapshot"), REDUCTIONS),
    ]
    for what, reductions in cases:
        graph = compared(what, reductions, monkeypatch)
        assert isinstance(graph.states, wide.Packed)


def one_for_each_property() -> list[Mutant]:
    """Of two sites, if there is one."""
    small_last = sorted(MUTANTS, key=lambda mutant: mutant.nodes == 2)
    return list({mutant.breaks: mutant for mutant in small_last}.values())


def reported(mutant: Mutant) -> Report:
    return check(
        mutant.card,
        mutant.nodes,
        mutant.rounds,
        mutant.k,
        options=mutant.options,
        properties=mutant.properties,
        endless_states=3000,
    )


@pytest.mark.parametrize("mutant", one_for_each_property(), ids=lambda mutant: mutant.breaks)
@pytest.mark.usefixtures("at_once")
def test_the_same_counterexample(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(algorithms.CATALOGUE, mutant.card.name, mutant.card)
    many = reported(mutant)
    one_by_one(monkeypatch)
    one = reported(mutant)
    assert (many.verdict, many.property) == ("violated", mutant.breaks)
    for name in (
        "property",
        "reason",
        "states",
        "transitions",
        "growth",
        "script",
        "loop",
        "properties",
        "max_inside",
    ):
        assert getattr(many, name) == getattr(one, name), name
    assert many.trace == one.trace


@pytest.mark.usefixtures("at_once")
def test_parts_may_outgrow_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = []
    repack = wide.Packed.repack
    monkeypatch.setattr(wide.Packed, "repack", lambda packed: (grown.append(len(packed)), repack(packed)))
    monkeypatch.setattr(tables, "KEY_BITS", 31)
    what = setting(CATALOGUE["ricart-agrawala"], 3, 1, channels="any")
    graph = compared(what, (), monkeypatch, 100_000)
    assert grown
    assert isinstance(graph.states, wide.Packed)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("bits", [4, 14])
def test_where_keys_are_too_short_states_are_taken_one_by_one(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the start, or from where they become too short."""
    monkeypatch.setattr(tables, "KEY_BITS", bits)
    graph = compared(setting(CATALOGUE["ricart-agrawala"], 3, 1), (), monkeypatch)
    assert isinstance(graph.states, list)


def test_a_large_search_is_wide_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a limit on states cuts it where it would cut it otherwise, in the midst of what was expanded at once."""
    what = setting(CATALOGUE["ricart-agrawala"], 3, 2, channels="fifo")
    for states in (20_001, 30_000):
        graph = compared(what, (), monkeypatch, states)
        assert isinstance(graph.states, wide.Packed)
        assert graph.cut == f"{states} states"


def test_where_numpy_is_loaded_a_search_is_wide_earlier() -> None:
    graph = explore(Space(setting(CATALOGUE["ricart-agrawala"], 3, 2, channels="fifo")))
    assert exploring.PAUSE < len(graph.states) < exploring.WIDE_FROM
    assert isinstance(graph.states, wide.Packed)


@pytest.mark.usefixtures("at_once")
def test_layers_are_levels_where_all_ways_are_equally_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what leads to each state is counted."""
    graded, other = (
        explore(Space(setting(CATALOGUE[name], 3, 2, channels="any")))
        for name in ("ricart-agrawala", "suzuki-kasami")
    )
    quick, slow = graded.levels, other.levels
    assert quick
    assert slow
    assert list(map(len, quick)) == graded.growth
    assert list(map(len, slow)) != other.growth
    monkeypatch.setattr(sweeps, "_layers", lambda graph, edges: None)
    counted = sweeps.levels(graded)
    assert counted
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(quick, counted, strict=False))
    assert not sum(map(len, counted[len(quick) :]))


def test_all_bits_of_a_key_are_used() -> None:
    sizes = [2590, 1917, 1543, 1245, 5]
    layout = tables.Layout(sizes)
    assert sum(layout.widths) == tables.KEY_BITS
    rows = np.array([[(1 << width) - 1, number] for width, number in zip(layout.widths, sizes, strict=True)])
    assert layout.split(layout.join(rows)).tolist() == rows.tolist()


def test_an_interrupted_search_says_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(progress: Any) -> None:
        if progress.states > 20_000:
            raise KeyboardInterrupt

    report = check(CATALOGUE["ricart-agrawala"], 3, 2, reductions=(), watch=interrupted)
    assert (report.verdict, report.exit_code()) == ("incomplete", 3)
    assert report.states > 20_000
    assert "interrupted" in report.reason


def test_numbers_are_those_of_a_dictionary() -> None:
    """With keys that crowd in few places, and tables that grow."""
    chance, numbers, known = Random(7), Numbers(), dict[int, int]()
    for size in (1, 10, 3000, 50_000):
        keys = np.array(
            [chance.randrange(1 << 40) << chance.choice((0, 1, 20)) for _ in range(size)], np.int64
        )
        assert numbers.find(keys).tolist() == [known.get(key, -1) for key in keys.tolist()]
        first = {key: place for place, key in reversed(list(enumerate(keys.tolist())))}
        before = set(known)
        for key in keys.tolist():
            known.setdefault(key, len(known))
        firsts = [
            place for place, key in enumerate(keys.tolist()) if key not in before and first[key] == place
        ]
        found, fresh = numbers.number(keys)
        assert found.tolist() == [known[key] for key in keys.tolist()]
        assert fresh.tolist() == firsts
        assert numbers.find(keys).tolist() == found.tolist()
    assert numbers.keys.tolist() == list(known)
