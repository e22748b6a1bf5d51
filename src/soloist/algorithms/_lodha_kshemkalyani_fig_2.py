"""Lodha and Kshemkalyani 2000, Fig. 2, repaired. The names are those of the table in `lodha_kshemkalyani`."""

from __future__ import annotations

from bisect import insort

from soloist.core import IDLE, WAITING, Clock, Message, Process, Site, Stamp, on

ReqID = tuple[Stamp, Site]


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
    sn: Stamp
    H: Clock
    RV: set[Site]
    LRQ: list[ReqID]
    deferred: list[ReqID]
    last: ReqID
    done: ReqID

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
