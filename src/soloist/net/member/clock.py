"""The clock of leases: it goes on while the machine is suspended, and nobody can set it.

With a clock that stands still meanwhile, a member that wakes would take its lease for valid long after the voters have
given its locks to others. Where there is no better one, there are no leases.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat, starmap
from typing import Any

from soloist.core import UsageError

Clock = Callable[[], float]
"""Seconds since some moment."""


def lease_clock() -> Clock:
    """The clock for this platform."""
    if sys.platform == "linux":
        return partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        import ctypes

        return continuous(ctypes.CDLL(None))
    raise UsageError(
        f"no clock of {sys.platform} counts while it is suspended: leases need one; give lease=None"
    )


def readings(clock: Clock) -> Iterator[float]:
    """What it shows, whenever the next is asked for. Nothing is kept, so threads may share it."""
    if isinstance(clock, partial) and not clock.keywords:
        return starmap(clock.func, repeat(clock.args))
    return starmap(clock, repeat(()))


def continuous(system: Any) -> Clock:
    """`mach_continuous_time` of macOS, whose ticks have a length that it tells."""
    import ctypes

    fraction = (ctypes.c_uint32 * 2)()
    system.mach_timebase_info(ctypes.byref(fraction))
    numerator, denominator = fraction
    ticks = system.mach_continuous_time
    ticks.restype = ctypes.c_uint64
    return lambda: ticks() * numerator / denominator / 1e9
