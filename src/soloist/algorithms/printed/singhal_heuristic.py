"""Singhal's heuristic as the survey and textbooks describe it. The original article was not at hand."""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum
from soloist.algorithms.singhal_heuristic import CARD, SinghalHeuristic


class LeavesOutTheOutdated(SinghalHeuristic):
    def tell_the_outdated(self) -> None:
        """Nobody is told on arrival of the token."""


PRINTED = msgspec.structs.replace(CARD, process=LeavesOutTheOutdated)

ERRATA = (
    Erratum(
        algorithm="singhal-heuristic",
        code="H1",
        text="survey of 1993, section 4, Singhal, with the rules as textbooks have them; the "
        "original was not at hand",
        says="A waiting node that hears of a new requester sends its own request back, so that of any two "
        "one asks the other. A request that the token makes outdated before it arrives is ignored, and "
        "nothing is sent back.",
        repair="When the token arrives, the site sends its request to everyone of whom the token knows a "
        "newer request than itself and whom it has not asked: as if that request had arrived just before.",
        card=PRINTED,
        breaks="deadlock",
        nodes=3,
        rounds=(1, 1, 2),
        channels="fifo",
    ),
)
