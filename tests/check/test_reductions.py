"""Every reduction answers as the unreduced search does (lab.md, section 2.6)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import REDUCTIONS, Setting, Space, check, explore, setting
from soloist.check.history import History
from soloist.check.liveness import in_order
from soloist.check.model import Action, Model
from soloist.check.reductions import Early
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


@pytest.mark.parametrize(
    ("name", "nodes", "rounds", "channels"),
    [*SMALL, pytest.param("lamport", 3, 1, "fifo", marks=pytest.mark.soak)],
    ids=str,
)
def test_quotients_are_bisimilar(name: str, nodes: int, rounds: int, channels: str) -> None:
    """`messages`, `values` and `clocks` lump states together. For every state of the unreduced graph, what can
    follow it is, seen through the reductions, exactly what can follow its image: so nothing is lost or
    added, for any property and any run, endless ones included. This tests what the algorithms declare."""
    what = setting(CATALOGUE[name], nodes, rounds, 1, channels)
    assert differences(what, ["messages", "values", "clocks"]) == 0


DECLARING = [
    name for name, card in sorted(CATALOGUE.items()) if card.process.settled or card.process.counters
]
OPTIONS: list[tuple[str, dict[str, str]]] = [
    ("bulgannawar-vaidya", {"token": "last-seen"}),
    ("bulgannawar-vaidya", {"inform": "1"}),
    ("lodha-kshemkalyani", {"improvement": "1"}),
    ("lodha-kshemkalyani", {"improvement": "2"}),
    ("lodha-kshemkalyani", {"improvement": "3"}),
    ("sanders", {"structure": "maekawa"}),
]
NUMBERED = [*OPTIONS[2:], ("majority", {"votes": "all"}), ("srimani-reddy", {"L": "2"})]


@pytest.mark.parametrize(
    "rounds", [(2, 2), (2, 1, 0), pytest.param((1, 1, 1), marks=pytest.mark.soak)], ids=str
)
@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in DECLARING), *OPTIONS], ids=str)
def test_what_an_algorithm_declares_is_so(
    name: str, options: dict[str, str], rounds: tuple[int, ...]
) -> None:
    """The same for the whole catalogue, with two entries where an algorithm has them."""
    card = CATALOGUE[name]
    k = min(2, len(rounds) - 1) if card.capacity == "K" else 1
    what = setting(card, len(rounds), rounds, k, options=options)
    assert differences(what, ["messages", "values", "clocks"]) == 0


COUNTING = [name for name in DECLARING if CATALOGUE[name].process.counters]


def strays(what: Setting, steps: int, seed: int) -> Iterator[str]:
    """The same along one long run without reductions, in which site 0 asks seldom, so that its numbers stay behind.
    What a message does that is said to do nothing is looked at, too."""
    raw, space, chance = (
        Model(what, canonical=False),
        Space(what, ["messages", "values", "clocks"]),
        Random(seed),
    )
    state = raw.initial
    for _ in range(steps):
        here = space.recognise(raw, state)
        actions = raw.actions(state)
        image = set()
        for action, target in actions:
            there = space.recognise(raw, target)
            if not (space.model.drops and is_void(raw, state, action)):
                image.add(there)
            elif there != here or action.sent or action.entered:
                yield f"{action} does something"
        if image != set(space.targets(here)):
            yield f"{raw.things(state)}"
        lively = [target for action, target in actions if action[:2] != (0, "acquire")]
        state = chance.choice(lively if lively and chance.random() < 0.95 else [t for _, t in actions])


def is_void(model: Model, state: int, action: Action) -> bool:
    if action.event != "deliver":
        return False
    process = model.process(state, action.site)
    return process.void(action.sender, model.library.messages[action.message])


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in COUNTING), *NUMBERED], ids=str)
def test_what_an_algorithm_declares_is_so_however_far_it_has_counted(
    name: str, options: dict[str, str], n: int
) -> None:
    card = CATALOGUE[name]
    k = min(2, n - 1) if card.capacity == "K" else 1
    what = setting(card, n, 1, k, options=options).unbounded()
    assert next(strays(what, 1000, seed=n), None) is None


@pytest.mark.parametrize("kind", MISCOUNTING, ids=lambda kind: kind.__name__)
def test_a_false_counter_would_be_noticed(kind: type[Process]) -> None:
    what = setting(recast(kind), 3, 1).unbounded()
    assert next(strays(what, 1000, seed=3), None)


def test_a_false_declaration_would_be_noticed() -> None:
    """The test above has teeth: a value that is read although it is declared settled fails it."""
    assert differences(setting(card(Forgetful), 2, 2, 1, "any"), ["messages", "values"]) > 0
    assert differences(setting(card(ForgetfulOfMail), 2, 2, 1, "fifo"), ["messages", "values"]) > 0


def test_a_false_declaration_that_spoils_a_run_is_named() -> None:
    """A state of the search that no real run leads to: the report must not be a crash of the checker."""
    with pytest.raises(UsageError, match="declares something settled"):
        check(card(ReadsWhatIsSettled), 3, 1)


def hasty(what: Setting, history: History | None = None) -> Iterator[str]:
    """Deliveries that the algorithm calls early although it matters when they are made."""
    space = Space(what, ["messages", "values", "clocks"], history)
    early = Early(space.model)
    states = explore(space).states
    assert any(next(early.steps(state), None) for state in states)
    for state in states:
        for action, target in early.steps(state):
            for other, there in space.actions(state):
                if link(other) != link(action) and not swaps(early, space, action, target, other, there):
                    yield f"{action} and {other}"


def link(action: Action) -> tuple[object, ...]:
    """What is done, whatever the clocks are by now."""
    return (*action[:3], action.timer, action.choices)


def swaps(early: Early, space: Space, action: Action, target: int, other: Action, there: int) -> bool:
    """Both orders are possible and lead to the same state. Neither changes what the other does, but for this:
    a site may enter at the last of several deliveries, whichever it is, if the others send nothing. And the
    early one is early still afterwards, unless it has become the last."""
    now = {link(a): (a, end) for a, end in space.actions(space.normal(target))}.get(link(other))
    later = {link(a): (a, end) for a, end in space.actions(there)}.get(link(action))
    if now is None or later is None or now[1] != later[1] or now[0].sent != other.sent or later[0].sent:
        return False
    if later[0].entered:
        return now[0].entered and (other.site, other.event, other.sent) == (action.site, "deliver", 0)
    stays = link(action) in {link(a) for a, _ in early.steps(there)}
    return stays and now[0].entered == other.entered


@pytest.mark.parametrize(
    ("nodes", "rounds", "acks"),
    [
        (2, 3, "always"),
        (2, 3, "needed"),
        (3, (1, 1, 0), "always"),
        (3, (1, 1, 0), "needed"),
        (3, (2, 0, 1), "always"),
        (3, 1, "always"),
        (4, (1, 1, 0, 0), "always"),
        pytest.param(3, (2, 1, 1), "always", marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_what_is_early_can_be_swapped(nodes: int, rounds: int, acks: str) -> None:
    """`early` makes some deliveries first, and alone. On the graph without it: each of them commutes with
    every other step, and goes on doing so until it is made. This tests what the algorithm declares."""
    what = setting(CATALOGUE["lamport"], nodes, rounds, options={"acks": acks})
    assert next(hasty(what), None) is None


def test_what_is_early_can_be_swapped_with_a_memory() -> None:
    what = setting(CATALOGUE["lamport"], 3, (1, 1, 0))
    assert next(hasty(what, History(sites=3, fence=True, causal=True, timestamp=True)), None) is None


@pytest.mark.parametrize("kind", HASTY, ids=lambda kind: kind.__name__)
def test_a_false_claim_to_be_early_would_be_noticed(kind: type[Process]) -> None:
    assert next(hasty(setting(card(kind), 3, (1, 1, 0), 1, "fifo")), None)


@pytest.mark.parametrize("without", [*((name,) for name in REDUCTIONS), REDUCTIONS], ids="+".join)
@pytest.mark.parametrize(
    ("name", "nodes", "rounds", "channels"),
    [case for case in SMALL if case[0] == "ricart-agrawala" or case[:1] + case[3:] == ("lamport", "fifo")]
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
            CATALOGUE[name], len(rounds), rounds, channels="fifo", reductions=kept, worst=measure
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
