"""The state of the whole as one integer, and what steps do to its parts.

A state is a row of fields, one for each site (the number of its `Local`) and one for the `Pool` (what
belongs to no site), above a few counts that are kept up to date on the way: who is inside, who waits,
what is due. A step is a handful of additions: the difference that it makes to its own field, and for
each addressee the difference that the new mail makes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from soloist.check.local import Item, Local
from soloist.check.setting import UNBOUNDED
from soloist.core import Site

BITS = 24
FIELD = (1 << BITS) - 1
COUNTS = 49
"""Bits of the counts: inside 8, waiting 8, due 16, requests left 16, wrong 1. Above them stand two
bits for each site, "is inside" and "waits", and above those the fields."""

INSIDE_COUNT, WAITING_COUNT, DUE_COUNT, LEFT_COUNT = 0xFF, 0xFF << 8, 0xFFFF << 16, 0xFFFF << 32
TOO_MANY = 1 << 7
"""The count of those inside starts so high that K+1 set this bit."""
WRONG = 1 << 48
ALARM = TOO_MANY | WRONG


def is_stuck(state: int) -> bool:
    """Nothing is under way, nobody is inside, no timer runs, yet somebody waits."""
    return bool(state & WAITING_COUNT) and not state & DUE_COUNT


class Pool(NamedTuple):
    """What belongs to no site: the faults still allowed, and who was served last."""

    faults: int = 0
    crashes: int = 0
    timeouts: int = 0
    served: tuple[int, Site] | None = None
    wrong: str = ""


Thing = Any
"""A `Local` in the part of a site, a `Pool` in the last part."""


class Part:
    """One field of the state: the things that it can be, by number."""

    def __init__(self, shift: int, weigh: Callable[[Thing], int]) -> None:
        self.shift = shift
        self.things: list[Thing] = []
        self.values: list[int] = []
        """What each thing adds to the state: its number in its field, its weight in the counts."""
        self._numbers: dict[Thing, int] = {}
        self._weigh = weigh

    def number(self, thing: Thing) -> int:
        number = self._numbers.get(thing)
        if number is None:
            number = self._numbers[thing] = len(self.things)
            if number > FIELD:
                raise OverflowError(f"one site has more than {FIELD} states")
            self.things.append(thing)
            self.values.append((number << self.shift) + self._weigh(thing))
        return number

    def after(self, number: int, difference: int) -> int:
        """The number of the thing that a difference to the state makes of one."""
        return self.values[number] + difference >> self.shift

    def weight(self, number: int) -> int:
        """What a thing adds to the counts."""
        return self.values[number] - (number << self.shift)


class Change(NamedTuple):
    """What a step does to a part other than its own site."""

    part: int
    key: object
    """Changes to one part with the same key are the same."""
    make: Callable[[Thing], Thing | None]
    """The thing afterwards, or None where the change cannot be, and so neither can the step."""


class Effect(dict[int, "int | None"]):
    """Changes made one after the other: from the number of a thing to the difference they make."""

    __slots__ = ("changes", "part")

    def __init__(self, part: Part, changes: list[Callable[[Thing], Thing | None]]) -> None:
        super().__init__()
        self.part = part
        self.changes = changes

    def __missing__(self, number: int) -> int | None:
        thing: Thing | None = self.part.things[number]
        for change in self.changes:
            if thing is not None:
                thing = change(thing)
        values = self.part.values
        self[number] = difference = (
            None if thing is None else values[self.part.number(thing)] - values[number]
        )
        return difference


def unless_mail_from(site: Site, local: Local) -> Local | None:
    return None if any(item.sender == site for item in local.inbox) else local


def duplicated(inbox: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """A copy joins the end of the link; neither it nor the original is copied again."""
    position = inbox.index(item)
    once = item._replace(copies=0)
    return (*inbox[:position], once, *inbox[position + 1 :], once)


def spend(pool: Pool, budget: str) -> Pool | None:
    left: int = getattr(pool, budget)
    if left == UNBOUNDED:
        return pool
    if not left:
        return None
    return pool._replace(**{budget: left - 1})  # type: ignore[arg-type]
