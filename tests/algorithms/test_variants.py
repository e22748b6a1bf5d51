"""What papers describe as possible: each variant keeps what its algorithm promises, and does what it is for."""

from __future__ import annotations

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, find, find_any
from soloist.check import Limits, check
from soloist.cli import main
from soloist.core import UsageError
from soloist.net import Node
from soloist.sim import Experiment, Result, Saturated, Thinking, simulate
from soloist.sim.links import Constant, Network

Rounds = int | tuple[int, ...]
Case = tuple[str, int, Rounds, int, dict[str, str]]

SMALL: list[Case] = [
    ("raymond-tree", 4, 1, 1, {"piggyback": "yes", "topology": "line"}),
    ("majority", 3, 1, 1, {"weights": "2,1,1"}),
    ("majority", 5, (1, 1, 1, 0, 0), 1, {"weights": "0,0,3,1,1"}),
    ("majority", 3, (1, 1, 0), 1, {"weights": "3,1,1", "votes": "all"}),
    ("agrawal-el-abbadi", 5, (0, 1, 1, 1, 0), 1, {"topology": "0-1,0-2,0-3,1-4"}),
    ("agrawal-el-abbadi", 4, (0, 1, 1, 1), 1, {"topology": "star", "failed": "0"}),
    ("mizuno-neilsen-rao", 4, (1, 1, 0, 0), 1, {"quorums": "modified-grid"}),
    ("lodha-kshemkalyani", 3, 1, 1, {"improvement": "1+2+3"}),
    ("bulgannawar-vaidya", 3, 1, 2, {"inform": "1", "whom": "following"}),
    ("bulgannawar-vaidya", 3, 1, 2, {"inform": "1", "whom": "asking"}),
    ("kakugawa-widening", 3, 1, 2, {}),
    ("kakugawa-widening", 3, 1, 1, {}),
    ("kakugawa-widening", 4, (1, 0, 1, 1), 2, {"coterie": "0+1,0+2,1+3,2+3"}),
    ("causal-order", 3, 1, 1, {}),
    ("causal-order", 3, 1, 1, {"inner": "helary-plouzeau-raynal"}),
    ("causal-order", 3, 1, 1, {"inner": "mizuno-neilsen-rao"}),
    ("causal-order", 3, 1, 1, {"inner": "singhal-heuristic"}),
    ("causal-order", 4, 1, 1, {"inner": "raymond-tree"}),
    ("causal-order", 4, (1, 1, 1, 2), 1, {"inner": "naimi-trehel"}),
    ("causal-order", 4, (1, 1, 1, 2), 1, {"inner": "neilsen-mizuno"}),
]
LARGE: list[Case] = [
    ("raymond-tree", 4, 2, 1, {"piggyback": "yes"}),
    ("majority", 3, 1, 1, {"weights": "3,2,2", "votes": "all"}),
    ("agrawal-el-abbadi", 7, (0, 0, 0, 0, 1, 1, 0), 1, {"topology": "0-1,0-2,0-3,1-4,2-5,3-6", "failed": "0"}),
    ("lodha-kshemkalyani", 3, (2, 1, 1), 1, {"improvement": "2+3"}),
    ("kakugawa-widening", 4, (1, 1, 1, 0), 2, {}),
    ("causal-order", 3, (2, 1, 1), 1, {}),
]  # fmt: skip


def kept(name: str, n: int, rounds: Rounds, k: int, options: dict[str, str]) -> None:
    """All that the card promises, but for starvation with requests without end, which the algorithms themselves are judged for."""
    card = find_any(name)
    report = check(
        card, n, rounds, k, options=options, limits=Limits(states=1_000_000, seconds=600), endless_states=0
    )
    assert report.property is None, f"{report.property}: {report.reason}\n{report.script}"
    proved = {name for name, how in report.properties.items() if how == "proved"}
    assert proved >= set(report.properties) - {"starvation"}
    assert {"exclusion", "deadlock", "livelock"} <= proved
    assert report.max_inside == k


@pytest.mark.parametrize(("name", "n", "rounds", "k", "options"), SMALL, ids=str)
def test_a_variant_keeps_all_promises(
    name: str, n: int, rounds: Rounds, k: int, options: dict[str, str]
) -> None:
    kept(name, n, rounds, k, options)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "n", "rounds", "k", "options"), LARGE, ids=str)
def test_a_variant_keeps_all_promises_in_larger_systems(
    name: str, n: int, rounds: Rounds, k: int, options: dict[str, str]
) -> None:
    kept(name, n, rounds, k, options)


# What they cost.


