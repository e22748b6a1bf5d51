"""Lodha and Kshemkalyani's algorithm as printed in Fig. 2.

Each class puts one error back and has all other repairs, so each repair is needed by itself.
"""

from __future__ import annotations

import msgspec

from soloist.algorithms._card import Card
from soloist.algorithms._lodha_kshemkalyani_fig_2 import Flush, ReqID, Request
from soloist.algorithms.lodha_kshemkalyani import CARD, Improved
from soloist.algorithms.printed._erratum import Erratum, Example, Slip, steps
from soloist.core import INSIDE, Process, Site, on


class QueuesWhatIsServed(Improved):
    def drop(self, R: ReqID) -> None:
        self.LRQ = [each for each in self.LRQ if each > R]


class RequestsDoNotSayWhatIsDone(Improved):
    def ask(self) -> None:
        last, self.last = self.last, (0, self.me)
        super().ask()
        self.last = last


class FlushAnswers(Improved):
    @on(Flush)
    def on_flush(self, j: Site, m: Flush) -> None:
        self.RV.add(j)
        super().on_flush(j, m)


class EntersWithoutAsking(Improved):
    def check_execute_cs(self) -> None:
        if len(self.RV) == self.n and self.LRQ and self.LRQ[0] == self.timestamp():
            self.enter()


class InsideIsNotRequesting(Improved):
    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if self.phase is INSIDE:
            self.H = max(self.H, m.R[0])
            self.reply(j)
        else:
            super().on_request(j, m)


class OwnRequestsLeaveH(Improved):
    def acquire(self) -> None:
        before = self.H
        super().acquire()
        self.H = before


class ChecksOnlyOnMessages(Improved):
    def ask(self) -> None:
        if self.n > 1:
            super().ask()


class DoesNotSayWhatIsDelegated(Improved):
    def ask(self) -> None:
        self.delegated = []
        super().ask()


class AsPrinted(
    FlushAnswers,
    EntersWithoutAsking,
    QueuesWhatIsServed,
    RequestsDoNotSayWhatIsDone,
    OwnRequestsLeaveH,
    ChecksOnlyOnMessages,
):
    """All but E6, which the prose rules out."""


def with_error(process: type[Process]) -> Card:
    return msgspec.structs.replace(CARD, process=process)


PRINTED = with_error(AsPrinted)

TWO_INSIDE = steps(
    """acquire 0; acquire 1; deliver 1>0; deliver 0>1; deliver 0>2; deliver 2>0; release 0; acquire 0; deliver 0>1;
    deliver 0>1; acquire 2; deliver 0>2; deliver 2>0; deliver 2>1; release 1; deliver 1>0; release 0; deliver 1>2;
    acquire 1; deliver 1>0; deliver 0>1; deliver 0>2; release 2; acquire 2; deliver 2>0; deliver 0>2; deliver 2>1;
    deliver 1>2"""
)
"""A run of Fig. 2 as it stands, after which two are inside. (A shorter one ends with a process that enters unasked.)"""

FIG_2 = "Lodha and Kshemkalyani 2000, Fig. 2"

