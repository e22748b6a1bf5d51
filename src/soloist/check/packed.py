"""The states of a large search: keys of 8 bytes each (NumPy)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from soloist.check.lookups import Ints, Numbers
from soloist.check.tables import Tables

CHUNK = 1 << 15
"""States that are unpacked, or counted, at once."""


class Packed(Sequence[int]):
    """The states of a graph as keys, of 8 bytes each."""

    def __init__(self, tables: Tables, states: Sequence[int]) -> None:
        self.tables = tables
        self.numbers = Numbers()
        self.numbers.number(np.array([tables.key(state) for state in states], np.int64))

    def __len__(self) -> int:
        return self.numbers.count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        keys = self.numbers.keys
        if isinstance(index, slice):
            return self.tables.states(keys[index])
        return self.tables.states(keys[[index]])[0]

    def __iter__(self) -> Iterator[int]:
        for first in range(0, len(self), CHUNK):
            yield from self[first : first + CHUNK]

    def counts(self) -> list[int]:
        """What each state counts, and who is inside or waits there."""
        found: list[int] = self.counted().tolist()
        return found

    def counted(self) -> Ints:
        """The same, to reckon with."""
        keys, found = self.numbers.keys, np.empty(len(self), np.int64)
        for first in range(0, len(self), CHUNK):
            found[first : first + CHUNK] = self.tables.counts(keys[first : first + CHUNK])
        return found

    def repack(self) -> None:
        """Make room for more numbers of each part."""
        rows = self.tables.layout.split(self.numbers.keys)
        self.tables = Tables(self.tables.space)
        self.numbers = Numbers()
        self.numbers.number(self.tables.layout.join(rows))
