"""Raymond's tree algorithm: the rules are right, a sentence of the survey about them is not."""

from __future__ import annotations

from soloist.algorithms.printed._erratum import Erratum
from soloist.algorithms.raymond_tree import CARD

ERRATA = (
    Erratum(
        algorithm="raymond-tree",
        code="F1",
        text="survey of 1993, section 4, Raymond: 'requests are granted in a first-come-first-served manner'",
        says="Each site serves its own queue in order. The holder enters again at once although it has, through others, heard of a "
        "request that is still on its way along the tree.",
        repair="None: the card promises no more than that nobody starves.",
        card=CARD,
        breaks="causal",
        nodes=4,
        rounds=(1, 1, 1, 2),
        properties=("causal",),
    ),
)