def measured(
    name: str, n: int, k: int, options: dict[str, str], load: Thinking | Saturated, entries: int
) -> Result:
    network = Network(Constant(0.001), fifo=find_any(name).channels == "fifo")
    return simulate(
        Experiment(name, n, k, options=options, workload=load, network=network, entries=entries, replications=2)
    )  # fmt: skip


COSTS: list[tuple[str, int, dict[str, str]]] = [
    ("raymond-tree", 1, {"piggyback": "yes"}),
    ("majority", 1, {"weights": "4,3,1,1,1,0,0,1,1,1"}),
    ("majority", 1, {"weights": "4,3,1,1,1,0,0,1,1,1", "votes": "all"}),
    ("agrawal-el-abbadi", 1, {"topology": "random"}),
    ("mizuno-neilsen-rao", 1, {"quorums": "modified-grid"}),
    ("lodha-kshemkalyani", 1, {"improvement": "1+2"}),
    ("lodha-kshemkalyani", 1, {"improvement": "1+2+3"}),
    ("kakugawa-widening", 2, {}),
    ("causal-order", 1, {}),
    ("causal-order", 1, {"inner": "naimi-trehel"}),
    ("causal-order", 1, {"inner": "raymond-tree"}),
]


@pytest.mark.parametrize(("name", "k", "options"), COSTS, ids=str)
def test_a_variant_costs_what_its_card_says(name: str, k: int, options: dict[str, str]) -> None:
    """The simulator itself raises where the bound, exclusion, service or order is broken."""
    card = find_any(name)
    assert card.light
    theory = card.light(card.size(10, k, options))
    light = measured(name, 10, k, options, Thinking(0.001), 1500).messages_per_entry
    assert light.mean == pytest.approx(theory, rel=0.04, abs=0.02)
    heavy = measured(name, 10, k, options, Saturated(), 600)
    assert heavy.fairness.max_bypass <= 20, "some site hardly ever gets in"


# What they are for.


def test_a_request_that_goes_with_the_token_saves_a_message() -> None:
    """Under load there are as many REQUESTs as PRIVILEGEs, and most of the former go behind one of the latter."""
    plain, paired = (
        measured("raymond-tree", 10, 1, {"piggyback": word}, Saturated(), 600).messages_per_entry.mean
        for word in ("no", "yes")
    )
    assert plain / 2 <= paired < plain - 1


def test_who_chooses_its_quorum_waits_less_and_sends_more() -> None:
    fixed, chosen = (
        measured(name, 10, 3, {}, Saturated(), 600) for name in ("kakugawa", "kakugawa-widening")
    )
    assert chosen.response_time.mean < fixed.response_time.mean
    assert chosen.messages_per_entry.mean > fixed.messages_per_entry.mean


@pytest.mark.parametrize("inner", ["suzuki-kasami", "singhal-heuristic", "ricart-agrawala-token"])
def test_without_the_transformation_the_order_is_not_causal(inner: str) -> None:
    assert check(find(inner), 3, 1, properties=["causal"]).property == "causal"
    report = check(find_any("causal-order"), 3, 1, options={"inner": inner}, properties=["causal"])
    assert report.verdict == "holds"


# What they refuse.


def test_variants_are_for_the_laboratory() -> None:
    assert not set(VARIANTS) & {*CATALOGUE, *RECOVERY}
    for name, card in VARIANTS.items():
        assert card.name == name
        with pytest.raises(
            UsageError, match=f"{name} is for `simulate`, `compare` and `check`, not for locks"
        ):
            Node("a", peers={"a": "127.0.0.1:0"}, algorithm=name)


def test_they_are_listed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    first, _, second = capsys.readouterr().out.partition("Variants, to simulate and check")
    assert all(name in second and name not in first for name in VARIANTS)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("causal-order", {"inner": "lamport"}, "one token that rests when nobody asks, such as suzuki-kasami, not lamport"),
        ("causal-order", {"inner": "token-ring"}, "not token-ring"),
        ("majority", {"weights": "1,2"}, "weights are given for 2 sites, but there are 3"),
        ("majority", {"weights": "0,0,0"}, "some above 0"),
        ("majority", {"weights": "many"}, "weights must be equal, or votes like 3,1,1,0, not 'many'"),
        ("lodha-kshemkalyani", {"improvement": "1+4"}, "unknown improvement '1\\+4'"),
        ("lodha-kshemkalyani", {"soon": "0"}, "soon must be a time above 0, such as 0.001, not '0'"),
        ("bulgannawar-vaidya", {"whom": "all"}, "unknown whom 'all'"),
        ("agrawal-el-abbadi", {"topology": "bush"}, "unknown topology 'bush'"),
    ],
)  # fmt: skip
def test_a_bad_option_is_answered_with_what_would_be_right(
    name: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        find_any(name).size(3, options=options)
