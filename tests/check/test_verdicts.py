"""What the checker says about the catalogue, with the numbers that must not move."""

from __future__ import annotations

import pytest

from soloist.algorithms import CATALOGUE
from soloist.check import REDUCTIONS, Limits, Space, check, explore, setting, text

FIVE = ("lamport", "naimi-trehel", "raymond-tree", "ricart-agrawala", "suzuki-kasami")

COUNTS = [
    # algorithm, sites, rounds, channels, states and transitions unreduced but for link order, states reduced
    ("lamport", 2, 1, "fifo", 80, 103, 39),
    ("lamport", 2, 2, "fifo", 1228, 2061, 221),
    ("lamport", 2, 3, "fifo", 6830, 12791, 570),
    ("naimi-trehel", 3, 1, "any", 164, 296, 164),
    ("naimi-trehel", 3, 2, "fifo", 1432, 2779, 1432),
    ("naimi-trehel", 3, 2, "any", 1530, 3113, 1530),
    ("raymond-tree", 3, 1, "any", 150, 271, 150),
    ("raymond-tree", 3, 2, "fifo", 854, 1705, 854),
    ("raymond-tree", 3, 2, "any", 1004, 2055, 1004),
    ("ricart-agrawala", 3, 1, "fifo", 2332, 6027, 1654),
    ("ricart-agrawala", 3, 1, "any", 3293, 10087, 2625),
    ("ricart-agrawala", 3, 2, "fifo", 35202, 93630, 12385),
    ("suzuki-kasami", 3, 1, "any", 729, 2081, 707),
    ("suzuki-kasami", 3, 2, "fifo", 17174, 53595, 9494),
]


@pytest.mark.parametrize(("name", "nodes", "rounds", "channels", "states", "transitions", "reduced"), COUNTS)
def test_pinned_counts(
    name: str, nodes: int, rounds: int, channels: str, states: int, transitions: int, reduced: int
) -> None:
    """A changed count is a changed algorithm. Ricart-Agrawala's 2332 and 3293 for three sites were found
    by another program, too."""
    what = setting(CATALOGUE[name], nodes, rounds, 1, channels)
    graph = explore(Space(what, ["messages"]))
    assert (len(graph.states), graph.transitions) == (states, transitions)
    assert len(explore(Space(what)).states) == reduced


@pytest.mark.parametrize("name", [name for name in FIVE if name != "lamport"])
def test_the_catalogue_holds_with_three_sites_and_two_rounds(name: str) -> None:
    report = check(CATALOGUE[name], nodes=3, rounds=2)
    assert (report.verdict, report.property, report.max_inside) == ("holds", None, 1)
    assert set(report.properties) >= {"exclusion", "error", "deadlock", "livelock", "starvation", "fence"}
    assert set(report.properties.values()) == {"proved"}
    assert report.how["starvation"].startswith("sites asking")
    assert report.vacuity is not None
    optional = {"raymond-tree": ("PrivilegeAndRequest",)}  # sent with `piggyback` only
    assert report.vacuity.messages_unreached == optional.get(name, ())
    assert not report.vacuity.phases_unreached


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("nodes", "rounds"), [(1, 2), (2, 3), (3, (2, 1, 0)), (3, (1, 1, 0)), (3, (0, 0, 2))], ids=str
)
def test_lamport_holds(nodes: int, rounds: int | tuple[int, ...]) -> None:
    """Three sites that never stop asking have more states than are looked at here: so much is left open."""
    report = check(CATALOGUE["lamport"], nodes=nodes, rounds=rounds, endless_states=5_000)
    rest = {name: how_far for name, how_far in report.properties.items() if name != "starvation"}
    assert set(rest.values()) == {"proved"}
    endless = nodes < 3 or rounds == (0, 0, 2)
    assert report.properties["starvation"] == ("proved" if endless else "for these requests")
    assert (report.verdict, report.exit_code()) == (("holds", 0) if endless else ("incomplete", 3))


@pytest.mark.soak
def test_lamport_holds_with_three_sites_and_two_rounds() -> None:
    report = check(CATALOGUE["lamport"], nodes=3, rounds=2)
    assert (report.verdict, report.property, report.max_inside) == ("incomplete", None, 1)
    assert report.properties.pop("starvation") == "for these requests"
    assert set(report.properties.values()) == {"proved"}
    assert report.vacuity is not None
    assert not report.vacuity.messages_unreached
    assert not report.vacuity.phases_unreached


@pytest.mark.smoke
@pytest.mark.parametrize("name", FIVE)
def test_one_site_alone(name: str) -> None:
    report = check(CATALOGUE[name], nodes=1, rounds=3)
    assert (report.verdict, report.bypass_bound) == ("holds", 0)


@pytest.mark.smoke
def test_lamport_needs_fifo() -> None:
    """The shortest counterexample has four steps, both sites are inside."""
    report = check(CATALOGUE["lamport"], nodes=2, rounds=1, channels="any")
    assert (report.verdict, report.property, report.max_inside) == ("violated", "exclusion", 2)
    assert [step.command for step in report.trace] == [
        "acquire 0",
        "acquire 1",
        "deliver 1>0",
        "deliver 0>1 Ack(t=2)",
    ]
    assert "sites 0 and 1 are inside; at most 1 may be" in report.reason
    assert report.exit_code() == 1


