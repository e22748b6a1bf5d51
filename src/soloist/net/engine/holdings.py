"""What is held through one node or client, by instance: who has which hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soloist.net.engine.ticket import Validity
from soloist.views import Registration

if TYPE_CHECKING:
    from soloist.net.hold import Hold
    from soloist.net.telemetry.observer import Observer

MANY = 1 << 62


class Holdings:
    """The live holds. On its own it knows no limits: the node that grants has them, and says so."""

    door: Validity | None = None
    """Asked whether a hold is good at this moment; None: always."""
    names: list[str]
    """Of the members, as far as they are known."""

    def __init__(self) -> None:
        self.observers: list[Observer] = []
        self.holds: dict[str, list[Hold]] = {}
        """Live holds by instance."""
        self.withheld: dict[str, list[Registration]] = {}
        """Locks that are held for nodes which are lost."""
        self.names = []

    @property
    def most_permits(self) -> int:
        """The largest value of a semaphore."""
        return MANY

    @property
    def several(self) -> str:
        """The algorithm of semaphores."""
        return ""

    @property
    def prompt(self) -> bool:
        """Whether with that one somebody who has a permit may wait for another one."""
        return True

    def inside(self, lock: str) -> int:
        """How many permits are out here."""
        return sum(len(hold.fences) for hold in self.holds.get(lock, ()))

    def held_by(self, lock: str, owner: object) -> Hold | None:
        """The newest hold of a task or thread."""
        return next((hold for hold in reversed(self.holds.get(lock, ())) if hold.key[1] is owner), None)

    def forget(self, hold: Hold, last: bool = True) -> None:
        lock = hold.key[0]
        holds = self.holds.get(lock)
        if not holds or hold not in holds:
            return
        if len(holds) == 1:
            del self.holds[lock]
        else:
            holds.remove(hold)
        if last:
            for observer in self.observers:
                observer.on_exit(hold.first or hold)
