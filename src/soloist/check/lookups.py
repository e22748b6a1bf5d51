"""Look-ups of many keys at once (NumPy): keys by number, and functions that are worked out once for each key.

All keys and values are 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Numbering = NDArray[np.int32]
Lock = AbstractContextManager[object]

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
        """The number of each key, -1 for those that have none. Others may be numbering more of them meanwhile: those
        have none yet."""
        count = self.count  # looked up first: all that have such numbers stand in whatever is looked up next
        slots = self._slots
        known, last = self._keys, len(slots) - 1
        at = _spread(keys, len(slots))
        found = slots.take(at)
        rest = np.flatnonzero((found >= 0) & (known.take(found, mode="clip") != keys))
        while rest.size:
            at[rest] = onward = at[rest] + 1 & last
            found[rest] = there = slots.take(onward)
            rest = rest[(there >= 0) & (known.take(there, mode="clip") != keys[rest])]
        found[found >= count] = -1
        return found

    def number(self, keys: Ints) -> tuple[Numbering, Ints]:
        """The number of each key; and the places of those that had none, each where it comes first. They get theirs in
        this order."""
        before = self.count
        self._make_room(before + len(keys))
        slots, known, last = self._slots, self._keys, len(self._slots) - 1
        known[before : before + len(keys)] = keys  # for the time being each of them may be a new one
        numbers, stands = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        rest, at = np.arange(len(keys)), _spread(keys, len(slots))
        while rest.size:
            free = np.flatnonzero(slots.take(at) < 0)[::-1]
            slots[at[free]] = (
                rest[free] + before
            )  # of those that want the same place the first is entered last, and stays
            there = slots.take(at)
            other = known.take(there) != keys.take(rest)
            same = rest[~other]
            numbers[same], stands[same] = there[~other], at[~other]
            rest, at = rest[other], at[other] + 1 & last
        fresh = np.flatnonzero(numbers == np.arange(before, before + len(keys)))
        known[before : before + len(fresh)] = keys.take(fresh)
        final = np.empty(len(keys), np.int32)
        final[fresh] = slots[stands.take(fresh)] = np.arange(before, before + len(fresh))
        new = np.flatnonzero(numbers >= before)
        numbers[new] = final.take(numbers.take(new) - before)
        self.count = before + len(fresh)
        return numbers, fresh

    def take_back(self, count: int) -> None:
        """Forget what was numbered last, but for so many. No more is going to be looked for."""
        self.count = count

    def close(self) -> None:
        """Nothing is going to be looked for any more: what was needed for that is let go."""
        self._keys = self.keys.copy()
        self._slots = np.full(1, -1, np.int32)

    def _make_room(self, count: int) -> None:
        if count > len(self._keys):
            self._keys = np.concatenate(
                [self.keys, np.zeros(max(count, 2 * self.count) - self.count, np.int64)]
            )
        if 2 * count > len(self._slots):
            self._slots = self._placed(1 << (2 * count - 1).bit_length())

    def _placed(self, size: int) -> Numbering:
        """All keys in a table of this size."""
        slots, last = np.full(size, -1, np.int32), size - 1
        numbers = np.arange(self.count, dtype=np.int32)
        at = _spread(self.keys, size)
        while numbers.size:
            free = slots.take(at) < 0
            slots[at[free]] = numbers[free]  # where several want the same place, one of them gets it
            left = slots.take(at) != numbers
            numbers, at = numbers[left], at[left] + 1 & last
        return slots


def distinct(keys: Ints) -> tuple[Ints, Numbering]:
    """The places of different keys, each where it comes first; and for each key which of these it is like."""
    size = 1 << max(2 * len(keys) - 1, 1).bit_length()
    places = np.arange(len(keys), dtype=np.int32)
    first, slots = np.empty_like(places), np.empty(size, np.int32)
    rest, at = places, _spread(keys, size)
    while rest.size:
        slots[at[::-1]] = rest[::-1]  # of those that want the same place the first is entered last, and stays
        there = slots.take(at)
        other = keys.take(there) != keys.take(rest)
        first[rest[~other]] = there[~other]
        rest, at = rest[other], at[other] + 1 & size - 1
    new = first == places
    return np.flatnonzero(new), (np.cumsum(new, dtype=np.int32) - 1).take(first)


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
        before, after = self.count, self.count + len(values)
        if after > len(self._data):
            self._data = np.concatenate([self.data, np.zeros(after, np.int64)])
        self._data[before:after] = values
        self.count = after


class Memo:
    """A function of any keys. Several threads may ask; one of them works out."""

    def __init__(self, work_out: Callable[[int], int], lock: Lock) -> None:
        self.work_out = work_out
        self.lock = lock
        self._numbers = Numbers()
        self._values = Values()

    def __call__(self, keys: Ints) -> Ints:
        found = self._numbers.find(keys)
        if found.size and found.min() < 0:
            with self.lock:
                self._learn(np.unique(keys[self._numbers.find(keys) < 0]))
            found = self._numbers.find(keys)
        return self._values.data.take(found)

    def _learn(self, keys: Ints) -> None:
        self._values.extend([self.work_out(key) for key in keys.tolist()])
        self._numbers.number(keys)


class Column:
    """A function of small keys: 0, 1, 2, …"""

    def __init__(self, work_out: Callable[[int], int], lock: Lock) -> None:
        self.work_out = work_out
        self.lock = lock
        self._values = np.full(1024, UNKNOWN, np.int64)

    def __call__(self, keys: Ints) -> Ints:
        if keys.size and (most := int(keys.max())) >= len(self._values):
            with self.lock:
                self._grow(most + 1)
        found = self._values.take(keys)
        if found.size and found.min() == UNKNOWN:
            with self.lock:
                self._learn(np.unique(keys[self._values.take(keys) == UNKNOWN]))
            found = self._values.take(keys)
        return found

    def _grow(self, size: int) -> None:
        if size > len(self._values):
            self._values = np.concatenate([self._values, np.full(size, UNKNOWN, np.int64)])

    def _learn(self, keys: Ints) -> None:
        for key in keys.tolist():
            self._values[key] = self.work_out(key)
