"""Ricart and Agrawala 1981: ask everybody; whoever has priority answers later.

Paper name                     here        meaning
Our_Sequence_Number            sn          number of this site's request
Highest_Sequence_Number        H           highest number seen in any request
Outstanding_Reply_Count        outstanding replies still to come
Reply_Deferred[j]              deferred    sites that get their REPLY at release
Requesting_Critical_Section    phase is not IDLE (it includes being inside)

Own requests raise H too, so that a request's `(sn, site)` is unique and entries are strictly
ordered by it; the original leaves H alone.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
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
    name="ricart-agrawala",
    title="Ricart-Agrawala",
    paper="G. Ricart and A. K. Agrawala, An optimal algorithm for mutual exclusion in computer networks, "
    "Comm. ACM 24(1), 1981",
    section="Lodha and Kshemkalyani 2000, sections 2.1 and 2.2.2, Fig. 1, with its errors repaired; the original was not at hand",
    process=RicartAgrawala,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    heavy=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    fairness="timestamp",
)
