"""No schedule of sessions, clocks and losses gives two good holds; and rules with a mistake in them are found out."""

from __future__ import annotations

import pytest

from soloist.check.sessions import LONG, MISTAKES, SHORT, Rules, explore
from soloist.views import ClientSession


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


def test_an_acknowledgement_that_is_worth_nothing_says_nothing() -> None:
    """S3, while the node has no lease: nothing is held yet, so nothing can be lost, and the session goes on."""
    session = ClientSession()
    session.renewed(session.renew(1.0), 0.0, 1.1)
    assert session.alive(1.2)
    session.renewed(session.renew(1.3), 5.0, 1.4)
    assert session.good(6.2)
    session.renewed(session.renew(2.0), 0.0, 2.1)
    assert session.good(6.2)
    assert not session.good(6.3)
