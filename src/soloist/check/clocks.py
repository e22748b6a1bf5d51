"""Counting anew from zero, so that states become one that differ only in where counting started.

The numbers of an algorithm that grow without end (`counters`) belong to clocks: one for all, or one for each site. Of each clock
let the *floor* be the least number in use that is counted on from. Numbers from the floor on keep their distances.
Those below are only ever copied and compared, and whatever is counted from now on is above the floor: of them just
the order matters, so they are numbered 0, 1, 2, …, and the floor comes next. No step can tell the difference.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from soloist.check.counters import NEVER, Change, Field, fields
from soloist.check.local import Item, Local
from soloist.check.model import Model
from soloist.check.parts import FIELD, Pool
from soloist.core import Counter, Message, Process, Site

Clock = tuple[str, Site]
"""The kind of its counters, and the site whose requests it numbers (-1: one for all)."""
COMMON: Clock = ("", -1)
"""The clock that timestamps are read from."""
FAR = 1 << 60


class Value(NamedTuple):
    """A number in use."""

    clock: Clock
    number: int
    counted: bool


class Scale(NamedTuple):
    """How one clock is read: the numbers below the floor by rank, those above by their distance to it."""

    floor: int
    below: tuple[int, ...]

    def read(self, number: int) -> int:
        if number < self.floor:
            return bisect_left(self.below, number)
        return number - self.floor + len(self.below)

    @property
    def same(self) -> bool:
        """Whether nothing changes."""
        return self.below == tuple(range(len(self.below))) and self.floor in (len(self.below), FAR)


class Scales(dict[Clock, Scale]):
    """One for each clock that is in use and has to be read anew. Equal ones are one object."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Clocks:
    """Makes every count start at zero."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.profiles: list[list[int]] = [[] for _ in range(model.n + 1)]
        """For each part and number: which numbers are in use there, as a small number."""
        self._values: list[frozenset[Value]] = []
        self._profile_numbers: dict[frozenset[Value], int] = {}
        self._scales: dict[tuple[int, ...], Scales | None] = {}
        self._equal: dict[tuple[tuple[Clock, Scale], ...], Scales] = {}
        self._numbered: list[Scales] = []
        self._shifted: dict[tuple[int, int, Scales], int] = {}

    def normal(self, state: int) -> int:
        """The state itself if every clock counts from zero, else that state counted from zero."""
        scales = self.scales(state)
        if scales is None:
            return state
        for index, shift in enumerate(self.model.shifts):
            number = state >> shift & FIELD
            difference = self._shifted.get((index, number, scales))
            if difference is None:
                difference = self._shifted[index, number, scales] = self._shift(index, number, scales)
            state += difference
        return state

    def scales(self, state: int) -> Scales | None:
        """How the clocks are to be read in a state; None if as they are."""
        shifts = self.model.shifts
        try:
            key = tuple([p[state >> s & FIELD] for p, s in zip(self.profiles, shifts, strict=True)])
        except IndexError:
            self._measure()
            return self.scales(state)
        try:
            return self._scales[key]
        except KeyError:
            scales = self._scales[key] = self._find(key)
            return scales

    def profile(self, part: int, number: int) -> int:
        """Which numbers are in use in a part, as a small number."""
        if number >= len(self.profiles[part]):
            self._measure()
        return self.profiles[part][number]

    def scales_number(self, profiles: tuple[int, ...]) -> int:
        """How the clocks are to be read where the parts have these profiles, as a number; 0 if as they are."""
        scales = self._scales[profiles] if profiles in self._scales else self._find(profiles)
        self._scales[profiles] = scales
        if scales is None:
            return 0
        if scales not in self._numbered:
            self._numbered.append(scales)
        return self._numbered.index(scales) + 1

    def shift(self, part: int, number: int, scales_number: int) -> int:
        """The difference that counting from zero makes to a part."""
        return self._shift(part, number, self._numbered[scales_number - 1])

    def item(self, item: Item, scales: Scales) -> Item:
        """A message under way, read so."""
        message = self.model.library.messages[item.message]
        anew = recounted(message, item.sender, reading(scales))
        return item._replace(message=self.model.library.message_number(anew))

    def _measure(self) -> None:
        """Look at what has come up since the last time."""
        for part, profiles in zip(self.model.parts, self.profiles, strict=True):
            for thing in part.things[len(profiles) :]:
                values = frozenset(served(thing) if isinstance(thing, Pool) else self._in_use(thing))
                number = self._profile_numbers.setdefault(values, len(self._values))
                if number == len(self._values):
                    self._values.append(values)
                profiles.append(number)

    def _in_use(self, local: Local) -> Iterable[Value]:
        library = self.model.library
        process = library.process(local.process)
        for name, field in fields(type(process)).items():
            yield from numbers(field, getattr(process, name), process.me)
        for item in local.inbox:
            message = library.messages[item.message]
            for name, field in fields(type(message)).items():
                yield from numbers(field, getattr(message, name), item.sender)

    def _find(self, key: tuple[int, ...]) -> Scales | None:
        in_use = frozenset[Value]().union(*(self._values[number] for number in key[:-1]))
        floors: dict[Clock, int] = {}
        below: dict[Clock, set[int]] = {}
        for clock, number, counted in in_use:
            if counted:
                floors[clock] = min(number, floors.get(clock, number))
        for clock, number, _ in in_use:
            below.setdefault(clock, set())
            if number < floors.get(clock, FAR):
                below[clock].add(number)
        for clock, number, _ in self._values[key[-1]]:
            # The timestamp served last: once it is less than all in use it can not be undercut any more.
            ranks = below.setdefault(clock, set())
            if number < floors.get(clock, FAR) and any(rank <= number for rank in ranks):
                ranks.add(number)
        found = [
            (clock, Scale(floors.get(clock, FAR), tuple(sorted(ranks)))) for clock, ranks in below.items()
        ]
        changed = tuple(sorted((clock, scale) for clock, scale in found if not scale.same))
        return self._equal.setdefault(changed, Scales(changed)) if changed else None

    def _shift(self, index: int, number: int, scales: Scales) -> int:
        part = self.model.parts[index]
        thing = part.things[number]
        anew = forget(thing, scales) if isinstance(thing, Pool) else self._local(thing, scales)
        return part.values[part.number(anew)] - part.values[number]

    def _local(self, local: Local, scales: Scales) -> Local:
        library = self.model.library
        process = library.process(local.process)
        recount(process, reading(scales))
        inbox = self.model.mail.arrange(tuple(self.item(item, scales) for item in local.inbox))
        return self.model.mail.as_seen(local._replace(process=library.process_number(process), inbox=inbox))


def numbers(field: Field, value: Any, owner: Site) -> list[Value]:
    """The numbers in one field of a site, or of a message that it has sent."""
    found = []

    def note(counter: Counter, site: Site, number: int) -> int:
        if number != NEVER:
            counted = counter.counted == "all" or (counter.counted == "own" and site == owner)
            found.append(Value(_clock(counter, site), number, counted))
        return number

    field(value, owner, note)
    return found


def reading(scales: Scales) -> Change:
    """Every number as it is read on these scales."""

    def read(counter: Counter, site: Site, number: int) -> int:
        scale = scales.get(_clock(counter, site))
        return number if scale is None or number == NEVER else scale.read(number)

    return read


def recount(process: Process, change: Change) -> None:
    for name, field in fields(type(process)).items():
        setattr(process, name, field(getattr(process, name), process.me, change))


def recounted(message: Message, sender: Site, change: Change) -> Message:
    found = fields(type(message)).items()
    changes = {name: field(getattr(message, name), sender, change) for name, field in found}
    return msgspec.structs.replace(message, **changes) if changes else message


def renumber_by(model: Model, state: int, ahead: int) -> int:
    """The same state of a model in which everybody has counted so far already."""

    def raised(counter: Counter, site: Site, number: int) -> int:
        return number if number == NEVER else number + ahead

    library, things = model.library, []
    for thing in model.things(state):
        if isinstance(thing, Pool):
            things.append(thing)
            continue
        process = library.process(thing.process)
        recount(process, raised)
        inbox = tuple(
            item._replace(
                message=library.message_number(recounted(library.messages[item.message], item.sender, raised))
            )
            for item in thing.inbox
        )
        things.append(thing._replace(process=library.process_number(process), inbox=inbox))
    return model.pack(things)


def _clock(counter: Counter, site: Site) -> Clock:
    return counter.kind, site if counter.per_site else -1


def served(pool: Pool) -> list[Value]:
    return [] if pool.served is None else [Value(COMMON, pool.served[0], False)]


def forget(pool: Pool, scales: Scales) -> Pool:
    """A served timestamp below all that are in use can not be undercut any more: it is forgotten."""
    scale = scales.get(COMMON)
    if pool.served is None or scale is None:
        return pool
    number, site = pool.served
    if number < scale.floor and number not in scale.below:
        return pool._replace(served=None)
    return pool._replace(served=(scale.read(number), site))
