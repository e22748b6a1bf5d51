"""Ricart and Agrawala's algorithm as Lodha and Kshemkalyani print it. (The 1981 paper was not at hand.)"""

from __future__ import annotations

import msgspec

from soloist.algorithms.printed._erratum import Erratum, Slip
from soloist.algorithms.ricart_agrawala import CARD, REPLY, Request, RicartAgrawala
from soloist.core import INSIDE, Site, on


class RaisesHOnlyWhenDeferring(RicartAgrawala):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        before = self.H
        super().on_request(j, m)
        if j not in self.deferred:
            self.H = before


class InsideIsNotRequesting(RicartAgrawala):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if self.phase is INSIDE:
            self.H = max(self.H, m.sn)
            self.send(j, REPLY)
        else:
            super().on_request(j, m)


class OwnRequestsLeaveH(RicartAgrawala):
    def acquire(self) -> None:
        before = self.H
        super().acquire()
        self.H = before


class ChecksOnlyOnReplies(RicartAgrawala):
    def acquire(self) -> None:
        if self.n > 1:
            super().acquire()


class AsPrinted(RaisesHOnlyWhenDeferring, OwnRequestsLeaveH, ChecksOnlyOnReplies):
    """All but the second, which the prose rules out."""


PRINTED = msgspec.structs.replace(CARD, process=AsPrinted)

FIG_1 = "Lodha and Kshemkalyani 2000, Fig. 1"

ERRATA = (
    Erratum(
        algorithm="ricart-agrawala",
        code="R1",
        text=f"{FIG_1}, RcvReq.1 and RcvReq.2",
        says="Highest_Sequence_Number_Seen is raised only in the case in which the request is deferred. A process that "
        "replies and then asks itself may use the number that it has just replied to, or a smaller one.",
        repair="H is raised by every REQUEST, as section 2.1 and Fig. 2 of the same paper have it. Then a request made "
        "after a reply has a larger number than the request replied to.",
        card=msgspec.structs.replace(CARD, process=RaisesHOnlyWhenDeferring),
        breaks="exclusion",
        nodes=2,
    ),
    Erratum(
        algorithm="ricart-agrawala",
        code="R2",
        text=f"{FIG_1}, RcvReq: 'requesting'",
        says="A process that is not requesting replies at once. Read by the letter, a process inside is not requesting.",
        repair="A process is requesting until it has left, as Requesting_Critical_Section is in the original.",
        card=msgspec.structs.replace(CARD, process=InsideIsNotRequesting),
        breaks="exclusion",
        run="by the letter",
        nodes=2,
    ),
    Erratum(
        algorithm="ricart-agrawala",
        code="R3",
        text=f"{FIG_1}, InvMutEx.1 (and the original of 1981, as we know it)",
        says="A process numbers its request one above the highest number that it has seen, and has not seen its own: alone it "
        "uses the same number again and again, though section 2.1 calls a request's number unique.",
        repair="Own requests raise H. Nothing else depends on it; entries are then strictly in order of (number, process).",
        card=msgspec.structs.replace(CARD, process=OwnRequestsLeaveH),
        breaks="timestamp",
        nodes=2,
        rounds=(2, 0),
    ),
    Erratum(
        algorithm="ricart-agrawala",
        code="R4",
        text=f"{FIG_1}, CheckExecuteCS",
        says="Whether to enter is looked at only when a REPLY arrives. A process that is alone in the system gets none.",
        repair="It is looked at after asking too.",
        card=msgspec.structs.replace(CARD, process=ChecksOnlyOnReplies),
        breaks="deadlock",
        nodes=1,
    ),
)

SLIPS_IN_NOTES = (
    Slip(
        algorithm="ricart-agrawala",
        code="R5",
        text=f"{FIG_1}, InvMutEx.5 and FinCS",
        says="RD, the list of deferred requests, is cleared when a process asks, not when it has answered them at FinCS. That does no "
        "harm as long as FinCS runs once for each request.",
        repair="It is cleared at FinCS.",
    ),
)
