"""The benchmark of what leases cost runs and reports everything it should. What it measures is not judged here."""

from __future__ import annotations

import json
from math import comb

import pytest

from soloist.bench.leases import TRIALS, upper_bound
from soloist.cli import main


def test_the_command_prints_a_pair_for_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "leases", "--rounds", "1", "--seconds", "0.3", "--processes", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [cost["what"] for cost in found] == ["pair", "contended", "hand-off"]
    for cost, trial in zip(found, TRIALS, strict=True):
        assert cost["ratio"] == pytest.approx(trial.ratio(cost["without"], cost["leased"]))
        assert cost["bound"] is None  # one round says nothing


def test_a_ratio_above_one_is_a_cost_whatever_is_measured() -> None:
    pair, contended, hand_off = TRIALS
    assert pair.ratio(1.0, 2.0) == contended.ratio(2.0, 1.0) == hand_off.ratio(1.0, 2.0) == 2


@pytest.mark.parametrize("size", [5, 20, 41])
def test_the_bound_is_the_least_that_is_sure_enough(size: int) -> None:
    """It is the k-th smallest, with P(fewer than k of n coins show heads) just at 95 % or more."""
    k = upper_bound([float(each) for each in range(1, size + 1)])
    assert k is not None
    fewer = [sum(comb(size, heads) for heads in range(int(each))) / 2**size for each in (k - 1, k)]
    assert fewer[0] < 0.95 <= fewer[1]


def test_four_rounds_are_too_few_for_a_bound() -> None:
    assert upper_bound([1.0, 1.0, 1.0, 1.0]) is None
