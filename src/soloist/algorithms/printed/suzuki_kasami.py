"""Suzuki and Kasami's algorithm A as printed: P2 is indivisible, P1 is not.

A step of ours is atomic, so the exit is cut in two here: between examining Q and clearing Requesting
stands a timer that may run out at any time. Fig. 2, algorithm B, ends its P1 in the same way.
"""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum, Slip
from soloist.algorithms.suzuki_kasami import CARD, SuzukiKasami
from soloist.core import WAITING, Site


class LongExit(SuzukiKasami):
    requesting: bool = False

    def acquire(self) -> None:
        if not self.requesting:  # else P1 of the last entry has not ended yet
            self.requesting = True
            super().acquire()

    def release(self) -> None:
        super().release()
        self.set_timer("end of P1", 0)

    def timeout(self, name: str) -> None:
        self.requesting = False
        if self.phase is WAITING:
            self.acquire()

    def serve_if_idle(self, j: Site) -> None:
        if not self.requesting:
            super().serve_if_idle(j)


PRINTED = msgspec.structs.replace(CARD, process=LongExit)

ERRATA = (
    Erratum(
        algorithm="suzuki-kasami",
        code="A1",
        text="Suzuki and Kasami 1985, Fig. 1, end of P1; noted by the survey of 1993, section 4",
        says="P1 looks whether Q is empty and only then sets Requesting to false, and may be interrupted by "
        "P2 in between. A REQUEST that arrives there is neither put into Q nor answered.",
        repair="The whole exit is one step, in which the site no longer counts as requesting. A REQUEST "
        "comes before it, and is put into Q, or after it, and is answered by the idle holder.",
        card=PRINTED,
        breaks="deadlock",
        nodes=2,
    ),
)

SLIPS = (
    Slip(
        algorithm="suzuki-kasami",
        code="A2",
        text="Suzuki and Kasami 1985, section 2: 'n (n = 1, 2...) is a sequence number which indicates that node j is now requesting its "
        "(n + 1)st critical section invocation'",
        says="By Fig. 1 the first number is 0, since RN begins at -1; and an invocation of a node that has the privilege takes none.",
        repair="REQUEST(j, n), n = 0, 1, ..., is for the (n + 1)st invocation for which node j has to ask.",
    ),
)
