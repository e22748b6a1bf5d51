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

Fig. 2 is in `_lodha_kshemkalyani_fig_2`. Here are the improvements of section 5:

1  One REPLY, to the first of the deferred requests, which then has to answer the others. A request listed
   in the delegator's next REQUEST still waits for that answer: the REQUEST does not count as one.
2  Deferred requests are kept until the site asks again: its REQUEST answers them, and they answer it. Where
   the paper lets it know that it will ask soon, here it waits for a moment.
3  REPLY and FLUSH carry H too.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Size, choice
from soloist.algorithms._lodha_kshemkalyani_fig_2 import Flush, LodhaKshemkalyani, Reply, ReqID, Request
from soloist.core import Message, Site, Stamp, on

Obligation = tuple[ReqID, tuple[Site, ...]]
"""A request that still has to be answered, and on whose behalf."""

SOON = 0.001
"""Improvement 2: how long a site waits with its answers for a request of its own, in seconds."""


class Delegation(Message, frozen=True):
    """REPLY(R) on behalf of several sites, with the answers that its addressee has to give in turn."""

    R: ReqID
    behalf: tuple[Site, ...]
    rest: tuple[Obligation, ...]


class DelegatedRequest(Request, frozen=True):
    """REQUEST(R) of a site that has left it to others to answer some requests."""

    delegated: tuple[ReqID, ...]


class NumberedReply(Reply, frozen=True):
    """REPLY(R) with H."""

    H: Stamp


class NumberedFlush(Flush, frozen=True):
    """FLUSH(R) with H."""

    H: Stamp


class Improved(LodhaKshemkalyani):
    improvement: int
    inherited: list[Obligation]
    delegated: list[ReqID]
    kept: list[ReqID]

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
