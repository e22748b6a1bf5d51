"""Lodha and Kshemkalyani 2000: concurrent requests answer each other, and entries follow the timestamps.

Paper name                      here       meaning
My_Sequence_Number              sn         number of this site's request
Highest_Sequence_Number_Seen    H
R_i = (sn, i)                   R          a request; the smaller pair has priority
RV[j] = 1                       j in RV    site j has answered the request under way
LRQ                             LRQ        own request and those concurrent with it, in order
(deferred requests)             deferred   they get their REPLY at release
R_i of the last request served  last       (0, i) at first
                                done       the last request in order that is known to be served
CheckExecuteCS                  check_execute_cs

Fig. 2 needs four repairs: a request that is known to be served must not be queued (`done`); a REQUEST that serves as
a reply must say what its sender has done, as a REPLY does (`last`); a FLUSH says nothing about who has answered;
and only a waiting site may enter. Own requests raise H, so that every R is unique.

Improvements of section 5: see `Improved`.
"""

from __future__ import annotations

from bisect import insort
from typing import ClassVar

from soloist.algorithms._card import Card, Formula, Size, choice
from soloist.core import IDLE, NEVER, WAITING, Counter, Message, Process, Site, on

ReqID = tuple[int, Site]

ONE, MANY = Counter(counted="none", at="0"), Counter(counted="none", at="*0")
"""Where a field is a request or has several: their numbers are compared, and H is counted."""


class Request(Message, frozen=True):
    """REQUEST(R): the sender asks; `last` is the request of its own that was served last."""

    R: ReqID
    last: ReqID

    counters: ClassVar = {"R": ONE, "last": ONE}


class Reply(Message, frozen=True):
    """REPLY(R): the sender's last request R and all before it have been served."""

    R: ReqID

    counters: ClassVar = {"R": ONE}


class Flush(Message, frozen=True):
    """FLUSH(R): the same, from one that has just left to the next of its queue."""

    R: ReqID

    counters: ClassVar = {"R": ONE}


class LodhaKshemkalyani(Process):
    sn: int
    H: int
    RV: set[Site]
    LRQ: list[ReqID]
    deferred: list[ReqID]
    last: ReqID
    done: ReqID

    counters: ClassVar = {"H": Counter(), "sn": Counter(counted="none"),
                          "LRQ": MANY, "deferred": MANY, "last": ONE, "done": ONE}  # fmt: skip
    settled: ClassVar = {
        "sn": lambda p: NEVER if p.phase is IDLE else p.sn,
        "RV": lambda p: set() if p.phase is IDLE else p.RV,
        "LRQ": lambda p: [] if p.phase is IDLE else p.LRQ,
        "deferred": lambda p: sorted(p.deferred),
    }

    def acquire(self) -> None:
        """InvMutEx."""
        self.sn = self.H = self.H + 1
        self.LRQ, self.RV = [self.timestamp()], {self.me}
        self.ask()

    def release(self) -> None:
        """FinCS."""
        self.last = self.timestamp()
        if len(self.LRQ) > 1:
            self.flush(self.LRQ[1][1])
        for _, j in self.deferred:
            self.reply(j)
        self.deferred = []

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.H = max(self.H, m.R[0])
        if self.phase is IDLE:
            self.reply(j)
            return
        self.drop(m.last)
        if self.defers(j, m):
            self.deferred.append(m.R)
        else:
            self.RV.add(j)
            if self.done < m.R:
                insort(self.LRQ, m.R)
            self.check_execute_cs()

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.RV.add(j)
        self.drop(m.R)
        self.check_execute_cs()

    @on(Flush)
    def on_flush(self, j: Site, m: Flush) -> None:
        self.drop(m.R)
        self.check_execute_cs()

    def drop(self, R: ReqID) -> None:
        """R and all requests before it have been served."""
        self.done = max(self.done, R)
        self.LRQ = [each for each in self.LRQ if each > R]

    def check_execute_cs(self) -> None:
        if self.phase is WAITING and len(self.RV) == self.n and self.LRQ[0] == self.timestamp():
            self.enter()

    def defers(self, j: Site, m: Request) -> bool:
        """Whether j has answered our request already, so that its own is a later one."""
        return j in self.RV

    def ask(self) -> None:
        self.multicast(self.others, Request(self.timestamp(), self.last))
        self.check_execute_cs()

    def flush(self, j: Site) -> None:
        self.send(j, Flush(self.last))

    def reply(self, j: Site) -> None:
        self.send(j, Reply(self.last))

    def timestamp(self) -> ReqID:
        return self.sn, self.me


# The improvements of section 5.

Obligation = tuple[ReqID, tuple[Site, ...]]
"""A request that still has to be answered, and on whose behalf."""

SOON = 0.001
"""Improvement 2: how long a site waits with its answers for a request of its own, in seconds."""


class Delegation(Message, frozen=True):
    """REPLY(R) on behalf of several sites, with the answers that its addressee has to give in turn."""

    R: ReqID
    behalf: tuple[Site, ...]
    rest: tuple[Obligation, ...]

    counters: ClassVar = {"R": ONE, "rest": Counter(counted="none", at="*00")}


