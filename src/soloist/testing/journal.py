"""What holders note of their own holds, where even kill -9 does not erase it; and a judge who reads it afterwards.

A holder notes when it came in, and again and again the time *before* it asked whether its hold is good, if it was. A hold
that was lost stays lost, so it was good at that time, however long the process was stopped since. Two holds of one lock
whose times overlap are therefore a proof that both were good at once. All is on one clock: that of this host.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from soloist.core import UsageError

_ENTRY = struct.Struct("=IxxxxQdd")
"""Number of the lock, fence, first and last time at which the hold was good."""
MOST_ENTRIES = 2_000_000
"""Entries: the file takes up only what is written of it."""


class Entry(msgspec.Struct, frozen=True):
    """One hold."""

    holder: str
    lock: int
    fence: int
    since: float
    until: float


class Journal:
    """Written by one process, into a file of its own."""

    def __init__(self, path: str | os.PathLike[str], most: int = MOST_ENTRIES) -> None:
        with open(path, "xb+") as file:
            file.truncate(most * _ENTRY.size)
            self._map = mmap.mmap(file.fileno(), 0)
        self._next, self._most = 0, most

    def begin(self, lock: int, fence: int) -> int:
        """A hold begins: gives its place. It counts only once `good` has been noted of it."""
        if self._next == self._most:
            raise UsageError(f"a journal has room for {self._most} holds")
        place, self._next = self._next, self._next + 1
        _ENTRY.pack_into(self._map, place * _ENTRY.size, lock, fence, time.monotonic(), 0.0)
        return place

    def good(self, place: int, at: float) -> None:
        """At this time, taken before it was asked, the hold was good."""
        struct.pack_into("=d", self._map, place * _ENTRY.size + 24, at)


def read(path: Path) -> Iterator[Entry]:
    """The holds of one journal that were good for some time. Its writer may be dead."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as written:
        for place in range(0, len(written), _ENTRY.size):
            lock, fence, since, until = _ENTRY.unpack_from(written, place)
            if not since:
                break  # nothing was written from here on
            if until >= since:
                yield Entry(path.stem.partition("-")[0], lock, fence, since, until)


def problems(entries: Iterable[Entry]) -> list[str]:
    """Holds of one lock that were good at the same time, and fences that do not grow from one to the next."""
    found = []
    latest: dict[int, Entry] = {}
    """By lock, of those that began so far, the one that lasted longest."""
    for entry in sorted(entries, key=lambda each: each.since):
        before = latest.get(entry.lock)
        if before and entry.since <= before.until:
            both = before.until - entry.since
            found.append(
                f"lock {entry.lock}: {before.holder} and {entry.holder} both had it for {both:.6f} s "
                f"(fences {before.fence} and {entry.fence})"
            )
        if before and entry.fence <= before.fence:
            found.append(
                f"lock {entry.lock}: fence {entry.fence} of {entry.holder} after {before.fence} of {before.holder}"
            )
        if before is None or entry.until > before.until:
            latest[entry.lock] = entry
    return found
