"""The conformance suite: what every algorithm of the catalogue must show, from its card alone.

Safety, deadlock, livelock, starvation and the fence by exhaustive check; the card's message formulas by
simulation; traces that one seed reproduces. An algorithm added to the catalogue is tested from then on.
"""

from __future__ import annotations

import msgspec
import pytest

from soloist.algorithms import CATALOGUE, Card, find
from soloist.algorithms.printed import ERRATA, EXAMPLES, NOTES, PRINTED, SLIPS, Erratum, Example
from soloist.check import Limits, Report, Space, check, explore, setting
from soloist.check.judge import ENDLESS_STATES
from soloist.core import encode
from soloist.core.trace import Recorder
from soloist.lab.refute import is_printed, refute, replay_erratum
from soloist.net.engine.sites import decoder
from soloist.sim import Experiment, Result, Saturated, Thinking, simulate
from soloist.sim.links import Constant, Exponential, Network
from tests.pages import DOCS, generate

Rounds = int | tuple[int, ...]

ALL = sorted(CATALOGUE)
ENTRIES, ENTRIES_AT_HEAVY_LOAD = 1500, 600
LIMITS = Limits(states=3_000_000, seconds=600)
COUNT_WITHOUT_END = {
    "agrawal-el-abbadi",
    "carvalho-roucairol",
    "kakugawa",
    "maekawa",
    "majority",
    "singhal-heuristic",
}
"""Two sites are proved free of starvation with requests without end in every algorithm that promises it. With three, in
these a site that is not asked hears of no numbers, and while it stays idle the others count ahead of it without
end (in Singhal's heuristic, who asks most has the largest number). How far it is behind is how often it may
then go first, so no normal form can forget it. (The simulator sees that everybody is served.)"""
NOBODY_IDLE = {"maekawa"}
"""Of these, proved for those runs in which no site is idle for long."""
LARGE = {
    "helary-plouzeau-raynal",
    "lamport",
    "lodha-kshemkalyani",
    "mishra-srimani",
    "mizuno-neilsen-rao",
    "naimi-thiare",
    "raymond-k",
    "singhal-dynamic",
    "srimani-reddy",
    "suzuki-kasami-bounded",
}
"""With three sites they have more states than `check` looks at by default, and most of them perhaps no end."""


def k_of(card: Card, n: int) -> int:
    """The capacity to test with: two, where the algorithm allows it and somebody has to wait."""
    return min(2, n - 1) if card.capacity == "K" else 1


def assert_kept(report: Report) -> None:
    """Everything that is promised is proved, but for starvation where there are too many states without end: then the
    check is incomplete, and says so."""
    assert report.property is None, f"{report.property}: {report.reason}\n{report.script}"
    rest = {name: how_far for name, how_far in report.properties.items() if name != "starvation"}
    assert set(rest.values()) == {"proved"}
    starvation = report.properties.get("starvation", "proved")
    assert (report.verdict, starvation) in (("holds", "proved"), ("incomplete", "for these requests"))


def assert_holds(
    card: Card, n: int, rounds: Rounds, k: int | None = None, options: dict[str, str] | None = None
) -> Report:
    k = k_of(card, n) if k is None else k
    endless = ENDLESS_STATES
    if n > 2 and card.name in (COUNT_WITHOUT_END - NOBODY_IDLE) | LARGE:
        endless = 4_000
    elif options or n > 3 or card.name in NOBODY_IDLE:
        endless = 20_000
    report = check(
        card,
        n,
        rounds,
        k,
        options=options,
        limits=LIMITS,
        endless_states=endless,
    )
    assert_kept(report)
    assert report.max_inside == k
    assert report.vacuity is not None
    assert not report.vacuity.phases_unreached
    return report


# Exhaustive checks.

