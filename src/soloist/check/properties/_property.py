"""What a property is to the searches. Each is one file beside this one, and one entry in `properties`.

Most are judged in one of three ways: on the way, by a look at each state (`alarm`, `stuck`); on the whole graph
(`judge`); or about the past of a run, by a ghost that rides along with a search of its own (`ghost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from soloist.check.counterexample import Step, Walk
from soloist.check.explore import Graph
from soloist.check.finding import Finding
from soloist.check.history import Ghost
from soloist.check.setting import Setting


class Property:
    """A promise: what it says, how it is judged, and what is told when it is broken."""

    name: ClassVar[str]
    says: ClassVar[str]
    look: ClassVar[str] = ""
    """What to look for in a run that breaks it, for the author of the algorithm."""

    def is_promised(self, setting: Setting) -> bool:
        """Whether an algorithm has to keep it."""
        return True

    def refusal(self, setting: Setting) -> str:
        """Why it makes no sense to ask for it; empty if it does."""
        return ""

    def advice(self, reason: str, steps: Sequence[Step]) -> str:
        """What to look for in this very run, given what is wrong at its end in words."""
        return self.look

    # On the way: states that must not be.

    on_the_way: ClassVar[bool] = False
    alarm: ClassVar[int] = 0
    """The bits that mark such a state (see `parts`)."""
    stuck: ClassVar[bool] = False
    """Whether a state is one in which somebody waits and nothing is due (`is_stuck`)."""

    def complaint(self, walk: Walk) -> str:
        """What the last step of a run has done to break it, in words; empty if it has not."""
        kind, _, words = walk.wrong.partition(": ")
        return words if kind == self.name else ""

    # On the whole graph of the main search.

    on_graph: ClassVar[bool] = False

    def judge(self, graph: Graph, finding: Finding) -> None:
        """Enter into the finding that it holds, or how it is broken."""
        raise NotImplementedError

    # On a graph where sites never stop asking, besides.

    endless: ClassVar[bool] = False

    def judge_endless(self, graph: Graph, finding: Finding, asking: str) -> None:
        """The same, given in words how the sites ask; the search may have been cut off."""
        raise NotImplementedError

    # About the past of a run.

    remembers: ClassVar[bool] = False

    def ghost(self, sites: int) -> Ghost:
        raise NotImplementedError
