"""Lamport 1978: every site keeps the whole queue of requests; the oldest one enters.

Paper name              here          meaning
T_m                     t             time stamp of a message
C_i                     C             logical clock of this site
request queue           q             time stamp of each site's pending request
(rule 5.ii)             last[j]       time stamp of the newest message from site j
(footnote)              sent[j]       time stamp of the newest message to site j; empty with acks=always

The clock ticks when a site asks and when it leaves (IR1). On receipt it moves only if it has to, so that
it is not below its present value and later than the time stamp (IR2); receipt is no tick of its own, and an
ACK is sent at the time of the receipt. Rule 5 needs no more: a request is later than all that its site has
sent and received before.

With acks=needed no ACK goes to a site that has been sent something newer than its request already.
The channels must be FIFO: an ACK that overtakes a REQUEST lets two sites in.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, choice
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
    sent: list[Clock]

    @classmethod
    def start(cls, me: Site, n: int, acks: str = "always") -> Lamport:
        return cls(me=me, n=n, C=0, q={}, last=[0] * n, sent=[0] * n if acks == "needed" else [])

    def acquire(self) -> None:
        self.C += 1
        self.q[self.me] = self.C
        self.tell(self.others, Request(self.C))
        self.enter_if_first()

    def release(self) -> None:
        del self.q[self.me]
        self.C += 1
        self.tell(self.others, Release(self.C))

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.receive(j, m.t)
        self.q[j] = m.t
        if not self.sent or (self.sent[j], self.me) < (m.t, j):
            self.tell((j,), Ack(self.C))
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

    def tell(self, sites: tuple[Site, ...], m: Request | Ack | Release) -> None:
        self.multicast(sites, m)
        if self.sent:
            for j in sites:
                self.sent[j] = m.t

    def receive(self, j: Site, t: int) -> None:
        self.C = max(self.C, t + 1)
        self.last[j] = t

    def enter_if_first(self) -> None:
        """Rule 5: my request is the oldest, and everybody has sent me something newer."""
        if self.phase is not WAITING:
            return
        mine = self.timestamp()
        if all(mine <= (t, j) for j, t in self.q.items()) and all(
            mine < (self.last[j], j) for j in self.others
        ):
            self.enter()

    def timestamp(self) -> tuple[int, Site]:
        return self.q[self.me], self.me


CARD = Card(
    name="lamport",
    title="Lamport",
    paper="L. Lamport, Time, clocks, and the ordering of events in a distributed system, Comm. ACM 21(7), 1978",
    section="section 'Ordering the events totally', rules 1 to 5; acks=needed: the footnote to rule 2",
    process=Lamport,
    family="permission",
    capacity="1",
    channels="fifo",
    bound=Formula("3(N-1)", lambda s: 3 * (s.n - 1)),
    light=Formula("3(N-1)", lambda s: 3 * (s.n - 1)),
    heavy=Formula("3(N-1)", lambda s: 3 * (s.n - 1)),
    fairness="timestamp",
    options=(
        choice(
            "acks", ("always", "needed"), "acknowledge every request, or only where nothing newer was sent"
        ),
    ),
)