Case = tuple[str, int, Rounds, int, dict[str, str]]
BEYOND: list[Case] = [
    ("agrawal-el-abbadi", 7, (0, 0, 0, 1, 1, 1, 0), 1, {}),
    ("agrawal-el-abbadi", 7, (0, 0, 0, 1, 1, 1, 0), 1, {"failed": "1"}),
    ("bulgannawar-vaidya", 3, 1, 2, {"inform": "1"}),
    ("bulgannawar-vaidya", 3, 2, 2, {"inform": "1", "token": "last-seen"}),
    ("kakugawa", 4, (1, 1, 1, 0), 1, {}),
    ("lamport", 3, 1, 1, {"acks": "needed"}),
    ("lodha-kshemkalyani", 3, (2, 1, 1), 1, {"improvement": "1"}),
    ("lodha-kshemkalyani", 3, (2, 1, 1), 1, {"improvement": "2"}),
    ("lodha-kshemkalyani", 3, (2, 1, 1), 1, {"improvement": "1+3"}),
    ("lodha-kshemkalyani", 3, (2, 1, 1), 1, {"improvement": "1+2"}),
    ("maekawa", 4, (1, 1, 1, 0), 1, {}),
    ("majority", 5, (1, 1, 1, 0, 0), 1, {}),
    ("majority", 3, 1, 1, {"votes": "all"}),
    ("mizuno-neilsen-rao", 4, (1, 1, 1, 0), 1, {}),
    ("raymond-tree", 3, 2, 1, {"piggyback": "yes"}),
    ("sanders", 3, 1, 1, {"structure": "maekawa"}),
    ("sanders", 3, 1, 1, {"structure": "lamport"}),
    ("srimani-reddy", 3, (3, 1, 1), 2, {"L": "2"}),
]
"""Where three sites and the usual options are not enough: quorums of which two meet elsewhere than at one of the two
sites, so that permissions are asked back; and options that bring messages of their own."""


@pytest.mark.parametrize("name", ALL)
def test_two_sites_with_two_requests_each(name: str) -> None:
    report = assert_holds(find(name), 2, rounds=2)
    if "starvation" in report.properties:
        assert report.properties["starvation"] == "proved"
        assert report.how["starvation"] == "sites asking without end"


@pytest.mark.parametrize(("name", "n", "rounds", "k", "options"), BEYOND, ids=str)
def test_larger_systems_and_other_options(
    name: str, n: int, rounds: Rounds, k: int, options: dict[str, str]
) -> None:
    assert_holds(find(name), n, rounds, k, options)


def cases(card: Card) -> list[Case]:
    usual: list[Case] = [(card.name, 2, 2, k_of(card, 2), {}), (card.name, 3, 1, k_of(card, 3), {})]
    return usual + [case for case in BEYOND if case[0] == card.name]


@pytest.mark.parametrize("name", ALL)
def test_every_message_is_received_in_some_check(name: str) -> None:
    """A rule that none of the checks above ever comes to has not been checked."""
    card = find(name)
    missing = {kind.__name__ for kind in card.process.handlers}
    for _, n, rounds, k, options in cases(card):
        if not missing:
            break
        report = check(card, n, rounds, k, options=options, properties=["exclusion"], limits=LIMITS)
        assert report.vacuity is not None
        missing -= set(report.vacuity.messages)
    assert not missing


@pytest.mark.parametrize("name", [name for name in ALL if CATALOGUE[name].capacity == "K"])
def test_an_algorithm_for_many_may_serve_for_one(name: str) -> None:
    """With K=1 there is a fence to be judged, too."""
    report = assert_holds(find(name), 3, rounds=1, k=1)
    assert report.properties["fence"] == "proved"


WITHOUT_ORDER = [name for name in ALL if CATALOGUE[name].links(1) == "any" != CATALOGUE[name].channels]


@pytest.mark.parametrize(("nodes", "rounds"), [(2, 3), (3, 2), (4, 1), (4, (2, 1, 1, 0))], ids=str)
@pytest.mark.parametrize("name", WITHOUT_ORDER)
def test_one_token_needs_no_order_of_messages(name: str, nodes: int, rounds: Rounds) -> None:
    """What the card says: links that must be FIFO for K entries need not be for one; the fence holds, too."""
    report = assert_holds(find(name), nodes, rounds, k=1)
    assert report.channels == "any"
    assert report.properties["fence"] == "proved"


