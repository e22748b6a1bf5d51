"""Every reduction answers as the unreduced search does (lab.md, section 2.6)."""

from __future__ import annotations

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import REDUCTIONS, Setting, Space, check, explore, setting
from soloist.check.model import Model

from .toys import Forgetful, card

SMALL = [
    ("lamport", 2, 2, "fifo"),
    ("lamport", 3, (1, 1, 0), "fifo"),
    ("naimi-trehel", 3, 1, "any"),
    ("raymond-tree", 3, 2, "any"),
    ("ricart-agrawala", 2, 2, "any"),
    ("ricart-agrawala", 3, 1, "any"),
    ("ricart-agrawala", 3, (2, 1, 0), "fifo"),
    ("suzuki-kasami", 2, 2, "any"),
    ("suzuki-kasami", 3, 1, "any"),
]


def differences(what: Setting, reductions: list[str]) -> int:
    """In how many states of the unreduced graph, seen through reductions, something else can follow."""
    raw, space = Model(what, canonical=False), Space(what, reductions)
    seen, queue, differ = {raw.initial}, [raw.initial], 0
    for state in queue:
        targets = raw.targets(state)
        image = {space.recognise(raw, target) for target in targets}
        differ += image != set(space.targets(space.recognise(raw, state)))
        new = set(targets) - seen
        seen |= new
        queue += new
    return differ


@pytest.mark.parametrize(("name", "nodes", "rounds", "channels"), SMALL, ids=str)
def test_quotients_are_bisimilar(name: str, nodes: int, rounds: int, channels: str) -> None:
    """`messages`, `values` and `clocks` lump states together. For every state of the unreduced graph, what can
    follow it is, seen through the reductions, exactly what can follow its image: so nothing is lost or
    added, for any property and any run, endless ones included. This tests what the algorithms declare."""
    what = setting(CATALOGUE[name], nodes, rounds, 1, channels)
    assert differences(what, ["messages", "values", "clocks"]) == 0


def test_a_false_declaration_would_be_noticed() -> None:
    """The test above has teeth: a value that is read although it is declared settled fails it."""
    assert differences(setting(card(Forgetful), 2, 2, 1, "any"), ["messages", "values"]) > 0


@pytest.mark.parametrize("without", [*((name,) for name in REDUCTIONS), REDUCTIONS], ids="+".join)
@pytest.mark.parametrize(
    ("name", "nodes", "rounds", "channels"),
    [case for case in SMALL if case[0] in ("lamport", "ricart-agrawala")]
    + [("suzuki-kasami", 3, 1, "fifo"), ("naimi-trehel", 3, 2, "fifo"), ("raymond-tree", 3, 2, "fifo")],
    ids=str,
)
def test_same_answers(name: str, nodes: int, rounds: int, channels: str, without: tuple[str, ...]) -> None:
    kept = [reduction for reduction in REDUCTIONS if reduction not in without]
    full = check(CATALOGUE[name], nodes, rounds, channels=channels, endless_states=4_000)
    less = check(CATALOGUE[name], nodes, rounds, channels=channels, reductions=kept, endless_states=4_000)
    assert (less.verdict, less.max_inside) == (full.verdict, full.max_inside) == ("holds", 1)
    assert less.states >= full.states
    judged = {name: outcome.split(",")[0].split(" for")[0] for name, outcome in less.properties.items()}
    assert set(judged.values()) == {"holds"}


@pytest.mark.parametrize("measure", ["messages", "wait"])
@pytest.mark.parametrize(
    ("name", "rounds"),
    [("lamport", (2, 2)), ("ricart-agrawala", (1, 1, 1)), ("suzuki-kasami", (2, 1, 1))],
    ids=str,
)
def test_receiver_keeps_the_worst_case(name: str, rounds: tuple[int, ...], measure: str) -> None:
    """Steps that properties look at are not reordered, so longest paths by entries and messages stay."""
    both = [
        check(CATALOGUE[name], len(rounds), rounds, channels="fifo", reductions=kept, worst=measure).worst
        for kept in (REDUCTIONS, [r for r in REDUCTIONS if r != "receiver"])
    ]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0].cost == both[1].cost


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


def test_clocks_make_endless_requests_finite() -> None:
    """Counting from the least value in use, Ricart-Agrawala has 2622 states in all, whatever the rounds."""
    what = setting(CATALOGUE["ricart-agrawala"], 3, 1).unbounded()
    assert len(explore(Space(what, ["messages", "clocks", "values"])).states) == 2622