ERRATA = (
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E1",
        text=f"{FIG_2}, RcvReq.2a",
        says="Every REQUEST that comes as an answer is put into LRQ. It may come after the FLUSH or REPLY, from a third process, "
        "that says it has been served; then nobody will ever take it out again.",
        repair="`done` keeps the last request in order that is known to be served. What is not behind it counts as an answer "
        "and is not queued. Since entries are in order, all of that has been served.",
        card=with_error(QueuesWhatIsServed),
        breaks="deadlock",
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E2",
        text=f"{FIG_2}, InvMutEx.3 and RcvReq.2a",
        says="A REQUEST that serves as a reply does not say which request of its sender was served last, as a REPLY would. The "
        "process that took the sender's REPLY into account through somebody else's queue waits for news that never come.",
        repair="REQUEST carries the same parameter as REPLY and FLUSH, and is used like theirs. It costs a word; the paper's "
        "'no overhead' is then not quite true.",
        card=with_error(RequestsDoNotSayWhatIsDone),
        breaks="deadlock",
        rounds=(1, 2, 2),
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E3",
        text=f"{FIG_2}, RcvFlush.1",
        says="A FLUSH marks its sender as having answered. It may be late: a REPLY of a third process has let the addressee "
        "in and out again, and the old FLUSH then answers its next request, which the sender has not seen.",
        repair="The line is left out. When a FLUSH is in time its sender is marked already, since its REQUEST came before on the "
        "same channel.",
        card=with_error(FlushAnswers),
        breaks="exclusion",
        rounds=2,
        run="other repairs",
        schedule=TWO_INSIDE,
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E4",
        text=f"{FIG_2}, CheckExecuteCS and FinCS",
        says="Nothing asks whether the process wants to enter, and RV and LRQ stay as they are when it leaves. A late FLUSH makes an "
        "idle process enter, or one that is inside enter again.",
        repair="Only a waiting process enters.",
        card=with_error(EntersWithoutAsking),
        breaks="error",
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E6",
        text=f"{FIG_2}, RcvReq.2 and 3: 'requesting'",
        says="A process that is not requesting replies at once. Read by the letter, a process inside is not requesting; "
        "section 4.3 says in passing that such requests are deferred.",
        repair="Inside counts as requesting: all have answered, so that RcvReq.2b defers.",
        card=with_error(InsideIsNotRequesting),
        breaks="exclusion",
        nodes=2,
        run="by the letter",
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E7",
        text=f"{FIG_2}, InvMutEx.1; section 2.1",
        says="Own requests do not raise Highest_Sequence_Number_Seen, so a process alone uses the same number again, though "
        "section 2.1 calls it unique. With the repairs of E1 and E2 the second of two equal requests is taken for the first, which "
        "has been served.",
        repair="Own requests raise H.",
        card=with_error(OwnRequestsLeaveH),
        breaks="exclusion",
        nodes=2,
        run="other repairs",
        rounds=(2, 1),
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E9",
        text=f"{FIG_2}, InvMutEx",
        says="Whether to enter is looked at only when a message arrives. A process that is alone in the system gets none.",
        repair="It is looked at after asking too.",
        card=with_error(ChecksOnlyOnMessages),
        breaks="deadlock",
        nodes=1,
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E10",
        text="Lodha and Kshemkalyani 2000, section 5, first improvement: 'Now it is upto P_k to take care of the rest'",
        says="A process that has left its REPLYs to another asks again, and its REQUEST counts as its answer at a process that "
        "still waits for the one left to the other. Which of the two it is, nothing says.",
        repair="Its next REQUEST lists the requests that it has left to others. Whoever finds its own there defers it, and "
        "waits for the answer that was promised.",
        card=with_error(DoesNotSayWhatIsDelegated),
        breaks="deadlock",
        rounds=(1, 2, 1),
        options={"improvement": "1"},
        run="other repairs",
    ),
    Erratum(
        algorithm="lodha-kshemkalyani",
        code="E11",
        text="Lodha and Kshemkalyani 2000, section 5, second improvement: 'its REQUEST acts as a REPLY to the deferred REQUESTs'",
        says="The REPLY that is saved would have said which request was served last. The REQUEST that stands for it does not, as "
        "in E2, and those that wait for that news wait for ever.",
        repair="As in E2: REQUEST carries the same parameter as REPLY.",
        card=with_error(RequestsDoNotSayWhatIsDone),
        breaks="deadlock",
        rounds=(1, 2, 1),
        options={"improvement": "2"},
    ),
)

EXAMPLES = (
    Example(
        algorithm="lodha-kshemkalyani",
        code="E8",
        text="Lodha and Kshemkalyani 2000, sections 1 and 5: '2(N-1) - x, where x is the number of other requests that are made "
        "concurrently'",
        says="Of three requests at once, each has x = 2, and would take 2 messages. Section 4.1, which counts the FLUSH, and Fig. 3 "
        "are right: they take 8 together.",
        repair="Section 4.1: 2N - |CSet|, and one less where no concurrent request has a lower priority.",
        script=steps(
            "start lodha-kshemkalyani nodes=3; acquire 0; acquire 1; acquire 2; settle; release 0; settle; release 1; settle; release 2"
        ),
        published=2,
    ),
)

SLIPS_IN_NOTES = (
    Slip(
        algorithm="lodha-kshemkalyani",
        code="E5",
        text=f"{FIG_2}, RcvReq.3: 'R_i denotes the ReqID of the last request made by P_i that was satisfied'",
        says="What a process sends that has never asked is not said.",
        repair="(0, i), which removes nothing.",
    ),
)
