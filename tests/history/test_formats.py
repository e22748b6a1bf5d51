"""Histories as others write them, and as our own traces tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from soloist.history import check, edn
from soloist.sim import Experiment
from soloist.sim.workload import Saturated
from soloist.watch import of_script, of_simulation
from tests.watch.test_live import ENTRIES, record

JEPSEN = """\
{:index 0, :time 1000000000, :type :invoke, :process 0, :f :lock, :value ["x" nil]}
{:index 1, :time 2000000000, :type :ok, :process 0, :f :lock, :value ["x" 7]}
{:index 2, :time 2500000000, :type :info, :process :nemesis, :f :start-partition, :value #{"n1" "n2"}}
{:index 3, :time 3000000000, :type :invoke, :process 0, :f :unlock, :value ["x" 7]}
{:index 4, :time 4000000000, :type :%s, :process 0, :f :unlock, :value ["x" 7]}
{:index 5, :time %d, :type :invoke, :process 1, :f :lock, :value ["x" nil]}
{:index 6, :time %d, :type :%s, :process 1, :f :lock, :value ["x" 8], :error [:timeout "no \\"answer\\""]}
"""


@pytest.mark.parametrize(
    ("unlocked", "asked", "answered", "as_", "verdict"),
    [
        ("ok", 1_500_000_000, 3_500_000_000, "ok", "holds"),  # let in before the release was acknowledged
        ("ok", 1_500_000_000, 2_500_000_000, "ok", "violated"),
        ("ok", 1_500_000_000, 2_500_000_000, "info", "holds"),  # nobody knows whether it was let in
        ("ok", 1_500_000_000, 2_500_000_000, "fail", "holds"),
        (
            "info",
            4_500_000_000,
            5_000_000_000,
            "ok",
            "undecided",
        ),  # nobody knows whether the first one has left
        ("fail", 4_500_000_000, 5_000_000_000, "ok", "undecided"),
    ],
)
def test_operations_of_maelstrom(
    tmp_path: Path, unlocked: str, asked: int, answered: int, as_: str, verdict: str
) -> None:
    path = tmp_path / "history.edn"
    path.write_text(JEPSEN % (unlocked, asked, answered, as_))
    report = check([path])
    assert report.properties[0].verdict == verdict
    assert report.locks == 1


def test_operations_as_json(tmp_path: Path) -> None:
    lines = [
        '{"type": "invoke", "process": 0, "f": "acquire", "value": null, "time": 1}',
        '{"type": "ok", "process": 0, "f": "acquire", "value": 12, "time": 2}',
        '{"type": "invoke", "process": 1, "f": "acquire", "value": null, "time": 3}',
        '{"type": "ok", "process": 1, "f": "acquire", "value": {"lock": "", "fence": 12}, "time": 4}',
        '{"type": "invoke", "process": 0, "f": "release", "value": null, "time": 5}',
    ]
    path = tmp_path / "history.json"
    path.write_text("\n".join(lines) + "\n")
    report = check([path])
    assert report.property == "exclusion"
    assert report.properties[1].judged == "2 of 2 holds"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("{:a 1, :b [nil true -2 3.5]}", {"a": 1, "b": [None, True, -2, 3.5]}),
        ("#jepsen.history.Op{:time 5N :value (1 2)}", {"time": 5, "value": [1, 2]}),
        (r'"a \"b\"\n"', 'a "b"\n'),
        ("{}", {}),
    ],
)
def test_edn(line: str, value: object) -> None:
    assert edn.read(line) == value


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{:a 1", "ends too early"),
        ("{:a}", "key without a value"),
        ("]", "closes nothing"),
        ("{:a 1} 2", "more after the first value"),
        ("", "ends too early"),
        ('"', "ends too early"),
        ("[" * 100, "nested too deeply"),
        ("{[1] 2}", "a key that is no word"),
    ],
)
def test_what_is_no_edn(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        edn.read(line)


def test_a_broken_operation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text("{:process 0, :type :invoke, :f :lock, :time 1}\n{:process 0, :type\n{}\n")
    with pytest.raises(ValueError, match="line 2: it is no operation of a history: it ends too early"):
        check([path])


def test_a_simulated_run(tmp_path: Path) -> None:
    run = of_simulation(Experiment("maekawa", nodes=4, workload=Saturated(), entries=20, warmup=0))
    path = tmp_path / "run.jsonl"
    path.write_text(run.json_lines())
    report = check([path])
    assert report.verdict == "holds"
    assert report.holds >= 20


def test_a_run_with_k_inside_says_so_itself(tmp_path: Path) -> None:
    run = of_simulation(Experiment("raymond-k", nodes=4, k=2, workload=Saturated(), entries=20, warmup=0))
    path = tmp_path / "run.jsonl"
    path.write_text(run.json_lines())
    assert check([path]).verdict == "holds"
    assert check([path], k=1).verdict == "violated"


def test_a_counterexample_of_the_checker_is_one_here_too(tmp_path: Path) -> None:
    """What a paper prints lets two in; its trace shows the overlap."""
    from soloist.algorithms.printed import find_printed
    from soloist.check import check as prove
    from soloist.watch import of_report

    card = find_printed("ricart-agrawala")
    report = prove(card, nodes=2, rounds=1)
    assert report.property == "exclusion"
    path = tmp_path / "run.jsonl"
    path.write_text(of_report(report, card, True).json_lines())
    assert check([path]).property == "exclusion"


def test_what_the_nodes_of_a_cluster_recorded(tmp_path: Path) -> None:
    files = record(tmp_path)
    report = check(files, skew=1.0)  # they are on one host, whose clock may be set meanwhile
    assert report.exit_code() != 1
    assert (report.locks, report.holds) == (2, 2 * 3 * ENTRIES)
    assert report.properties[1].judged == f"{3 * ENTRIES} of {2 * 3 * ENTRIES} holds"


def test_a_crashed_site_holds_nothing(tmp_path: Path) -> None:
    run = of_script(["start central nodes=3", "acquire 0", "crash 0"])
    path = tmp_path / "run.jsonl"
    path.write_text(run.json_lines())
    assert check([path]).verdict == "holds"
