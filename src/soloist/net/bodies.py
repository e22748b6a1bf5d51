"""Which hold a `with` gives back when it ends.

A lock may be entered by many at once, and Python tells it of the end of a body, but not of which. Nor is it always the
task or the thread that began it: a generator may be closed by another, a pool runs the end of a request wherever
there is room. What stays the same for a `with` statement is the frame that it stands in. An exit stack has none; for
it the newest hold of this task or thread is meant or, if that has none, the newest of the only other one that has some.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Generic, TypeVar

from soloist.net.errors import NotOwned

H = TypeVar("H")

Place = tuple[int, CodeType]
"""A frame, by its address, and its code: a frame that is gone may have another at its address, but of other code."""
Body = tuple[Place, object, H]
"""Where it was entered, by which task or thread, and what it holds."""


def here() -> Place:
    """The frame of the `with` whose call led to this one."""
    frame = sys._getframe(2)
    return id(frame), frame.f_code


class Bodies(Generic[H]):
    """The `with` bodies of one lock object that have been entered, in order.

    Every step is one call into C, so threads may share it.
    """

    def __init__(self, lock: str) -> None:
        self.lock = lock
        self._open: list[Body[H]] = []

    def enter(self, body: Body[H]) -> None:
        self._open.append(body)

    def find(self, place: Place, owner: Callable[[], object]) -> Body[H]:
        """The body that ends here. It stays until it is `left`."""
        try:
            body = self._open[-1]
        except IndexError:
            raise NotOwned(f"{self.lock}: no body has been entered", name=self.lock) from None
        return body if body[0] == place else self._find(place, owner())

    def _find(self, place: Place, owner: object) -> Body[H]:
        bodies = self._open[::-1]
        for body in bodies:
            if body[0] == place:
                return body
        owners = {id(body[1]) for body in bodies}
        for body in bodies:
            if body[1] is owner or len(owners) == 1:
                return body
        raise NotOwned(
            f"{self.lock}: which of its bodies ends here cannot be told; use a lock object for each",
            name=self.lock,
        )

    def left(self, body: Body[H]) -> None:
        if body in self._open:  # otherwise the thread was interrupted, and has done it
            self._open.remove(body)
