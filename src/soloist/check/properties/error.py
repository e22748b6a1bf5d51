"""Errors: what a handler raises, and what it leaves behind that is not what its class says. Judged on the way, always."""

from __future__ import annotations

from collections.abc import Sequence

from soloist.check.counterexample import Step, Walk, last
from soloist.check.parts import WRONG
from soloist.check.properties._property import Property

ADVICE = {
    "was let in while": "Call `self.enter()` only where `self.phase is WAITING`: an answer may come late, or twice.",
    "but the sites are 0 to": "Sites are numbered from 0 to `self.n - 1`; `self.others` has all but this one.",
    "immutable type": "A message that was received cannot be changed: make a new one.",
    "does not know": "A message came that has no handler: add a method with `@on(…)` above it.",
    "has no attribute": "Name the field in the class, as `name: type`, and give it in `start`.",
}
"""By what Python, or a process, says of an error: what to do."""


class Error(Property):
    name = "error"
    says = "no step raises an error"
    on_the_way = True
    alarm = WRONG

    def complaint(self, walk: Walk) -> str:
        words = super().complaint(walk)
        return words and f"{last(walk)}, and its handler fails: {words}"

    def advice(self, reason: str, steps: Sequence[Step]) -> str:
        return next((text for said, text in ADVICE.items() if said in reason), "")