def test_lamport_needs_fifo_with_three_sites_too() -> None:
    report = check(CATALOGUE["lamport"], nodes=3, rounds=2, channels="any")
    assert (report.verdict, report.property) == ("violated", "exclusion")


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(states=500), "500 states"),
        (Limits(memory=1), "1 MiB"),
        (Limits(seconds=1e-6), "seconds"),
    ],
)
def test_a_search_cut_short_proves_nothing(limits: Limits, word: str) -> None:
    report = check(CATALOGUE["ricart-agrawala"], nodes=3, rounds=2, limits=limits)
    assert (report.verdict, report.property, report.exit_code()) == ("incomplete", None, 3)
    assert word in report.reason
    assert report.properties["exclusion"] == "not judged"
    assert "proves nothing" in text(report)


def test_bounded_requests_do_not_show_that_nobody_starves() -> None:
    """Of three sites that never stop asking Maekawa's algorithm has more states than are looked at."""
    report = check(CATALOGUE["maekawa"], 3, 1, endless_states=2_000)
    assert (report.verdict, report.property, report.exit_code()) == ("incomplete", None, 3)
    assert "starvation judged for these requests only" in report.reason
    assert "cut off at 2000 states" in report.reason
    assert report.properties["starvation"] == "for these requests"
    assert {report.properties[name] for name in ("exclusion", "deadlock", "livelock", "fence")} == {"proved"}
    assert "    starvation     for these requests, where sites never stop asking" in text(report)
    assert report.record()["how"]["starvation"] == report.how["starvation"]


def test_endless_requests_that_are_not_tried_are_not_judged() -> None:
    report = check(CATALOGUE["naimi-trehel"], 2, 1, endless_states=0)
    assert (report.verdict, report.properties["starvation"]) == ("incomplete", "for these requests")
    assert "--endless" in report.reason


def test_fewer_promises_can_be_kept() -> None:
    """Whoever does not ask for starvation gets an answer to the rest."""
    report = check(CATALOGUE["maekawa"], 3, 1, properties=["exclusion", "deadlock"])
    assert (report.verdict, report.reason) == ("holds", "")
    assert report.properties == {"exclusion": "proved", "deadlock": "proved"}


def test_raynal_promises_what_it_keeps() -> None:
    """Whoever asks alone, or more often than others, may wait for ever: that is said, not promised."""
    card = CATALOGUE["raynal"]
    assert card.fairness == "none"
    for rounds in (1, 2, (1, 0), (2, 1)):
        report = check(card, 2, rounds)
        assert report.verdict == "holds", f"{rounds}: {report.property}"
        assert "starvation" not in report.properties
        assert ("livelock" in report.properties) == isinstance(rounds, int)
    assert check(card, 2, 1, properties=["starvation"]).verdict == "violated"


def test_an_interrupted_search_reports_what_it_has() -> None:
    """Ctrl-C: statistics so far, and no verdict."""

    def interrupt(progress: object) -> None:
        raise KeyboardInterrupt

    report = check(CATALOGUE["ricart-agrawala"], nodes=3, rounds=2, watch=interrupt)
    assert (report.verdict, report.exit_code()) == ("incomplete", 3)
    assert "interrupted" in report.reason
    assert report.states >= 4096


def test_growth_adds_up() -> None:
    report = check(CATALOGUE["naimi-trehel"], nodes=3, rounds=1)
    assert sum(report.growth) == report.states
    assert report.growth[0] == 1


@pytest.mark.parametrize(
    ("name", "bound"),
    [("lamport", 1), ("ricart-agrawala", 2), ("naimi-trehel", "unbounded"), ("raymond-tree", "unbounded")],
)
def test_bypass_bound_of_two_sites(name: str, bound: int | str) -> None:
    """How often the other may enter while one waits, requests without end: computed, not claimed.

    With a token the holder re-enters for nothing while a request travels, yet
    nobody starves.
    """
    report = check(CATALOGUE[name], nodes=2, rounds=1)
    assert (report.bypass_bound, report.bypass_scope) == (bound, "requests without end")
    assert report.properties["starvation"] == "proved"
    assert report.how["starvation"] == "sites asking without end"


def test_different_requests_by_site() -> None:
    report = check(CATALOGUE["naimi-trehel"], nodes=3, rounds=(0, 2, 0))
    assert report.verdict == "holds"
    assert {
        step.site
        for step in check(CATALOGUE["naimi-trehel"], nodes=3, rounds=(0, 2, 0), worst="messages").trace
        if step.action == "acquire"
    } == {1}


@pytest.mark.smoke
def test_json_record() -> None:
    record = check(CATALOGUE["lamport"], nodes=2, rounds=1, channels="any").record()
    assert {"algorithm", "nodes", "rounds", "k", "channels", "verdict", "property"} <= set(record)
    assert {"states", "transitions", "max_inside", "bypass_bound", "seconds", "trace"} <= set(record)
    assert record["trace"][3]["message"] == "Ack(t=2)"
    assert record["trace"][3]["events"] == ("1 <- 0  Ack(t=2)", "1  enter")


def test_all_reductions_are_named() -> None:
    assert REDUCTIONS == ("messages", "values", "clocks", "receiver", "early")
