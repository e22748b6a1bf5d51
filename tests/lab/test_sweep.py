"""Plans: what they spell out, and what they refuse before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from soloist.core import UsageError
from soloist.lab import Contender, Seeds, Sweep, planned, read_sweep
from soloist.sim import Saturated, Thinking
from soloist.sim.links import Exponential
from tests.lab.helpers import PLAN, small

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep.toml"


def test_a_plan_is_the_product_of_situations_algorithms_and_seeds() -> None:
    cells = small().cells()
    assert [(c.parameters["rate"], c.label, c.experiment.seed) for c in cells] == [
        (rate, label, seed)
        for rate in (0.1, 10.0)
        for label in ("naimi-trehel", "lamport")
        for seed in (1, 2, 3)
    ]
    assert all(c.experiment.replications == 1 for c in cells)
    assert len({c.digest() for c in cells}) == len(cells)


def test_seeds_are_a_count_a_count_from_a_first_one_or_a_list() -> None:
    def seeds(given: Seeds | tuple[int, ...]) -> set[int]:
        return {cell.experiment.seed for cell in small(seeds=given).cells()}

    assert seeds(Seeds(2)) == {1, 2}
    assert seeds(Seeds(count=2, first=10)) == {10, 11}
    assert seeds((5, 3)) == {5, 3}


def test_parameters_are_those_of_simulate() -> None:
    fixed = {
        "nodes": 6, "k": 2, "saturate": True, "latency": "exponential:2ms", "send_cost": "1ms", "receive_cost": 0.002,
        "inside": 0, "entries": 50, "warmup": 7, "channels": "fifo",
    }  # fmt: skip
    (cell,) = Sweep("all", (Contender("raymond-k"),), fixed).cells()
    e = cell.experiment
    assert (e.nodes, e.k, e.inside, e.entries, e.warmup) == (6, 2, 0, 50, 7)
    assert e.workload == Saturated()
    assert e.network.delay == Exponential(0.002)
    assert (e.network.send_cost, e.network.receive_cost, e.network.fifo) == (0.001, 0.002, True)
    assert cell.parameters == fixed


def test_what_is_left_out_is_what_simulate_takes() -> None:
    lamport, other = Sweep("d", (Contender("lamport"), Contender("naimi-trehel"))).cells()
    assert lamport.experiment.workload == Thinking(1.0)
    assert lamport.experiment.entries == 10_000
    assert lamport.experiment.network.fifo  # its card asks for it
    assert not other.experiment.network.fifo


def test_a_label_names_the_options_unless_it_is_given() -> None:
    assert Contender("raymond-tree", options={"topology": "star"}).label == "raymond-tree topology=star"
    assert Contender("raymond-tree", "star", {"topology": "star"}).label == "star"
    assert Contender("maekawa", printed=True).label == "maekawa as printed"


def test_what_is_printed_runs_as_printed() -> None:
    (cell,) = Sweep("p", (Contender("ricart-agrawala", printed=True),)).cells()
    assert (
        cell.experiment.card() is not Sweep("r", (Contender("ricart-agrawala"),)).cells()[0].experiment.card()
    )


def test_the_example_is_readable() -> None:
    assert len(read_sweep(EXAMPLE).cells()) == 80
    assert {row.label for row in planned(read_sweep(EXAMPLE)).rows} >= {"raymond-tree on a star"}


def test_a_plan_without_a_name_is_called_like_its_file(tmp_path: Path) -> None:
    file = tmp_path / "rings.toml"
    file.write_text('algorithms = ["central"]\nseeds = { count = 2, first = 7 }\n')
    sweep = read_sweep(file)
    assert (sweep.name, sweep.seeds) == ("rings", Seeds(2, 7))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"fixed": {"node": 3}}, "fixed.node: unknown parameter 'node'; did you mean nodes"),
        ({"fixed": {"nodes": 2.5}}, "fixed.nodes: nodes must be a whole number from 1, not 2.5"),
        ({"fixed": {"rate": 1}}, "vary.rate: is in fixed, too"),
        ({"fixed": {"saturate": True}}, "rate and saturate exclude each other"),
        ({"fixed": {"saturate": 1}}, "saturate must be true or false"),
        ({"fixed": {"latency": "gamma:2"}}, "fixed.latency: unknown latency 'gamma'"),
        ({"fixed": {"inside": "-1ms"}}, "inside must not be negative"),
        ({"fixed": {"channels": "lifo"}}, "channels must be fifo or any"),
        ({"fixed": {"k": 2}}, "naimi-trehel lets one site in at a time"),
        ({"vary": {"rate": []}}, "vary.rate: should be a list of values"),
        ({"vary": {"rate": 3}}, "vary.rate: should be a list of values"),
        ({"vary": {"rate": "12"}}, "vary.rate: should be a list of values"),
        ({"vary": {"rate": [1, 1]}}, "vary.rate: has 1 twice"),
        ({"vary": {"rate": [1, -1]}}, "rate must be a number above 0"),
        ({"algorithms": ()}, "algorithms: names none"),
        ({"algorithms": (Contender("lamport"),) * 2}, "algorithms.1: two are called 'lamport'"),
        ({"algorithms": (Contender("lamprot"),)}, "unknown algorithm 'lamprot'; did you mean lamport?"),
        ({"algorithms": (Contender("lamport", options={"x": 1}),)}, "unknown option of lamport 'x'"),
        ({"algorithms": (Contender("lamport", printed=True),)}, "nothing wrong is printed of 'lamport'"),
        ({"seeds": ()}, "seeds: is empty"),
        ({"seeds": (1, 1)}, "seeds: has a seed twice"),
        ({"seeds": Seeds(0)}, "seeds: count must be at least 1"),
    ],
)
def test_what_can_not_run_is_refused_in_one_line(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError) as error:
        small(**change).cells()
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_number_of_sites_that_a_quorum_system_can_not_have_is_named() -> None:
    three = Contender("maekawa", "for three", {"quorums": "0+1,1+2,2+0"})
    with pytest.raises(UsageError, match=r"algorithms\.0: for three with nodes=4: .*3"):
        Sweep("q", (three,), vary={"nodes": [3, 4]}).cells()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("seeds = 25", "sedes = 25", "plan.toml:2: sedes: unknown key 'sedes'; did you mean seeds?"),
        (
            "seeds = 25",
            'seeds = "x"',
            "plan.toml:2: seeds: should be a whole number or a table or a list, not text in quotes",
        ),
        ("seeds = 25", "seeds = { count = 1, frist = 2 }", "plan.toml:2: seeds.frist: unknown key"),
        ("seeds = 25", "seeds = ", "plan.toml:2:9: "),
        ('["naimi', '["nami', "plan.toml:3: algorithms.0.name: unknown algorithm 'nami-trehel'"),
        (
            "topology",
            "topologie",
            "plan.toml:3: algorithms.1: raymond-tree topologie=star with rate=0.1: unknown",
        ),
        ("options", "opt", "plan.toml:3: algorithms.1.opt: unknown key 'opt'; did you mean options?"),
        ("nodes = 5", "nodes = 0", "plan.toml:6: fixed.nodes: nodes must be a whole number from 1"),
        ("entries = 100", "entires = 1", "plan.toml:7: fixed.entires: unknown parameter 'entires'"),
        ("[0.1, 1,", '[0.1, "1",', "plan.toml:10: vary.rate: rate must be a number above 0"),
        ("[fixed]", "[[fixed]]", "fixed: should be a table"),
    ],
)
def test_a_file_is_blamed_with_line_and_key(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = tmp_path / "plan.toml"
    assert old in PLAN
    file.write_text(PLAN.replace(old, new))
    with pytest.raises(UsageError) as error:
        read_sweep(file)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not text in UTF-8"):
        read_sweep(tmp_path / "noise.toml")
