"""Who asks when. A workload answers two questions: when first, and when again after an exit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Protocol

import msgspec

from soloist.core import Site, UsageError, shown, whole


class Schedule(Protocol):
    """A workload at work in one run."""

    def first(self, site: Site) -> float | None:
        """When the site asks for the first time, if ever."""

    def again(self, site: Site, now: float) -> float | None:
        """When the site, which leaves now, asks again, if ever."""


class Workload(Protocol):
    """A workload as plain data. `requests` says how many requests it makes, if it ends."""

    @property
    def requests(self) -> int | None: ...

    def schedule(self, nodes: int, random: Random) -> Schedule: ...


LEAST_RATE = 1e-200
"""Requests per site and time unit; below that a site never asks in all the time that numbers can tell."""


class Thinking(msgspec.Struct, frozen=True):
    """Each site thinks for an exponential time of mean 1/rate after each exit, then asks."""

    rate: float

    def __post_init__(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float):
            raise UsageError(f"rate must be a number, not {shown(self.rate)}")
        if not LEAST_RATE <= self.rate < math.inf:
            raise UsageError(f"rate must be above 0 (requests per site and time unit), not {self.rate:g}")

    @property
    def requests(self) -> None:
        return None

    def schedule(self, nodes: int, random: Random) -> Schedule:
        """Who asks when: after a time to think that is drawn."""
        return _Exponential(self.rate, nodes, random)


_WORD = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


def _mixed(z: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


class _Exponential:
    """The i-th think time of a site depends on the seed, the site and i, and on nothing else: so two algorithms
    with the same seed are asked alike, whatever the order of their exits, and can be compared in pairs.

    Each site has a SplitMix64 of its own, since that is one number; a million of Python's generators would not fit.
    """

    def __init__(self, rate: float, nodes: int, random: Random) -> None:
        self.mean = 1 / rate
        seed = random.getrandbits(64)
        self.state = [_mixed((seed + site * _GAMMA) & _WORD) for site in range(nodes)]

    def first(self, site: Site) -> float:
        return self.again(site, 0.0)

    def again(self, site: Site, now: float) -> float:
        z = self.state[site] = (self.state[site] + _GAMMA) & _WORD
        # As `_mixed`, which a call would make half as slow again.
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        return now - self.mean * math.log((((z ^ (z >> 31)) >> 11) + 1) * 2.0**-53)


class Saturated(msgspec.Struct, frozen=True):
    """Everybody asks at the start, and again at once after each exit."""

    @property
    def requests(self) -> None:
        return None

    def schedule(self, nodes: int, random: Random) -> Schedule:
        """Who asks when: everybody, again and again."""
        return _AtOnce()


class _AtOnce:
    def first(self, site: Site) -> float:
        return 0.0

    def again(self, site: Site, now: float) -> float:
        return now


class Listed(msgspec.Struct, frozen=True):
    """Requests at given times. A site that is busy when its time comes asks when it has left."""

    times: tuple[tuple[float, Site], ...]

    def __post_init__(self) -> None:
        if isinstance(self.times, str) or not isinstance(self.times, Sequence):
            raise UsageError(f"requests are several times and sites, not {shown(self.times)}")

    @property
    def requests(self) -> int:
        return len(self.times)

    def schedule(self, nodes: int, random: Random) -> Schedule:
        """Who asks when: as it was listed."""
        for each in self.times:
            try:
                time, site = each
                negative = not 0 <= time < math.inf
            except (TypeError, ValueError):
                raise UsageError(
                    f"a request is a time and a site, such as (1.5, 2), not {shown(each)}"
                ) from None
            if not 0 <= whole("the site of a request", site) < nodes:
                raise UsageError(f"request at {time:g} names site {site}; sites are 0 to {nodes - 1}")
            if negative:
                raise UsageError(f"request of site {site} at {time:g}: times must not be negative")
        return _Given(nodes, self.times)


class _Given:
    def __init__(self, nodes: int, times: Sequence[tuple[float, Site]]) -> None:
        self.waiting: list[list[float]] = [[] for _ in range(nodes)]
        for time, site in sorted(times, reverse=True):
            self.waiting[site].append(time)

    def first(self, site: Site) -> float | None:
        return self.again(site, 0.0)

    def again(self, site: Site, now: float) -> float | None:
        return max(now, self.waiting[site].pop()) if self.waiting[site] else None


def listed(text: str | Iterable[str]) -> Listed:
    """Requests from what a user wrote: `0@0, 2@1.5` means site 0 at time 0 and site 2 at 1.5."""
    parts = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    times = []
    for part in parts:
        site, _, time = part.partition("@")
        try:
            times.append((float(time), int(site)))
        except ValueError:
            raise UsageError(f"request {part!r} should read SITE@TIME, such as 2@1.5") from None
    if not times:
        raise UsageError("the list of requests is empty; write SITE@TIME, such as 0@0,2@1.5")
    return Listed(tuple(times))
