"""Maekawa's algorithm in the survey's words. (The original was not at hand.)"""

from __future__ import annotations

import msgspec

from soloist.algorithms._arbiter import Inquire, ReqID, Request
from soloist.algorithms.maekawa import CARD, Maekawa
from soloist.algorithms.printed._erratum import Erratum, Example, steps
from soloist.core import Site, on

FIVE = ((0, 3, 4), (1, 3, 4), (2, 3), (3,), (3, 4))
"""Three requesters and two sites that only arbitrate."""


class TellsTheNewcomerOnly(Maekawa):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.told.update(waiting for _, waiting in self.queue)
        super().on_request(j, m)


class LooksAtTheQueueOnly(Maekawa):
    def fails(self, request: ReqID) -> bool:
        return request != self.queue[0]


class Untagged(Maekawa):
    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        if j in self.got:
            super().on_inquire(j, m)


class AsPrinted(TellsTheNewcomerOnly, LooksAtTheQueueOnly):
    """Both errors of the text."""


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted, channels="fifo")

SURVEY = "survey of 1993, section 5, Maekawa"

ERRATA = (
    Erratum(
        algorithm="maekawa",
        code="M1",
        text=f"{SURVEY}: 'a failed message is sent to node i' (and the original, as we know it; Sanders 1987 repairs it)",
        says="Only a newcomer that has to wait is told so. A request that waited first in line and is pushed back by an older "
        "newcomer is not; it keeps hoping, and does not give back what others wait for.",
        repair="The arbiter also tells those that a newcomer pushes back. Then of all that wait at an arbiter only one can be "
        "without FAILED, and it is older than the lock; of any cycle of waiting requests the youngest knows that it fails.",
        card=msgspec.structs.replace(CARD, process=TellsTheNewcomerOnly),
        breaks="deadlock",
        nodes=5,
        rounds=(1, 1, 1, 0, 0),
        channels="fifo",
        options={"quorums": FIVE},
    ),
    Erratum(
        algorithm="maekawa",
        code="M2",
        text=SURVEY,
        says="A newcomer is compared with the requests in the queue only. If it is younger than the one that has the permission, "
        "and the queue is empty, it is not told that it fails.",
        repair="It is compared with the lock too.",
        card=msgspec.structs.replace(CARD, process=LooksAtTheQueueOnly),
        breaks="deadlock",
        nodes=2,
        channels="fifo",
    ),
)

NOTES = (
    Erratum(
        algorithm="maekawa",
        code="M3",
        text=f"{SURVEY}: no error, but why it says that message order must be preserved",
        says="An INQUIRE that comes when its permission is not held is ignored, since it has crossed the RELEASE. Where links do "
        "not keep order it may also have overtaken the permission, and is not sent again.",
        repair="Every message names its request. An INQUIRE for the request under way is kept until its permission comes.",
        card=msgspec.structs.replace(CARD, process=Untagged),
        breaks="deadlock",
        nodes=5,
        rounds=(1, 1, 1, 0, 0),
        channels="any",
        options={"quorums": FIVE},
        run="not said",
    ),
)

EXAMPLES = (
    Example(
        algorithm="maekawa",
        code="M4",
        text=f"{SURVEY} and Table 2: 'C is a constant between 3 and 5'",
        says="An entry costs at most 5(K-1) messages, with K sites in a set. An arbiter may ask for its lock back again and "
        "again: here site 5, whose set has K = 3 sites, gives it back twice, and its entry takes 14 messages instead of 10.",
        repair="None: 5(K-1) is no bound for a single entry. The mean under load is about 4(K-1).",
        script=steps(
            """start maekawa nodes=6 quorums=0,0+1,0+1+2,0+3,0+4,0+1+5; acquire 4; settle; acquire 2; deliver 2>1; acquire 5;
            deliver 5>0; deliver 5>1; deliver 0>5; deliver 1>5; release 4; deliver 4>0; deliver 0>5; acquire 3; deliver 3>0;
            deliver 0>5; deliver 5>0; deliver 0>3; release 3; deliver 3>0; deliver 0>5; deliver 2>0; deliver 0>5; deliver 5>0;
            settle; release 2; settle; release 5; settle"""
        ),
        published=10,
        site=5,
    ),
)
