"""Raymond 1989, several entries: enter when at most K-1 of the others may be inside."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import IDLE, INSIDE, WAITING, Clock, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(sn, j): site j, the sender, asks with number sn."""

    sn: Clock


class Reply(Message, frozen=True):
    """REPLY(count): the sender answers that many requests of the addressee."""

    count: int


class RaymondK(Process):
    k: int
    sn: Clock
    H: Clock
    owe: list[int]
    defer: list[int]

    @classmethod
    def start(cls, me: Site, n: int, k: int) -> RaymondK:
        return cls(me=me, n=n, k=k, sn=0, H=0, owe=[0] * n, defer=[0] * n)

    def acquire(self) -> None:
        self.sn = self.H = self.H + 1
        for j in self.others:
            self.owe[j] += 1
        self.multicast(self.others, Request(self.sn))
        self.enter_if_few_owe()

    def release(self) -> None:
        for j in self.others:
            if self.defer[j]:
                self.send(j, Reply(self.defer[j]))
        self.defer = [0] * self.n

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.H = max(self.H, m.sn)
        mine_first = self.phase is INSIDE or (self.sn, self.me) < (m.sn, j)
        if self.phase is not IDLE and mine_first:
            self.defer[j] += 1
        else:
            self.send(j, Reply(1))

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.owe[j] -= m.count
        self.enter_if_few_owe()

    def enter_if_few_owe(self) -> None:
        """At most K-1 others may be inside: the rest have answered all that they were asked."""
        # TO DO: this lets one in at a time; how many answers may be missing?
        if self.phase is WAITING and not any(self.owe):
            self.enter()


CARD = Card(
    name="exercise-8",
    title="Raymond's K entries",
    paper="exercise 8",
    section="its text",
    process=RaymondK,
    family="permission",
    capacity="K",
    channels="any",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=None,
    fairness="no-starvation",
    prompt=True,
)
