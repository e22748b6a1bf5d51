"""What is told to the loop of what was decided or heard: by a council to a `Membership`, by an assembly to a `Fellowship`."""

from __future__ import annotations

from typing import Protocol

from soloist.views import Holder, View


class Events(Protocol):
    """What the loop must hear of. A council calls these in its thread, an assembly in the loop."""

    def activated(self, view: View) -> None: ...

    def lost(self, lock: str, fence: int, broken: bool) -> None: ...

    def heard_of(self, hold: Holder) -> None:
        """A majority of voters has stored this registered hold, or struck it off."""

    def dropped(self, view: View) -> None:
        """This incarnation is out, and never acts again."""

    def renewed(self) -> None:
        """There is a lease again, after there was none."""

    def starving(self, why: str) -> None:
        """There has been none for as long as a lease: said again and again."""

    def learned(self, view: View) -> None:
        """Of a view later than all others that were heard of, whether or not we are in it."""

    def left_us(self, peer: str) -> None:
        """That node says goodbye."""
