"""Deadlock: somebody waits, and nothing can happen any more. Judged on the way."""

from __future__ import annotations

from soloist.check.counterexample import Walk, why_waiting
from soloist.check.parts import is_stuck
from soloist.check.properties._property import Property


class Deadlock(Property):
    name = "deadlock"
    says = "whenever somebody waits, something is due"
    on_the_way = True
    stuck = True

    def complaint(self, walk: Walk) -> str:
        if not is_stuck(walk.end):
            return ""
        return "nothing is under way and nobody is inside, yet " + "; ".join(why_waiting(walk))