def test_what_serves_as_a_lock_without_order_is_known() -> None:
    assert WITHOUT_ORDER == ["bulgannawar-vaidya"]


@pytest.mark.parametrize("name", ALL)
def test_three_sites_with_one_request_each(name: str) -> None:
    report = assert_holds(find(name), 3, rounds=1)
    if "starvation" in report.properties:
        proved = report.properties["starvation"] == "proved"
        assert proved == (name in NOBODY_IDLE or name not in COUNT_WITHOUT_END | LARGE)
        assert ("before the others have asked" in report.how["starvation"]) == (name in NOBODY_IDLE)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["lodha-kshemkalyani", "srimani-reddy"])
def test_three_sites_asking_without_end(name: str) -> None:
    """Two sites asking without end are looked at above."""
    card = find(name)
    report = check(card, 3, 1, k_of(card, 3), properties=["starvation"], endless_states=400_000)
    assert report.properties["starvation"] == "proved"


@pytest.mark.parametrize("name", [name for name in ALL if CATALOGUE[name].channels == "fifo"])
def test_an_algorithm_that_asks_for_fifo_breaks_without_it(name: str) -> None:
    """A card that asks for more than the algorithm needs would be wrong, too."""
    card = find(name)
    for n, rounds in ((2, 1), (2, 2), (3, 1), (3, 2)):
        report = check(card, nodes=n, rounds=rounds, k=k_of(card, n), channels="any", limits=LIMITS)
        if report.verdict == "violated":
            return
    pytest.fail(f"{name} claims to need FIFO links, but holds without them")


# Snapshots and messages.


@pytest.mark.parametrize("name", ALL)
def test_every_state_and_message_survives_a_round_trip(name: str) -> None:
    """All that occur in the first 20 000 states of each check, with the decoder that a node uses. A partitioned
    process decodes what its inner one does, so here it is the messages of naimi-trehel."""
    card = find(name)
    decode = decoder(card)
    for _, n, rounds, k, options in cases(card):
        graph = explore(Space(setting(card, n, rounds, k, options=options)), Limits(states=20_000))
        library = graph.space.model.library
        for snapshot in library.processes:
            assert card.process.restore(snapshot).snapshot() == snapshot
        for message in library.messages:
            copy = decode(msgspec.Raw(encode(message)))
            assert copy == message
            assert type(copy) is type(message)


# Messages per entry.


def measured(
    card: Card, n: int, load: Thinking | Saturated, entries: int = ENTRIES, replications: int = 4
) -> Result:
    network = Network(Constant(0.001), fifo=card.channels == "fifo")
    return simulate(
        Experiment(
            card.name,
            n,
            k_of(card, n),
            workload=load,
            network=network,
            entries=entries,
            replications=replications,
        )
    )


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("name", [name for name in ALL if CATALOGUE[name].light])
def test_light_load_costs_what_the_card_says(name: str, n: int) -> None:
    card = find(name)
    assert card.light
    theory = card.light(card.size(n, k_of(card, n)))
    figure = measured(card, n, Thinking(0.001), replications=4 if n < 30 else 2).messages_per_entry
    assert figure.mean == pytest.approx(theory, rel=0.04, abs=0.02)


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("name", ALL)
def test_heavy_load_stays_within_the_bound(name: str, n: int) -> None:
    """The simulator itself raises where the card's bound, exclusion, service or order is broken.

    Entries cost nearly the same then, so fewer of them will do than at light load.
    """
    card = find(name)
    result = measured(card, n, Saturated(), ENTRIES_AT_HEAVY_LOAD, replications=2)
    assert result.fairness.jain > 0.5, "some site hardly ever gets in"
    if card.heavy:
        theory = card.heavy(card.size(n, k_of(card, n)))
        assert result.messages_per_entry.mean == pytest.approx(theory, rel=0.03)


