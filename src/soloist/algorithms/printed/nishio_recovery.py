"""Nishio, Li and Manning's recovery in the survey's words: an ACK is no promise."""

from __future__ import annotations

import msgspec

from soloist.algorithms.nishio_recovery import CARD, NishioRecovery
from soloist.algorithms.printed._erratum import Erratum


class AnswersWithoutPromise(NishioRecovery):
    def promise(self, age: int) -> None:
        pass


PRINTED = msgspec.structs.replace(CARD, process=AnswersWithoutPromise)

ERRATA = (
    Erratum(
        algorithm="nishio-recovery",
        code="N1",
        text="survey of 1993, section 4, Nishio-Li-Manning; the original was not at hand",
        says="A node answers TOKEN_MISSING with ACK if it does not have the token. The token may be on its way to it: it comes after "
        "the ACK, is as old as the node's age, and is accepted beside the new one.",
        repair="An ACK is a promise: the node's age becomes the proposed one, and an older token is dropped.",
        card=PRINTED,
        breaks="exclusion",
        nodes=2,
        properties=("exclusion",),
        timeouts=1,
    ),
)
