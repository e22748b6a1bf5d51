"""Naimi and Trehel's recovery in the survey's words: whoever hears that the token is there waits again."""

from __future__ import annotations

import msgspec

from soloist.algorithms.naimi_trehel_recovery import CARD, NaimiTrehelRecovery
from soloist.algorithms.printed._erratum import Slip
from soloist.core import Message, Site, on


class Present(Message, frozen=True):
    """The token is with the sender."""


class WaitsAgain(NaimiTrehelRecovery):
    def answer(self) -> None:
        self.multicast(sorted(self.queries), Present())
        self.queries = set()

    @on(Present)
    def on_present(self, j: Site, m: Present) -> None:
        if self.state in ("consulting", "query", "candidate"):
            self.go("waiting")


PRINTED = msgspec.structs.replace(CARD, process=WaitsAgain)

SLIPS = (
    Slip(
        algorithm="naimi-trehel-recovery",
        code="R1",
        text="survey of 1993, section 4, Naimi-Trehel: 'the inquiring node goes back to the waiting state'",
        says="If the token or an answer arrives, the node waits again. If its request has died in a crashed node, nobody will ever serve it: "
        "it asks after the token again and again, and the token is there.",
        repair="The holder makes a new tree around itself, and whoever wants the token asks it.",
    ),
    Slip(
        algorithm="naimi-trehel-recovery",
        code="R2",
        text="survey of 1993, section 4, Naimi-Trehel: it has no words for what was sent before an election, nor for a candidate that fails",
        says="A request or a token of the old tree may arrive in the new one; an observer may wait for ever.",
        repair="Messages name their epoch, and old ones are dropped. Observers have a time-out.",
    ),
)
