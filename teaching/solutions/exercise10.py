"""Lodha and Kshemkalyani 2000, Fig. 2, repaired: concurrent requests answer each other."""

from __future__ import annotations

from bisect import insort

from soloist.algorithms import Card, Formula
from soloist.core import IDLE, WAITING, Message, Process, Site, on

ReqID = tuple[int, Site]
"""A request: its number and its site. The smaller one goes first."""


class Request(Message, frozen=True):
    """REQUEST(R): the sender asks; `last` is the request of its own that was served last."""

    R: ReqID
    last: ReqID


class Reply(Message, frozen=True):
    """REPLY(R): the sender's last request R and all before it have been served."""

    R: ReqID


class Flush(Message, frozen=True):
    """FLUSH(R): the same, from one that has just left to the next of its queue."""

    R: ReqID


class LodhaKshemkalyani(Process):
    sn: int
    H: int
    """Highest number seen."""
    RV: set[Site]
    """Who has answered."""
    LRQ: list[ReqID]
    """Own request and those concurrent with it, in order."""
    deferred: list[ReqID]
    last: ReqID
    done: ReqID
    """The last request in order that is known to be served."""

    @classmethod
    def start(cls, me: Site, n: int) -> LodhaKshemkalyani:
        return cls(me=me, n=n, sn=0, H=0, RV=set(), LRQ=[], deferred=[], last=(0, me), done=(0, 0))

    def acquire(self) -> None:
        """InvMutEx."""
        self.sn = self.H = self.H + 1
        self.LRQ, self.RV = [self.timestamp()], {self.me}
        self.multicast(self.others, Request(self.timestamp(), self.last))
        self.check_execute_cs()

    def release(self) -> None:
        """FinCS."""
        self.last = self.timestamp()
        if len(self.LRQ) > 1:
            self.send(self.LRQ[1][1], Flush(self.last))
        for _, j in self.deferred:
            self.send(j, Reply(self.last))
        self.deferred = []

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        """RcvReq."""
        self.H = max(self.H, m.R[0])
        if self.phase is IDLE:
            self.send(j, Reply(self.last))
            return
        self.drop(m.last)
        if j in self.RV:
            self.deferred.append(m.R)
            return
        self.RV.add(j)
        if self.done < m.R:
            insort(self.LRQ, m.R)
        self.check_execute_cs()

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        """RcvReply."""
        self.RV.add(j)
        self.drop(m.R)
        self.check_execute_cs()

    @on(Flush)
    def on_flush(self, j: Site, m: Flush) -> None:
        """RcvFlush."""
        self.drop(m.R)
        self.check_execute_cs()

    def drop(self, R: ReqID) -> None:
        """R and all requests before it have been served."""
        self.done = max(self.done, R)
        self.LRQ = [each for each in self.LRQ if each > R]

    def check_execute_cs(self) -> None:
        if self.phase is WAITING and len(self.RV) == self.n and self.LRQ[0] == self.timestamp():
            self.enter()

    def timestamp(self) -> ReqID:
        return self.sn, self.me


CARD = Card(
    name="exercise-10",
    title="Lodha-Kshemkalyani",
    paper="exercise 10",
    section="its text",
    process=LodhaKshemkalyani,
    family="permission",
    capacity="1",
    channels="fifo",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=None,
    fairness="timestamp",
)
