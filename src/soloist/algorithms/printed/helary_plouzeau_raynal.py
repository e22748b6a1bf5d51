"""Helary, Plouzeau and Raynal's algorithm: the rules are right, a sentence of the survey about them is not."""

from __future__ import annotations

from soloist.algorithms.helary_plouzeau_raynal import CARD
from soloist.algorithms.printed._erratum import Erratum

ERRATA = (
    Erratum(
        algorithm="helary-plouzeau-raynal",
        code="F1",
        text="survey of 1993, section 4, Helary-Plouzeau-Raynal: 'granted in a first-come-first-served manner'",
        says="The oldest request goes first of those that the holder has heard of. One that comes to it late is passed by another that "
        "was made later, and by a site that knew of it.",
        repair="None: the card promises no more than that nobody starves.",
        card=CARD,
        breaks="causal",
        properties=("causal",),
    ),
)
