"""No schedule of sessions, clocks and losses gives two good holds; and rules with a mistake in them are found out."""

from __future__ import annotations

import pytest

from soloist.check.sessions import LONG, MISTAKES, SHORT, Rules, explore


@pytest.mark.parametrize("lease", [SHORT, LONG])
def test_no_two_holds_are_good_at_a_time(lease: float) -> None:
    found = explore(Rules(lease), ticks=3)
    assert found.schedule == ()
    assert found.passed > 100
    assert found.held > 100


@pytest.mark.soak
@pytest.mark.parametrize("lease", [SHORT, LONG])
def test_nor_in_longer_runs_and_whatever_the_rates_are(lease: float) -> None:
    assert explore(Rules(lease), ticks=5).schedule == ()
    assert explore(Rules(lease), ticks=3, every_rate=True).schedule == ()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_found(mistake: type[Rules]) -> None:
    found = any(explore(mistake(lease)).schedule for lease in (LONG, SHORT))
    assert found, f"{mistake.__doc__} nobody noticed"
