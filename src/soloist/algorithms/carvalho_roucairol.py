"""Carvalho and Roucairol 1983: Ricart and Agrawala's algorithm, but a permission is kept until it is asked back.

Survey            here       meaning
highest number    H          highest number seen in any request
my number         sn         number of this site's request
array[j]          A          the sites whose permission this one has, since they have not asked since
deferred          deferred   sites that get their REPLY at release

Of each pair of sites at most one has the other's permission. A waiting site that gives one back to an older
request must ask for it again with its own number: its request has never gone there. An entry that asks nobody takes
no number, since nobody would hear of it.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.core import INSIDE, WAITING, Clock, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(sn): the sender asks with number sn, and its own permission is no longer valid."""

    sn: Clock


class Reply(Message, frozen=True):
    """REPLY: the addressee has the sender's permission until the sender asks."""


class CarvalhoRoucairol(Process):
    sn: Clock
    H: Clock
    A: set[Site]
    deferred: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> CarvalhoRoucairol:
        return cls(me=me, n=n, sn=0, H=0, A=set(), deferred=[])

    def acquire(self) -> None:
        if self.may_enter():
            self.enter()
            return
        self.sn = self.H = self.H + 1
        self.multicast((j for j in self.others if j not in self.A), Request(self.sn))

    def release(self) -> None:
        for j in self.deferred:
            self.A.remove(j)
            self.send(j, Reply())
        self.deferred = []

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.H = max(self.H, m.sn)
        if self.phase is INSIDE or (self.phase is WAITING and (self.sn, self.me) < (m.sn, j)):
            self.deferred.append(j)
            return
        self.send(j, Reply())
        if j in self.A:
            self.A.remove(j)
            if self.phase is WAITING:
                self.send(j, Request(self.sn))

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.A.add(j)
        if self.may_enter():
            self.enter()

    def may_enter(self) -> bool:
        return len(self.A) == self.n - 1


CARD = Card(
    name="carvalho-roucairol",
    title="Carvalho-Roucairol",
    paper="O. S. F. Carvalho and G. Roucairol, On mutual exclusion in computer networks, Comm. ACM 26(2), 1983",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms. The original was not at hand",
    process=CarvalhoRoucairol,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=Formula("N-1", lambda s: s.n - 1),
    fairness="no-starvation",
)
