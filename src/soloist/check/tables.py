"""What follows many states at once: the steps of `Space` in the same order, looked up in tables (NumPy).

A state is a *key* here: the number of each part in as few bits as will do, without the counts, which can be added up
from the parts when they are wanted. What a step does to a part is the same difference whatever the other parts are. So
all steps of many states are added up at once, and Python runs only where a part is met for the first time. Several threads
may look up at once; one at a time works out what is met for the first time.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from threading import RLock

import numpy as np

from soloist.check.lookups import Column, Ints, Memo, Values
from soloist.check.model import Model
from soloist.check.parts import ALARM, BITS, FIELD, LEFT_COUNT, Effect
from soloist.check.reductions import Space
from soloist.core import Site

KEY_BITS = 62
"""Bits for the parts. Bit 0 of a key stays free."""
IMPOSSIBLE = 1
"""In place of a difference, where a step cannot be: odd, so it is none."""
MOST_SITES = 6
"""Sites; with more of them the counts of a state do not fit into 64 bits."""


class Outgrown(Exception):
    """A part has more numbers than there is room for in a key."""


class TooWide(Exception):
    """The numbers of all parts together do not fit into a key."""


class Layout:
    """Where the number of each part stands in a key, with room for it to grow."""

    def __init__(self, sizes: list[int]) -> None:
        least = [size.bit_length() for size in sizes]
        spare, rest = divmod(KEY_BITS - sum(least), len(sizes))
        if spare < 0:
            raise TooWide
        self.widths = [min(width + spare + (part < rest), BITS) for part, width in enumerate(least)]
        self.shifts = list(accumulate(self.widths[:-1], initial=1))

    def split(self, keys: Ints) -> Ints:
        """One row for each part."""
        rows = np.empty((len(self.shifts), len(keys)), np.int64)
        for row, shift, width in zip(rows, self.shifts, self.widths, strict=True):
            np.right_shift(keys, shift, out=row)
            np.bitwise_and(row, (1 << width) - 1, out=row)
        return rows

    def join(self, rows: Ints) -> Ints:
        keys = np.zeros(rows.shape[1], np.int64)
        for row, shift in zip(rows, self.shifts, strict=True):
            keys += row << shift
        return keys


class Moves:
    """All moves of all sites, one after the other."""

    def __init__(self, model: Model) -> None:
        self.differences = Values()
        self.effects = [Values() for _ in model.parts]
        """For each move the number of its first effect, its second …; -1: there is none."""
        self.parts = Values()
        """For each effect the part that it is on."""
        self.known: list[Effect] = []
        self._numbers: dict[int, int] = {}

    def number(self, part: int, effect: Effect) -> int:
        number = self._numbers.setdefault(id(effect), len(self.known))
        if number == len(self.known):
            self.known.append(effect)
            self.parts.extend([part])
        return number


class Tables:
    """What has been met of one space so far."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.model = model = space.model
        if model.n > MOST_SITES:
            raise TooWide
        self.layout = Layout([len(part.things) for part in model.parts])
        self.merges = bool(space.clocks or space.early)
        self.moves = Moves(model)
        lock = RLock()
        self._rows = [Column(partial(self._row, site), lock) for site in range(model.n)]
        self._fits = [Column(partial(self._fit, site), lock) for site in range(model.n)]
        self._weights = [Column(part.weight, lock) for part in model.parts]
        self._changes = Memo(self._change, lock)
        self._hurries = Memo(self._hurry, lock)
        self._profiles = [Column(partial(self._profile, part), lock) for part in range(model.n + 1)]
        self._scales = Memo(self._scale, lock)
        self._shifts = Memo(self._shift, lock)

    # Between states and keys.

    def key(self, state: int) -> int:
        return sum(
            number << shift
            for number, shift in zip(self.model.numbers(state), self.layout.shifts, strict=True)
        )

    def states(self, keys: Ints) -> list[int]:
        columns = (
            [part.values[number] for number in row.tolist()]
            for part, row in zip(self.model.parts, self.layout.split(keys), strict=True)
        )
        return [self.model.base + sum(values) for values in zip(*columns, strict=True)]

    def counts(self, keys: Ints) -> Ints:
        """The lower bits of states: the counts, and who is inside or waits."""
        return self._counts(self.layout.split(keys))

    def _counts(self, rows: Ints) -> Ints:
        counts = np.full(rows.shape[1], self.model.base, np.int64)
        for weights, row in zip(self._weights, rows, strict=True):
            counts += weights(row)
        return counts

    def _difference(self, part: int, number: int, after: int) -> int:
        """What it makes to a key if one part goes from one number to another."""
        if after >> self.layout.widths[part]:
            raise Outgrown
        return after - number << self.layout.shifts[part]

    # Steps.

    def expand(self, keys: Ints) -> tuple[Ints, Ints]:
        """How many steps each state has, and where they lead to, before that is settled."""
        fields = self.layout.split(keys)
        firsts, counts = self._rows_of(fields)
        each = counts.ravel()
        origins = np.repeat(np.arange(len(keys)), counts.sum(axis=1))
        moves = np.repeat(firsts.ravel() - (np.cumsum(each) - each), each)
        moves += np.arange(len(moves))
        targets = keys.take(origins) + self.moves.differences.data.take(moves)
        for effects in self.moves.effects:
            numbers = effects.data.take(moves)
            some = np.flatnonzero(numbers >= 0)
            if not some.size:
                break
            numbers = numbers[some]
            there = fields[self.moves.parts.data.take(numbers), origins[some]]
            changes = self._changes(numbers << BITS | there)
            targets[some] += changes
            if (changes == IMPOSSIBLE).any():
                possible = targets & 1 == 0
                targets, origins, moves = targets[possible], origins[possible], moves[possible]
        return np.bincount(origins, minlength=len(keys)), targets

    def _rows_of(self, fields: Ints) -> tuple[Ints, Ints]:
        """For each state and site the first of its moves, and how many there are."""
        states, sites = fields.shape[1], self.model.n
        found = np.zeros((states, sites), np.int64)
        alone = self._alone(fields)
        for site, rows in enumerate(self._rows):
            if alone is None:
                found[:, site] = rows(fields[site])
            else:
                some = np.flatnonzero((alone < 0) | (alone == site))
                found[some, site] = rows(fields[site, some])
        return found >> BITS, found & FIELD

    def _alone(self, fields: Ints) -> Ints | None:
        """For each state the site that is taken alone; -1: none."""
        if not self.space.receiver:
            return None
        alone = np.full(fields.shape[1], -1, np.int64)
        rest = np.arange(fields.shape[1])
        for site, fits in enumerate(self._fits):
            fit = fits(fields[site, rest]) > 0
            alone[rest[fit]] = site
            rest = rest[~fit]
        return alone

    def _fit(self, site: Site, number: int) -> int:
        assert self.space.receiver
        return self.space.receiver.fits(site, number)

    def _row(self, site: Site, number: int) -> int:
        """The moves of a site: the first of them, above how many there are."""
        moves, part = self.model.moves[site][number], self.model.parts[site]
        first = self.moves.differences.count
        self.moves.differences.extend(
            [self._difference(site, number, part.after(number, d)) for d, _, _ in moves]
        )
        numbers = [[self.moves.number(*effect) for effect in effects] for _, effects, _ in moves]
        for place, row in enumerate(self.moves.effects):
            row.extend([some[place] if place < len(some) else -1 for some in numbers])
        return first << BITS | len(moves)

    def _change(self, key: int) -> int:
        """What an effect does to the number of its part."""
        effect, number = self.moves.known[key >> BITS], key & FIELD
        change = effect[number]
        if change is None:
            return IMPOSSIBLE
        part = int(self.moves.parts.data[key >> BITS])
        return self._difference(part, number, effect.part.after(number, change))

    # What a search keeps of a state.

    def representatives(self, keys: Ints) -> Ints:
        """Counted from zero, and with all received that may as well be."""
        keys = self._normal(keys)
        return self._hurried(keys) if self.space.early else keys

    def _hurried(self, keys: Ints) -> Ints:
        rest = np.arange(len(keys))
        while rest.size:
            fields = self.layout.split(keys[rest])
            counts = self._counts(fields)
            over = (counts & LEFT_COUNT == 0).astype(np.int64)
            steps = np.zeros(len(rest), np.int64)
            undecided = np.flatnonzero(counts & ALARM == 0)
            for site in range(self.model.n):
                where = site << 1 | over[undecided]
                steps[undecided] = self._hurries(where << BITS | fields[site, undecided])
                undecided = undecided[steps[undecided] == 0]
            moved = np.flatnonzero(steps)
            rest, steps = rest[moved], steps[moved]
            keys[rest] = self._normal(keys[rest] + steps)
        return keys

    def _hurry(self, key: int) -> int:
        """What the first delivery makes to a site that may be made at once; 0: there is none."""
        assert self.space.early
        site, over, number = key >> BITS + 1, key >> BITS & 1, key & FIELD
        moves = self.space.early.moves(site, number)[over]
        return (
            self._difference(site, number, self.model.parts[site].after(number, moves[0][0])) if moves else 0
        )

    def _normal(self, keys: Ints) -> Ints:
        if not self.space.clocks:
            return keys
        fields = self.layout.split(keys)
        profiles = np.zeros(len(keys), np.int64)
        for row, profile in zip(fields, self._profiles, strict=True):
            profiles = profiles * self._most_profiles + profile(row)
        scales = self._scales(profiles)
        some = np.flatnonzero(scales)
        scales = scales[some] << BITS
        for part, row in enumerate(fields):
            keys[some] += self._shifts(scales * len(fields) + (part << BITS) + row[some])
        return keys

    @property
    def _most_profiles(self) -> int:
        """How many profiles there may be, if those of all parts are to fit into one key."""
        return 1 << KEY_BITS // len(self.model.parts)

    def _profile(self, part: int, number: int) -> int:
        assert self.space.clocks
        profile = self.space.clocks.profile(part, number)
        if profile >= self._most_profiles:
            raise TooWide
        return profile

    def _scale(self, key: int) -> int:
        """The number of the scales that profiles are to be read on; 0: as they are."""
        assert self.space.clocks
        profiles: list[int] = []
        for _ in self.model.parts:
            key, profile = divmod(key, self._most_profiles)
            profiles.insert(0, profile)
        return self.space.clocks.scales_number(tuple(profiles))

    def _shift(self, key: int) -> int:
        assert self.space.clocks
        scales, part = divmod(key >> BITS, len(self.model.parts))
        number = key & FIELD
        difference = self.space.clocks.shift(part, number, scales)
        return self._difference(part, number, self.model.parts[part].after(number, difference))
