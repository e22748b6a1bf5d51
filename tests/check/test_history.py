"""Promises about the past of a run: fence, causal order, timestamp order."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card
from soloist.check import PROPERTIES, Space, beside, check, explore, judge, passes, setting
from soloist.check.finding import Finding
from soloist.check.history import History
from soloist.check.model import Model
from soloist.check.parts import WRONG

from .toys import Open, card


def claims(name: str, fairness: str) -> Card:
    return msgspec.structs.replace(CATALOGUE[name], fairness=fairness)


@pytest.mark.parametrize("name", ["naimi-trehel", "raymond-tree", "ricart-agrawala", "suzuki-kasami"])
def test_the_fence_grows_for_every_algorithm(name: str) -> None:
    """docs/locks.md: a fence for any algorithm, for nothing."""
    report = check(CATALOGUE[name], nodes=3, rounds=1, properties=["fence"])
    assert report.properties == {"fence": "proved"}


def test_without_a_chain_of_messages_the_fence_does_not_grow() -> None:
    report = check(card(Open), nodes=2, rounds=1, properties=["fence"])
    assert (report.verdict, report.property) == ("violated", "fence")
    assert [step.command for step in report.trace] == ["acquire 0", "acquire 1"]
    assert "not heard" in report.reason or "without having heard" in report.reason


@pytest.mark.parametrize("name", ["naimi-trehel", "ricart-agrawala", "suzuki-kasami"])
def test_one_bit_stands_for_the_whole_counter(name: str) -> None:
    """The bit "has heard of the latest entry" is the counter: walk all runs with real counters beside it."""
    what = setting(CATALOGUE[name], 2, 2)
    model = Model(what, History((PROPERTIES["fence"].ghost(2),)), canonical=False)
    start = (model.initial, (0, 0), ((), ()), 0)
    seen, queue = {start}, [start]
    for state, counters, mail, latest in queue:
        for action, target in model.actions(state):
            i = action.site
            mine, boxes = counters[i], [list(box) for box in mail]
            if action.event == "deliver":
                carried = next(x for x in boxes[i] if x[:2] == (action.sender, action.message))
                boxes[i].remove(carried)
                mine = max(mine, carried[2])
            newest = latest
            if action.entered:
                mine += 1
                assert (mine > latest) == (not target & WRONG)
                newest = mine
            before = model.things(state)
            for j, local in enumerate(model.things(target)[:-1]):
                old = before[j].inbox if j != i else boxes[i]
                grown = len(local.inbox) - len(old)
                boxes[j] += [(x.sender, x.message, mine) for x in local.inbox[len(local.inbox) - grown :]]
            both = tuple(mine if j == i else c for j, c in enumerate(counters))
            node = (target, both, tuple(tuple(box) for box in boxes), newest)
            if node not in seen:
                seen.add(node)
                queue.append(node)
    assert len(queue) > 50


def test_causal_order_fails_for_suzuki_kasami() -> None:
    """1 asks; 2 hears it; 2 asks; the idle holder hears 2 first and serves it first."""
    report = check(claims("suzuki-kasami", "causal"), nodes=3, rounds=1)
    assert (report.verdict, report.property) == ("violated", "causal")
    assert [step.command for step in report.trace[:3]] == ["acquire 1", "deliver 1>2", "acquire 2"]
    assert "asked knowing that site 1 was waiting" in report.reason


@pytest.mark.parametrize(
    ("name", "rounds", "holds"),
    [
        ("raymond-tree", (1, 1, 1), True),
        ("naimi-trehel", (1, 1, 1), True),
        ("naimi-trehel", (1, 2, 1), False),
        ("ricart-agrawala", (1, 1, 1), True),
    ],
    ids=str,
)
def test_causal_order_of_three_sites(name: str, rounds: tuple[int, ...], holds: bool) -> None:
    """What each card says of causal order; timestamps respect causality."""
    report = check(claims(name, "causal"), nodes=3, rounds=rounds, properties=["causal"])
    assert report.verdict == ("holds" if holds else "violated")


@pytest.mark.parametrize("name", ["lamport", "ricart-agrawala"])
def test_timestamp_order_is_strict(name: str) -> None:
    """Timestamps: increasing over all requests of the run."""
    report = check(CATALOGUE[name], nodes=2, rounds=2, properties=["timestamp"])
    assert report.properties == {"timestamp": "proved"}


@pytest.mark.parametrize(("channels", "states"), [("fifo", 513), ("any", 605)])
def test_strict_order_with_pinned_counts(channels: str, states: int) -> None:
    """N=2, three rounds, strict, both channels: 513 and 605 states."""
    what = setting(CATALOGUE["ricart-agrawala"], 2, 3, 1, channels)
    graph = explore(Space(what, ["messages"], History((PROPERTIES["timestamp"].ghost(2),))))
    assert len(graph.states) == states


def test_on_a_second_core_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the main search is large, the one with a memory runs beside it in a process of its own."""
    alone = check(CATALOGUE["ricart-agrawala"], nodes=3, rounds=2, channels="fifo")
    monkeypatch.setattr(judge, "LARGE", 1)
    monkeypatch.setattr(beside, "cores", lambda: 2)
    monkeypatch.setattr(passes.Assignment, "remembering", once(passes.Assignment.remembering))
    together = check(CATALOGUE["ricart-agrawala"], nodes=3, rounds=2, channels="fifo")
    assert together.properties == alone.properties
    assert [s.states for s in together.searches] == [s.states for s in alone.searches]


def once(method: Callable[..., Finding]) -> Callable[..., Finding]:
    """The same, but only in another process than this one."""
    here = os.getpid()

    def guarded(*arguments: Any, **named: Any) -> Finding:
        assert os.getpid() != here
        return method(*arguments, **named)

    return guarded
