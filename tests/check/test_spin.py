"""Another checker counts the same states (docs/checking.md, "How large")."""

from __future__ import annotations

import pytest

from soloist.bench import checker
from soloist.check import Space, explore, setting

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


def test_benchmark_rows() -> None:
    (row,) = checker.measure(cases=((2, 1),), repeat=1)
    assert (row.nodes, row.rounds, row.states) == (2, 1, 31)
    assert row.reduced_states < row.states
    columns, cells = checker.table([row])
    assert len(columns) == len(cells[0])