# Determinism.


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_trace(name: str) -> None:
    card = find(name)
    network = Network(Exponential(0.001), fifo=card.channels == "fifo")
    experiment = Experiment(name, 5, k_of(card, 5), workload=Thinking(20.0), network=network, entries=60)

    def trace(of: Experiment) -> list[str]:
        recorder = Recorder()
        simulate(of, recorder=recorder)
        return recorder.lines()

    assert trace(experiment) == trace(experiment)
    assert trace(experiment) != trace(msgspec.structs.replace(experiment, seed=2))


# As printed.


FAILING = [each for each in (*ERRATA, *NOTES) if isinstance(each, Erratum)]


@pytest.mark.parametrize("erratum", FAILING, ids=lambda e: f"{e.algorithm}-{e.code}")
def test_an_erratum_fails_as_it_says(erratum: Erratum) -> None:
    """And its run is one of the printed text, with all its errors, where it says so, and only there."""
    report = refute(erratum)
    assert (report.verdict, report.property) == ("violated", erratum.breaks)
    section = generate.section(erratum, report)
    assert section in (DOCS / "errata.md").read_text(), "docs/errata.md is out of date: make pages"
    if erratum in ERRATA:
        assert is_printed(erratum, report) == (erratum.run == "printed")
    else:
        assert erratum.run == "not said"


@pytest.mark.parametrize(
    "erratum", [e for e in ERRATA if e.schedule], ids=lambda e: f"{e.algorithm}-{e.code}"
)
def test_a_run_of_the_printed_text_that_is_not_searched_for(erratum: Erratum) -> None:
    assert replay_erratum(erratum, PRINTED[erratum.algorithm], erratum.schedule)[1] == erratum.breaks


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.algorithm}-{e.code}")
def test_an_example_shows_what_it_says(example: Example) -> None:
    _, messages, entries = generate.counted(example)
    if example.published is not None:
        assert messages / entries > example.published
    assert generate.example_section(example) in (DOCS / "errata.md").read_text(), "out of date: make pages"


def test_the_lemma_of_naimi_and_thiare_is_false() -> None:
    example = next(e for e in EXAMPLES if (e.algorithm, e.code) == ("naimi-thiare", "E6"))
    lines, _, _ = generate.counted(example)
    assert "R=[0, 1, 2]  T=[0, 0, 0]" in lines[-1]


def test_all_that_is_known_is_on_the_page_once() -> None:
    page = (DOCS / "errata.md").read_text()
    for each in (*ERRATA, *EXAMPLES, *SLIPS, *NOTES):
        assert page.count(f"\n{generate.heading(each)}\n") == 1
        assert (page.index(f"\n{generate.heading(each)}\n") > page.index("## Notes")) == (each in NOTES)


SLOW = {("lodha-kshemkalyani", "E10"), ("lodha-kshemkalyani", "E11"), ("kakugawa", "K3")}
"""All that the card promises takes half a minute there: what the erratum breaks is looked for, and no more."""
REPAIRED = {
    str((e.algorithm, e.nodes, e.rounds, e.k, e.channels, e.options)): e
    for e in FAILING
    if e.card is not find(e.algorithm)
}
"""One erratum for each system: several may fail in the same one."""


@pytest.mark.parametrize("erratum", REPAIRED.values(), ids=lambda e: f"{e.algorithm}-{e.code}")
def test_the_repaired_algorithm_holds_where_the_erratum_fails(erratum: Erratum) -> None:
    """Requests without end are looked at above: no erratum is about them."""
    assert erratum.breaks != "starvation"
    card = find(erratum.algorithm)
    report = check(
        card,
        nodes=erratum.nodes,
        rounds=erratum.rounds,
        k=erratum.k,
        channels=erratum.channels,
        options=erratum.options,
        properties=(erratum.breaks,) if (erratum.algorithm, erratum.code) in SLOW else None,
        limits=LIMITS,
        endless_states=0,
    )
    assert_kept(report)


def test_what_is_printed_is_kept_apart() -> None:
    assert set(PRINTED) <= set(CATALOGUE)
    wrong = {each.algorithm for each in ERRATA if each.card.process is not find(each.algorithm).process}
    assert wrong == set(PRINTED)
    for name, card in PRINTED.items():
        assert card.process is not find(name).process