class DelegatedRequest(Request, frozen=True):
    """REQUEST(R) of a site that has left it to others to answer some requests."""

    delegated: tuple[ReqID, ...]

    counters: ClassVar = {**Request.counters, "delegated": MANY}


class NumberedReply(Reply, frozen=True):
    """REPLY(R) with H."""

    H: int

    counters: ClassVar = {"R": ONE, "H": Counter(counted="none")}


class NumberedFlush(Flush, frozen=True):
    """FLUSH(R) with H."""

    H: int

    counters: ClassVar = {"R": ONE, "H": Counter(counted="none")}


class Improved(LodhaKshemkalyani):
    """1  One REPLY, to the first of the deferred requests, which then has to answer the others. A request listed
       in the delegator's next REQUEST still waits for that answer: the REQUEST does not count as one.
    2  Deferred requests are kept until the site asks again: its REQUEST answers them, and they answer it. Where
       the paper lets it know that it will ask soon, here it waits for a moment.
    3  REPLY and FLUSH carry H too.
    """

    improvement: int
    inherited: list[Obligation]
    delegated: list[ReqID]
    kept: list[ReqID]

    counters: ClassVar = {**LodhaKshemkalyani.counters, "inherited": Counter(counted="none", at="*00"),
                          "delegated": MANY, "kept": MANY}  # fmt: skip
    settled: ClassVar = {**LodhaKshemkalyani.settled, "kept": lambda p: sorted(p.kept)}

    @classmethod
    def start(cls, me: Site, n: int, improvement: str) -> Improved:
        return cls(me=me, n=n, sn=0, H=0, RV=set(), LRQ=[], deferred=[], last=(0, me), done=(0, 0),
                   improvement=int(improvement), inherited=[], delegated=[], kept=[])  # fmt: skip

    def release(self) -> None:
        if self.improvement == 1:
            self.delegate()
        if self.improvement == 2 and self.deferred:
            self.kept, self.deferred = self.deferred, []
            self.set_timer("keep", SOON)
        super().release()

    def delegate(self) -> None:
        """Answer the first; if it is also next in the queue, the REPLY does what the FLUSH would."""
        owed = {R: {self.me} for R in self.deferred}
        for R, behalf in self.inherited:
            owed.setdefault(R, set()).update(behalf)
        if not owed:
            return
        (first, behalf), *rest = [(R, tuple(sorted(sites))) for R, sites in sorted(owed.items())]
        self.send(first[1], Delegation(self.timestamp(), behalf, tuple(rest)))
        self.delegated = [R for R, sites in rest if self.me in sites]
        self.LRQ = [R for R in self.LRQ if first != R]
        self.deferred, self.inherited = [], []

    def timeout(self, name: str) -> None:
        for _, j in self.kept:
            self.reply(j)
        self.kept = []

    @on(Delegation)
    def on_delegation(self, j: Site, m: Delegation) -> None:
        self.RV.update(m.behalf)
        self.drop(m.R)
        self.inherited += m.rest
        self.check_execute_cs()

    @on(DelegatedRequest)
    def on_delegated_request(self, j: Site, m: DelegatedRequest) -> None:
        self.on_request(j, m)

    @on(NumberedReply)
    def on_numbered_reply(self, j: Site, m: NumberedReply) -> None:
        self.H = max(self.H, m.H)
        self.on_reply(j, m)

    @on(NumberedFlush)
    def on_numbered_flush(self, j: Site, m: NumberedFlush) -> None:
        self.H = max(self.H, m.H)
        self.on_flush(j, m)

    def defers(self, j: Site, m: Request) -> bool:
        return super().defers(j, m) or (isinstance(m, DelegatedRequest) and self.timestamp() in m.delegated)

    def ask(self) -> None:
        if self.kept:
            self.cancel_timer("keep")
            self.LRQ = sorted(self.kept + self.LRQ)
            self.RV.update(j for _, j in self.kept)
            self.kept = []
        if self.delegated:
            self.multicast(self.others, DelegatedRequest(self.timestamp(), self.last, tuple(self.delegated)))
            self.delegated = []
        else:
            super().ask()

    def reply(self, j: Site) -> None:
        self.send(j, NumberedReply(self.last, self.H) if self.improvement == 3 else Reply(self.last))

    def flush(self, j: Site) -> None:
        self.send(j, NumberedFlush(self.last, self.H) if self.improvement == 3 else Flush(self.last))


def most(s: Size) -> float:
    return 2 * (s.n - 1)


CARD = Card(
    name="lodha-kshemkalyani",
    title="Lodha-Kshemkalyani",
    paper="S. Lodha and A. Kshemkalyani, A fair distributed mutual exclusion algorithm, IEEE TPDS 11(6), 2000",
    section="section 3.3.2, Fig. 2, repaired; section 5 for the improvements",
    process=Improved,
    family="permission",
    capacity="1",
    channels="fifo",
    bound=Formula("2(N-1)", most),
    light=Formula("2(N-1)", most),
    fairness="timestamp",
    options=(
        choice(
            "improvement",
            ("0", "1", "2", "3"),
            "of section 5: 1 delegate replies, 2 keep requests, 3 H on all",
        ),
    ),
)
