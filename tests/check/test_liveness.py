"""Starvation is judged on the part of the graph in which a site waits, under weak fairness."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.algorithms import CATALOGUE
from soloist.check import Space, check, explore, setting
from soloist.check.graphs import components, in_order
from soloist.check.properties.starvation import starvation
from soloist.core import Process

from .toys import Babbling, Begun, Central, Lucky, Narrow, Open, Timed, card

GRAPHS = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@given(GRAPHS, st.sets(st.integers(0, 7)))
def test_components_against_the_obvious(graph: list[list[int]], without: set[int]) -> None:
    """Two nodes are in one part if each can be reached from the other inside the sub-graph."""
    nodes = set(range(len(graph))) - without

    def reach(start: int) -> set[int]:
        found, queue = {start}, [start]
        for here in queue:
            for there in graph[here]:
                if there in nodes and there not in found:
                    found.add(there)
                    queue.append(there)
        return found

    reachable = {node: reach(node) for node in nodes}
    expected = {frozenset(b for b in reachable[a] if a in reachable[b]) for a in nodes}
    found = list(components(nodes, lambda node: graph[node]))
    assert {frozenset(part) for part in found} == expected
    seen: set[int] = set()
    for part in found:  # those downstream come first
        seen |= set(part)
        assert all(there in seen for here in part for there in graph[here] if there in nodes)


def test_an_unfair_cycle_is_no_starvation() -> None:
    """The holder re-enters for ever while a request is under way, but only
    by never delivering it. Fairness is asked of the part in which the site waits: in the graph as a
    whole everything happens somewhere."""
    space = Space(setting(CATALOGUE["naimi-trehel"], 2, 1).unbounded())
    graph = explore(space)
    assert in_order(graph) is None
    assert starvation(graph) is None


def test_a_queue_serves_everybody() -> None:
    report = check(card(Central), nodes=3, rounds=1)
    assert report.verdict == "holds"
    assert report.properties["starvation"] == "proved"
    assert report.how["starvation"] == "sites asking without end"


def test_choice_without_memory_starves() -> None:
    """Every branch of `choose` is tried: a site may be unlucky for ever, and being picked is not an action
    that stays possible, so weak fairness does not help it."""
    report = check(card(Lucky), nodes=3, rounds=1)
    assert (report.verdict, report.property) == ("violated", "starvation")
    assert report.loop is not None
    assert any(step.choices for step in report.trace[report.loop :])


@pytest.mark.parametrize(("kind", "starves"), [(Central, False), (Lucky, True)])
def test_runs_in_which_nobody_is_idle_for_long(kind: type[Process], starves: bool) -> None:
    """A part of all runs, for spaces that have no end: what starves in it starves, and it can go on for ever."""
    whole = setting(card(kind), 3, 1).unbounded()
    graph = explore(Space(msgspec.structs.replace(whole, patient=True, lively=2)))
    things = graph.space.model.things
    assert {local.idled for state in graph.states for local in things(state)[:-1]} == {0, 1, 2}
    assert all(graph.successors(here) for here in range(len(graph.states)))
    assert (starvation(graph) is not None) == starves


def test_the_loop_shown_is_fair() -> None:
    """On the cycle each delivery and exit that is possible is done, or not possible, at some point of it."""
    space = Space(setting(card(Lucky), 3, 1).unbounded())
    graph = explore(space)
    lasso = starvation(graph)
    assert lasso is not None
    assert lasso.cycle[0] == lasso.cycle[-1] == lasso.prefix[-1]
    always, done = None, set()
    for here, there in zip(lasso.cycle, lasso.cycle[1:], strict=False):
        actions = [(a, t) for a, t in space.actions(here) if a.event != "acquire"]
        possible = {(a.event, a.site, a.sender, a.message) for a, _ in actions}
        always = possible if always is None else always & possible
        done |= {(a.event, a.site, a.sender, a.message) for a, t in actions if t == there}
    assert always is not None
    assert always <= done


def test_steps_that_repeat_themselves_are_judged_too() -> None:
    """tla-rs 65: a step that leads to the state it came from is a step. Asking again while somebody is inside
    goes round for ever only if the exit is put off for ever, so with one request each nobody starves;
    with endless requests the other may be faster every time."""
    graph = explore(Space(setting(card(Babbling), 2, 1)))
    assert in_order(graph) is None
    assert starvation(graph) is None
    report = check(card(Babbling), nodes=2, rounds=1)
    assert (report.verdict, report.property) == ("violated", "starvation")


def test_a_ring_has_no_final_state() -> None:
    """docs/algorithms/token-ring.md: the token never rests, so the end is "nobody wants", and there is always a cycle."""
    report = check(card(Begun), nodes=3, rounds=2)
    assert report.verdict == "holds"
    assert report.bypass_bound == 2
    assert report.worst is None
    unbounded = check(card(Begun), nodes=3, rounds=1, worst="messages")
    assert unbounded.worst is not None
    assert unbounded.worst.cost is None
    assert unbounded.loop is not None


def test_timers_may_run_out_at_any_moment_and_must_some_time() -> None:
    report = check(card(Timed), nodes=2, rounds=1, properties=["deadlock", "livelock", "starvation"])
    assert report.verdict == "holds"
    assert check(card(Timed), nodes=2, rounds=1).property == "exclusion"
    assert [s.command for s in check(card(Timed), nodes=2, rounds=1).trace][-1].startswith(
        "timeout 1 patience"
    )


def test_k_may_be_inside_together_and_must_be_able_to() -> None:
    assert check(card(Central, many=True), nodes=3, rounds=1, k=2).max_inside == 2
    wide = check(card(Open, many=True), nodes=3, rounds=1, k=2)
    assert (wide.property, wide.max_inside, len(wide.trace)) == ("exclusion", 3, 3)
    narrow = check(card(Narrow, many=True), nodes=3, rounds=1, k=2)
    assert (narrow.verdict, narrow.property) == ("violated", "capacity")
    assert check(card(Narrow, many=True), nodes=3, rounds=(1, 0, 0), k=2).verdict == "holds"
