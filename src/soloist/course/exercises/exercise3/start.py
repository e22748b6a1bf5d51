"""Lamport 1978: all sites keep the same queue of requests, ordered by time stamps."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import WAITING, Clock, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(t): the sender asks, with time stamp t."""

    t: Clock


class Ack(Message, frozen=True):
    """ACK(t): the sender has the request in its queue."""

    t: Clock


class Release(Message, frozen=True):
    """RELEASE(t): the sender has left; its request goes out of all queues."""

    t: Clock


class Lamport(Process):
    C: Clock
    q: dict[Site, Clock]
    last: list[Clock]

    @classmethod
    def start(cls, me: Site, n: int) -> Lamport:
        return cls(me=me, n=n, C=0, q={}, last=[0] * n)

    def acquire(self) -> None:
        self.C += 1
        self.q[self.me] = self.C
        self.multicast(self.others, Request(self.C))
        self.enter_if_first()

    def release(self) -> None:
        del self.q[self.me]
        self.C += 1
        self.multicast(self.others, Release(self.C))

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.receive(j, m.t)
        self.q[j] = m.t
        self.send(j, Ack(self.C))
        self.enter_if_first()

    @on(Ack)
    def on_ack(self, j: Site, m: Ack) -> None:
        self.receive(j, m.t)
        self.enter_if_first()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.receive(j, m.t)
        self.q.pop(j, None)
        self.enter_if_first()

    def receive(self, j: Site, t: int) -> None:
        self.C = max(self.C, t + 1)
        self.last[j] = t

    def enter_if_first(self) -> None:
        """Rule 5: my request is the oldest, and everybody has sent me something newer."""
        if self.phase is not WAITING:
            return
        mine = self.timestamp()
        # TO DO: when may a site be sure that no older request is still on its way?
        if all(mine <= (t, j) for j, t in self.q.items()):
            self.enter()

    def timestamp(self) -> tuple[int, Site]:
        return self.q[self.me], self.me


CARD = Card(
    name="exercise-3",
    title="Lamport",
    paper="exercise 3",
    section="its text",
    process=Lamport,
    family="permission",
    capacity="1",
    channels="fifo",
    bound=Formula("3(N-1)", lambda s: 3 * (s.n - 1)),
    light=None,
    fairness="timestamp",
)
