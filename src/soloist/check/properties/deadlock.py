"""Deadlock: somebody waits, and nothing can happen any more. Judged on the way."""

from __future__ import annotations

from collections.abc import Sequence

from soloist.check.counterexample import Step, Walk, why_waiting
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

    def advice(self, reason: str, steps: Sequence[Step]) -> str:
        if not any(step.enters for step in steps):
            return "Nobody was let in at all. Follow the request: who gets it, what is answered, and where is `self.enter()` called?"
        last = steps[-1]
        if last.action == "release" and not any("->" in event for event in last.events):
            return (
                f"Site {last.site} left and told nobody: `release` has to pass on what the others wait for."
            )
        return "Who should have told those that wait, and in which step was that forgotten?"
