"""Sanders' algorithm with the survey's conditions on the sets. (The original was not at hand.)"""

from __future__ import annotations

from typing import Any

import msgspec

from soloist.algorithms._card import Option
from soloist.algorithms.printed._erratum import Erratum, Example, steps
from soloist.algorithms.sanders import CARD, Sanders
from soloist.structures.information import Information, information


def as_surveyed(value: Any, n: int, k: int) -> Information:
    """Also `silent`: nobody informs anybody and everybody asks everybody, which meets the survey's conditions."""
    if str(value) == "silent":
        return Information([()] * n, [range(n)] * n, "silent")
    return information(value, n, k)


class AsSurveyed(Sanders):
    """The same rules; it is the sets that are wrong."""


PRINTED = msgspec.structs.replace(
    CARD,
    process=AsSurveyed,
    options=(Option("structure", "silent", "silent, or as in the catalogue", as_surveyed),),
)

ERRATA = (
    Erratum(
        algorithm="sanders",
        code="S1",
        text="survey of 1993, section 5, Sanders, conditions a) and b)",
        says="I_i is part of R_i, and for all i and j either I_i meets I_j or each is in the other's R. Empty sets I_i with R_i = all "
        "meet both conditions, but then every grant is free and nobody is ever kept out.",
        repair="In the second case i must be in I_i and j in I_j too: then each keeps the other's grant while it is inside itself.",
        card=PRINTED,
        breaks="exclusion",
        nodes=2,
    ),
)

EXAMPLES = (
    Example(
        algorithm="sanders",
        code="S2",
        text="survey of 1993, section 5, Sanders: 'The total number of messages required … is |Ii-{i}| + 2(|Ri-{i}|)'",
        says="That is right where nobody else asks. FAIL, INQUIRE and YIELD come on top: of two requests at once, which should take 2 messages "
        "each, one is told FAIL.",
        repair="None: the card says that it is for light load.",
        script=steps(
            "start sanders nodes=2 structure=ricart-agrawala; acquire 0; acquire 1; settle; release 0; settle; release 1; settle"
        ),
        published=2,
    ),
)
