"""Ricart and Agrawala 1981: ask everybody; whoever has priority answers later."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import IDLE, Clock, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(sn, j): site j, the sender, asks with number sn."""

    sn: Clock


class Reply(Message, frozen=True):
    """REPLY: the sender lets the addressee go first."""


REPLY = Reply()


class RicartAgrawala(Process):
    sn: Clock
    H: Clock
    outstanding: int
    deferred: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> RicartAgrawala:
        return cls(me=me, n=n, sn=0, H=0, outstanding=0, deferred=[])

    def acquire(self) -> None:
        self.sn = self.H = self.H + 1
        self.outstanding = self.n - 1
        self.multicast(self.others, Request(self.sn))
        if self.outstanding == 0:
            self.enter()

    def release(self) -> None:
        for j in self.deferred:
            self.send(j, REPLY)
        self.deferred = []

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if m.sn > self.H:
            self.H = m.sn
        if self.phase is not IDLE and (self.sn, self.me) < (m.sn, j):
            self.deferred.append(j)
        else:
            self.send(j, REPLY)

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.outstanding -= 1
        if self.outstanding == 0:
            self.enter()

    def timestamp(self) -> tuple[int, Site]:
        return self.sn, self.me


CARD = Card(
    name="exercise-4",
    title="Ricart-Agrawala",
    paper="exercise 4",
    section="its text",
    process=RicartAgrawala,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=None,
    fairness="timestamp",
)
