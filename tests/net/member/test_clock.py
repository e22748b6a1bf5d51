"""The clock of leases goes on while the machine is suspended; where none does, there are no leases."""

from __future__ import annotations

import ctypes
import sys
import time
from functools import partial

import pytest

from soloist.core import UsageError
from soloist.net.member.clock import Clock, continuous, lease_clock, readings
from soloist.testing.clocks import at_rate


@pytest.mark.skipif(sys.platform != "linux", reason="about Linux's clock")
def test_on_linux_it_is_the_time_since_boot_with_suspension() -> None:
    clock = lease_clock()
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    between = clock()
    assert before <= between <= time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.mark.parametrize(
    "clock", [time.monotonic, at_rate(time.monotonic, 1.5), partial(time.clock_gettime, 1)]
)
def test_a_reading_is_taken_when_it_is_asked_for(clock: Clock) -> None:
    """None is taken ahead: it would be older than who asks believes, and a lease longer."""
    seen = readings(clock)
    for _ in range(3):
        before = clock()
        assert before <= next(seen) <= clock()


def test_on_macos_ticks_have_the_length_that_is_told() -> None:
    """As on the machines of Apple's own make: 125 / 3 nanoseconds each."""

    class Ticks:
        restype: object = None

        def __call__(self) -> int:
            assert self.restype is ctypes.c_uint64, "or else it would be cut to 32 bits"
            return 24_000_000 * 3600

    class System:
        mach_continuous_time = Ticks()

        @staticmethod
        def mach_timebase_info(info: object) -> int:
            ctypes.memmove(info, (ctypes.c_uint32 * 2)(125, 3), 8)  # type: ignore[arg-type]
            return 0

    assert continuous(System())() == pytest.approx(3600)


@pytest.mark.parametrize("platform", ["win32", "freebsd14"])
def test_elsewhere_leases_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(UsageError, match=rf"no clock of {platform} counts .*; give lease=None"):
        lease_clock()
