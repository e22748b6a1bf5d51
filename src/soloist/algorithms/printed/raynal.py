"""Raynal's algorithm in the survey's words. (The original was not at hand.)

That it needs all sites to ask is an erratum of `raynal-inform`, which repairs it.
"""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum
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
        text="survey of 1993, permission-based algorithms, Raynal",
        says="T is the product of all values received. Without the site's own X only the first holder can ever find Q / A_i.",
        repair="The site's own X is a factor of T too. The product of all X is Q / A_i exactly when it is i's turn.",
        card=PRINTED,
        breaks="livelock",
        nodes=2,
    ),
)
