"""Another checker counts the same states (docs/checking.md, "How large")."""

from __future__ import annotations

import pytest

from soloist.bench import checker, checker_cores
from soloist.check import Space, explore, setting
from soloist.check.beside import cores
from soloist.core import SoloistError

from .toys import AsInPromela, card

COUNTS = [(2, 1, 31), (2, 3, 462), (3, 1, 2101), (3, 2, 31888)]


def ours(nodes: int, rounds: int) -> int:
    what = setting(card(AsInPromela), nodes, rounds, channels="fifo")
    return len(explore(Space(what, ["messages", "values"], trust=True)).states)


@pytest.mark.parametrize(("nodes", "rounds", "states"), COUNTS)
def test_counts_that_spin_finds_too(nodes: int, rounds: int, states: int) -> None:
    """SPIN 6.5.2 stores one state more: before its `init` has started the sites."""
    assert ours(nodes, rounds) == states


@pytest.mark.skipif(not checker.installed(), reason="not run: needs spin and gcc (apt-get install spin gcc)")
@pytest.mark.parametrize(("nodes", "rounds", "states"), COUNTS)
def test_spin_finds_them(nodes: int, rounds: int, states: int) -> None:
    assert checker.spin(nodes, rounds, 1)[0] == states + 1


def test_two_cores_are_measured_beside_one() -> None:
    row = checker_cores.measure(rounds=2, what="ricart-agrawala --nodes 2 --rounds 1")
    if cores() < 2:
        assert row is None
        return
    assert row is not None
    assert row.states > 1
    assert len(row.ratios) == 2
    [bar] = checker_cores.bars(row)
    assert (bar.ours, bar.setting) == ("ricart-agrawala", "--nodes 2 --rounds 1")
    assert bar.spread == (min(row.ratios), max(row.ratios))
    columns, cells = checker_cores.table(row)
    assert len(columns) == len(cells[0])


def test_two_cores_that_find_something_else_are_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker_cores, "cores", lambda: 2)
    monkeypatch.setattr(checker_cores, "_check", lambda what, jobs: ({"states": jobs}, 1.0))
    with pytest.raises(SoloistError, match=r"finds .* with one job, and .* with two"):
        checker_cores.measure(rounds=1)


def test_a_check_that_fails_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker_cores, "cores", lambda: 2)
    with pytest.raises(SoloistError, match="unknown algorithm 'ricard'"):
        checker_cores.measure(rounds=1, what="ricard")


def test_benchmark_rows() -> None:
    (row,) = checker.measure(cases=((2, 1),), repeat=1)
    assert (row.nodes, row.rounds, row.states) == (2, 1, 31)
    assert row.reduced_states < row.states
    columns, cells = checker.table([row])
    assert len(columns) == len(cells[0])
