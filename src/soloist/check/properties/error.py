"""Errors: what a handler raises, and what it leaves behind that is not what its class says. Judged on the way, always."""

from __future__ import annotations

from soloist.check.counterexample import Walk, last
from soloist.check.parts import WRONG
from soloist.check.properties._property import Property


class Error(Property):
    name = "error"
    says = "no step raises an error"
    on_the_way = True
    alarm = WRONG

    def complaint(self, walk: Walk) -> str:
        words = super().complaint(walk)
        return words and f"{last(walk)}, and its handler fails: {words}"
