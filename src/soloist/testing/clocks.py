"""Clocks that go wrong: a process whose leases are measured by a clock that is fast or slow."""

from __future__ import annotations

from soloist.net.member import membership
from soloist.net.member.clock import Clock, lease_clock


def at_rate(clock: Clock, rate: float) -> Clock:
    """One that agrees with the other now, and from now on counts so many seconds in one of the other."""
    begun = clock()
    return lambda: begun + (clock() - begun) * rate


def set_lease_clock(rate: float) -> None:
    """From now on the nodes that start in this process measure leases by such a clock."""
    membership.lease_clock = lambda: at_rate(lease_clock(), rate)  # type: ignore[attr-defined]
