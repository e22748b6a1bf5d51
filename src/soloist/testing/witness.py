"""The witness: it is told of every entry and exit, and notes what should not be. No I/O; `testimony.py` has that.

A holder says so and waits for the answer before it goes on, and again before it leaves. So if the witness ever
counts more than K inside, that many really were; and the order of entries that it sees is real.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """What a holder tells the witness.

    `lost` instead of `exit`: the holder found out, before it used the lock again, that it has it no more.
    """

    event: Literal["enter", "exit", "lost"]
    lock: str
    capacity: int
    holder: str
    fence: int
    place: int | None = None
    """Which of the K places of a semaphore, where they are told apart: fences grow in each place."""


class Findings(msgspec.Struct):
    """What the witness has seen of one lock."""

    capacity: int
    entries: int = 0
    exits: int = 0
    losses: int = 0
    """Holds that their holders reported as lost."""
    vanished: int = 0
    """Holds whose holders died inside."""
    most_inside: int = 0
    by_holder: dict[str, int] = {}
    order: list[tuple[str, int]] = []
    """Holder and fence of each entry, if the witness was asked to remember them."""
    problems: list[str] = []


class _Overlap(msgspec.Struct):
    """More inside than may be. It stands unless some of them turn out to have had the lock no more."""

    lock: str
    inside: list[Statement]
    certain: bool = False
    """Whether all of them were alive, as far as can be known: then a death later on excuses nobody."""


class Witness:
    """The judge. One is enough for any number of locks."""

    def __init__(self, remember: bool = False) -> None:
        self.remember = remember
        self._findings: dict[str, Findings] = {}
        self._inside: dict[str, list[Statement]] = {}
        self._overlaps: list[_Overlap] = []
        self._highest: dict[tuple[str, int], int] = {}

    def hear(self, statement: Statement) -> None:
        """Take note of a statement, in the order in which they come."""
        found = self._findings.setdefault(statement.lock, Findings(statement.capacity))
        if statement.event == "enter":
            self._enter(statement, found)
        elif held := self._take_out(statement):
            if statement.event == "exit":
                found.exits += 1
            else:
                found.losses += 1
                self._excuse(held, also_certain=True)
        else:
            found.problems.append(f"{statement.holder} left with fence {statement.fence}, but was not inside")

    def _enter(self, statement: Statement, found: Findings) -> None:
        inside = self._inside.setdefault(statement.lock, [])
        inside.append(statement)
        found.entries += 1
        found.by_holder[statement.holder] = found.by_holder.get(statement.holder, 0) + 1
        if self.remember:
            found.order.append((statement.holder, statement.fence))
        if statement.capacity != found.capacity:
            found.problems.append(
                f"{statement.holder} takes {statement.capacity} for its capacity, others {found.capacity}"
            )
        if len(inside) > found.capacity:
            self._overlaps.append(_Overlap(statement.lock, list(inside)))
        else:
            found.most_inside = max(found.most_inside, len(inside))
        self._judge_fence(statement, found)

    def _judge_fence(self, statement: Statement, found: Findings) -> None:
        place = 0 if found.capacity == 1 else statement.place
        if place is None:  # several holders cannot be ordered by one number
            return
        before = self._highest.get((statement.lock, place), 0)
        if statement.fence <= before:
            found.problems.append(f"{statement.holder} entered with fence {statement.fence} after {before}")
        self._highest[statement.lock, place] = max(before, statement.fence)

    def gone(self, statement: Statement) -> None:
        """The holder that said this, and no more, is dead."""
        if held := self._take_out(statement):
            self._findings[statement.lock].vanished += 1
            self._excuse(held, also_certain=False)

    def confirm(self) -> None:
        """No death is under way that might excuse what was seen until now."""
        for overlap in self._overlaps:
            overlap.certain = True

    def _take_out(self, statement: Statement) -> Statement | None:
        inside = self._inside.get(statement.lock, [])
        for held in inside:
            if (held.holder, held.fence) == (statement.holder, statement.fence):
                inside.remove(held)
                return held
        return None

    def _excuse(self, held: Statement, also_certain: bool) -> None:
        """It had the lock no more when the others came."""
        for overlap in list(self._overlaps):
            if held in overlap.inside and (also_certain or not overlap.certain):
                overlap.inside.remove(held)
                if len(overlap.inside) <= held.capacity:
                    self._overlaps.remove(overlap)

    def full(self, lock: str) -> bool:
        """Whether as many are inside as may be."""
        return lock in self._findings and len(self._inside[lock]) >= self._findings[lock].capacity

    @property
    def entries(self) -> int:
        return sum(found.entries for found in self._findings.values())

    @property
    def inside(self) -> list[Statement]:
        """The entries that were not followed by an exit."""
        return [statement for inside in self._inside.values() for statement in inside]

    def findings(self) -> dict[str, Findings]:
        """Of each lock, as things stand."""
        return {lock: self.finding(lock) for lock in self._findings}

    def finding(self, lock: str) -> Findings:
        """What was seen of one lock."""
        found = self._findings[lock]
        overlaps = [overlap for overlap in self._overlaps if overlap.lock == lock]
        together = [f"{', '.join(each.holder for each in o.inside)} are inside together" for o in overlaps]
        return msgspec.structs.replace(
            found,
            most_inside=max([found.most_inside, *(len(overlap.inside) for overlap in overlaps)]),
            problems=found.problems + together,
        )

    def problems(self) -> list[str]:
        """All that should not be: nothing, or the test has failed."""
        return [f"{lock}: {each}" for lock, found in self.findings().items() for each in found.problems]

    @contextmanager
    def inside_with(
        self, lock: str, holder: str, fence: int, capacity: int = 1, place: int | None = None
    ) -> Iterator[None]:
        """For holders in the witness's own process: the body of a `with` that holds a lock."""
        statement = Statement("enter", lock, capacity, holder, fence, place)
        self.hear(statement)
        try:
            yield
        finally:
            self.hear(msgspec.structs.replace(statement, event="exit"))
