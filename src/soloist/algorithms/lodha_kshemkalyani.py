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
   the paper lets it know that it will ask soon, here it waits for a moment (option `soon`).
3  REPLY and FLUSH carry H too.

They can be combined. With 1 and 2 a site keeps what was asked of itself, but delegates at once what it has to answer for others, since its own
REQUEST does not speak for them; and what it has kept in vain it delegates as well.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Size, choice, duration
from soloist.algorithms._lodha_kshemkalyani_fig_2 import Flush, LodhaKshemkalyani, Reply, ReqID, Request
from soloist.core import Message, Site, Stamp, on

Obligation = tuple[ReqID, tuple[Site, ...]]
"""A request that still has to be answered, and on whose behalf."""


class Delegation(Message, frozen=True):
    """REPLY(R) on behalf of several sites, with the answers that its addressee has to give in turn."""

    R: ReqID
    behalf: tuple[Site, ...]
    rest: tuple[Obligation, ...]


class DelegatedRequest(Request, frozen=True):
    """REQUEST(R) of a site that has left it to others to answer some requests."""

    delegated: tuple[ReqID, ...]


class NumberedDelegation(Delegation, frozen=True):
    """The same with H."""

    H: Stamp


class NumberedReply(Reply, frozen=True):
    """REPLY(R) with H."""

    H: Stamp


class NumberedFlush(Flush, frozen=True):
    """FLUSH(R) with H."""

    H: Stamp


class Improved(LodhaKshemkalyani):
    improvements: tuple[int, ...]
    soon: float
    inherited: list[Obligation]
    delegated: list[ReqID]
    kept: list[ReqID]

    @classmethod
    def start(cls, me: Site, n: int, improvement: str, soon: float) -> Improved:
        return cls(me=me, n=n, sn=0, H=0, RV=set(), LRQ=[], deferred=[], last=(0, me), done=(0, 0),
                   improvements=tuple(map(int, improvement.split("+"))), soon=soon, inherited=[], delegated=[], kept=[])  # fmt: skip

    def release(self) -> None:
        self.last = self.timestamp()
        if 2 in self.improvements and self.deferred:
            self.kept, self.deferred = self.deferred, []
            self.set_timer("keep", self.soon)
        if 1 in self.improvements:
            self.delegate()
        super().release()

    def delegate(self) -> None:
        """Answer the first; if it is also next in the queue, the REPLY does what the FLUSH would."""
        owed = {R: {self.me} for R in self.deferred}
        for R, behalf in self.inherited:
            owed.setdefault(R, set()).update(behalf)
        if not owed:
            return
        (first, behalf), *rest = [(R, tuple(sorted(sites))) for R, sites in sorted(owed.items())]
        answer = (self.last, behalf, tuple(rest))
        numbered = 3 in self.improvements
        self.send(first[1], NumberedDelegation(*answer, self.H) if numbered else Delegation(*answer))
        self.delegated = [R for R, sites in rest if self.me in sites]
        self.LRQ = [R for R in self.LRQ if first != R]
        self.deferred, self.inherited = [], []

    def timeout(self, name: str) -> None:
        """It does not ask again."""
        kept, self.kept = self.kept, []
        if 1 in self.improvements:
            self.deferred = kept
            self.delegate()
        else:
            for _, j in kept:
                self.reply(j)

    @on(Delegation)
    def on_delegation(self, j: Site, m: Delegation) -> None:
        self.RV.update(m.behalf)
        self.drop(m.R)
        self.inherited += m.rest
        self.check_execute_cs()

    @on(NumberedDelegation)
    def on_numbered_delegation(self, j: Site, m: NumberedDelegation) -> None:
        self.H = max(self.H, m.H)
        self.on_delegation(j, m)

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
        self.send(j, NumberedReply(self.last, self.H) if 3 in self.improvements else Reply(self.last))

    def flush(self, j: Site) -> None:
        self.send(j, NumberedFlush(self.last, self.H) if 3 in self.improvements else Flush(self.last))


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
            ("0", "1", "2", "3", "1+2", "1+3", "2+3", "1+2+3"),
            "of section 5: 1 delegate replies, 2 keep requests, 3 H on all",
        ),
        duration("soon", 0.001, "improvement 2: how long a site that leaves waits for a request of its own"),
    ),
)
