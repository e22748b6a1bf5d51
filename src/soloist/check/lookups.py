"""Look-ups of many keys at once (NumPy): keys by number, and functions that are worked out once for each key.

All keys and values are 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Numbering = NDArray[np.int32]

UNKNOWN = -(1 << 63)
"""In place of a value that has not been worked out."""
MIX = np.uint64(0x9E3779B97F4A7C15)
"""Odd, with ones and zeros all over: a product with it has all bits of a key in its upper half."""


class Numbers:
    """Different keys, numbered in the order in which they came: a hash table with open addressing."""

    def __init__(self) -> None:
        self.count = 0
        self._keys = np.zeros(1024, np.int64)
        self._slots = np.full(4096, -1, np.int32)
        """The number of the key that is here; -1 where there is none. At least half of them are free."""

    @property
    def keys(self) -> Ints:
        return self._keys[: self.count]

    def find(self, keys: Ints) -> Numbering:
        """The number of each key, -1 for those that have none."""
        slots, known, last = self._slots, self._keys, len(self._slots) - 1
        at = _spread(keys, len(slots))
        found = slots.take(at)
        rest = np.flatnonzero((found >= 0) & (known.take(found) != keys))
        while rest.size:
            at[rest] = onward = at[rest] + 1 & last
            found[rest] = there = slots.take(onward)
            rest = rest[(there >= 0) & (known.take(there) != keys[rest])]
        return found

    def add(self, keys: Ints) -> None:
        """Number keys that are different from each other and from all that are known."""
        before, self.count = self.count, self.count + len(keys)
        if self.count > len(self._keys):
            self._keys = np.concatenate([self._keys[:before], keys, np.zeros(self.count, np.int64)])
        self._keys[before : self.count] = keys
        if self.count * 2 > len(self._slots):
            self._slots = np.full(
                len(self._slots) << (self.count * 4 // len(self._slots)).bit_length(), -1, np.int32
            )
            before = 0
        self._place(before)

    def close(self) -> None:
        """Nothing is going to be looked for any more: what was needed for that is let go."""
        self._keys = self.keys.copy()
        self._slots = np.full(1, -1, np.int32)

    def _place(self, first: int) -> None:
        """Enter all keys from this one on."""
        slots, last = self._slots, len(self._slots) - 1
        numbers = np.arange(first, self.count, dtype=np.int32)
        at = _spread(self._keys[first : self.count], len(slots))
        while numbers.size:
            free = slots.take(at) < 0
            slots[at[free]] = numbers[free]  # where several want the same place, one of them gets it
            left = slots.take(at) != numbers
            numbers, at = numbers[left], at[left] + 1 & last


def _spread(keys: Ints, size: int) -> Ints:
    """The place from which on each key is looked for, among so many (a power of two)."""
    bits = keys.view(np.uint64)
    mixed = (bits ^ bits >> np.uint64(32)) * MIX >> np.uint64(65 - size.bit_length())
    return mixed.view(np.int64)


class Values:
    """A row of values that grows."""

    def __init__(self) -> None:
        self._data = np.zeros(1024, np.int64)
        self.count = 0

    @property
    def data(self) -> Ints:
        return self._data[: self.count]

    def extend(self, values: list[int]) -> None:
        before, self.count = self.count, self.count + len(values)
        if self.count > len(self._data):
            self._data = np.concatenate([self._data[:before], np.zeros(self.count, np.int64)])
        self._data[before : self.count] = values


class Memo:
    """A function of any keys."""

    def __init__(self, work_out: Callable[[int], int]) -> None:
        self.work_out = work_out
        self._numbers = Numbers()
        self._values = Values()

    def __call__(self, keys: Ints) -> Ints:
        found = self._numbers.find(keys)
        if found.size and found.min() < 0:
            self._learn(np.unique(keys[found < 0]))
            found = self._numbers.find(keys)
        return self._values.data.take(found)

    def _learn(self, keys: Ints) -> None:
        self._values.extend([self.work_out(key) for key in keys.tolist()])
        self._numbers.add(keys)


class Column:
    """A function of small keys: 0, 1, 2, …"""

    def __init__(self, work_out: Callable[[int], int]) -> None:
        self.work_out = work_out
        self._values = np.full(1024, UNKNOWN, np.int64)

    def __call__(self, keys: Ints) -> Ints:
        if keys.size and (most := int(keys.max())) >= len(self._values):
            self._values = np.concatenate([self._values, np.full(most + 1, UNKNOWN, np.int64)])
        found = self._values.take(keys)
        if found.size and found.min() == UNKNOWN:
            for key in np.unique(keys[found == UNKNOWN]).tolist():
                self._values[key] = self.work_out(key)
            found = self._values.take(keys)
        return found
