"""Maekawa's algorithm in the survey's words. (The original was not at hand.)"""

from __future__ import annotations

import msgspec

from soloist.algorithms._arbiter import Inquire, ReqID, Request
from soloist.algorithms.maekawa import CARD, Maekawa
from soloist.algorithms.printed._erratum import Erratum
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

SURVEY = "survey of 1993, permission-based algorithms, Maekawa"

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
    ),
)
