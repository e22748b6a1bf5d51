"""Raynal's algorithm in the survey's words. (The original was not at hand.)

That it needs all sites to ask is an erratum of `raynal-inform`, which repairs it.
"""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum, Example, steps
from soloist.algorithms.raynal import CARD, Raynal
from soloist.core import Site


class LeavesOutItsOwn(Raynal):
    def known(self) -> dict[Site, int]:
        return self.seen


PRINTED = msgspec.structs.replace(CARD, process=LeavesOutItsOwn)

ERRATA = (
    Erratum(
        algorithm="raynal",
        code="P1",
        text="survey of 1993, section 5, Raynal",
        says="T is the product of all values received. Without the site's own X only the first holder can ever find Q / A_i.",
        repair="The site's own X is a factor of T too. The product of all X is Q / A_i exactly when it is i's turn.",
        card=PRINTED,
        breaks="livelock",
        nodes=2,
    ),
)

EXAMPLES = (
    Example(
        algorithm="raynal",
        code="P2",
        text="survey of 1993, section 5, Raynal: 'an upper bound of 2(N-1)2'",
        says="It takes one poll of all others for each time that the turn is passed on. A site that polls by the clock may do so any number "
        "of times before: here site 1 polls three times, and two entries take 8 messages instead of 4.",
        repair="None: the card has no bound.",
        script=steps(
            """start raynal nodes=2; acquire 1; settle; timeout 1 poll; settle; acquire 0; settle; release 0; timeout 1 poll; settle;
            release 1"""
        ),
        published=2,
    ),
)
