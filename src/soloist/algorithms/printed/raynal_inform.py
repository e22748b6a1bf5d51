"""The survey's modification of Raynal's algorithm, as printed."""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum, Example, steps
from soloist.algorithms.raynal import CARD as ORIGINAL
from soloist.algorithms.raynal_inform import CARD, RaynalInform


class WaitsForAMessage(RaynalInform):
    def begin(self) -> None:
        pass


SERVES_ALL = msgspec.structs.replace(ORIGINAL, everybody_asks=False)
"""The original, taken at the word that every request is served."""

PRINTED = msgspec.structs.replace(CARD, process=WaitsForAMessage)

ERRATA = (
    Erratum(
        algorithm="raynal-inform",
        code="P1",
        text="survey of 1993, section 5, the modification of Raynal's algorithm",
        says="A site that has the turn and does not want it passes it on when a message arrives. The first holder has the turn "
        "without having got a message, and nobody sends one before it.",
        repair="The first holder looks at its turn when the system starts. Everybody after it gets the INFORM that gives it the turn.",
        card=PRINTED,
        breaks="deadlock",
        nodes=2,
        rounds=(0, 1),
    ),
    Erratum(
        algorithm="raynal-inform",
        code="P2",
        text="Raynal 1989, which was not at hand; the survey of 1993 points it out itself, and proposes the modification",
        says="Only a site that has entered passes the turn on. If the next one does not ask, those behind it poll for ever.",
        repair="A site that has the turn and does not want it passes it on all the same. (`raynal`, the original, is only for "
        "systems in which all ask equally often.)",
        card=SERVES_ALL,
        breaks="livelock",
        run="other repairs",
        nodes=3,
        rounds=(1, 0, 1),
    ),
)

EXAMPLES = (
    Example(
        algorithm="raynal-inform",
        code="P3",
        text="survey of 1993, section 5, the modification of Raynal's algorithm: 'an upper bound of (N-1)2 in the worst case'",
        says="A site that asks again alone waits until the turn has come round, N announcements to N-1 sites each; and the turn goes round, too, "
        "while nobody asks. Here two entries take 6 messages instead of 2.",
        repair="None: the card has no bound.",
        script=steps(
            """start raynal-inform nodes=2; deliver 0>1; acquire 1; deliver 1>0; deliver 0>1; release 1; acquire 1; deliver 1>0;
            deliver 0>1; release 1"""
        ),
        published=1,
    ),
)
