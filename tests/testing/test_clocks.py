"""Leases are measured by the clock that was injected: one that no lease allows for is a double hold. Real processes."""

from __future__ import annotations

import multiprocessing

import pytest

from soloist.testing import Proxies, Workers
from soloist.testing.clocks import at_rate, set_lease_clock

LEASE = 0.5


def slow_in_a() -> None:
    if multiprocessing.current_process().name == "a":
        set_lease_clock(0.001)


def test_a_lease_by_a_clock_that_hardly_goes_hardly_ends() -> None:
    """The others have out-waited it; that is why there is a bound on drift, and why there are fences."""
    with (
        Proxies("abc") as proxies,
        Workers("abc", lease=LEASE, peers=proxies.peers, before=slow_in_a) as workers,
    ):
        mine = workers.grab("a", "x")["x"]
        proxies.split("a", "bc")
        theirs = workers.grab("b", "x")["x"]
        assert isinstance(mine, int), mine
        assert isinstance(theirs, int), theirs
        assert workers.held("a") == {"x": mine}, "it takes its hold for good"
        assert theirs > mine
        assert [each for each in workers.findings()["x"].problems if "inside together" in each]


@pytest.mark.parametrize("rate", [0.99, 1.0, 1.01])
def test_it_agrees_with_the_other_now_and_counts_at_its_rate(rate: float) -> None:
    now = 1000.0
    clock = at_rate(lambda: now, rate)
    assert clock() == 1000
    now = 1100.0
    assert clock() == pytest.approx(1000 + 100 * rate)
