"""Asking a quorum: what Maekawa, Sanders, Agrawal-El Abbadi and majority voting have in common.

Every site is two things. As a *requester* it asks the sites of its quorum S and enters when all have
granted. As an *arbiter* it grants one request at a time, the oldest first; if an older request comes
while a younger one holds its grant, it asks that one to give the grant back.

Here         Maekawa      Sanders   Agrawal-El Abbadi
Grant        LOCKED       GRANT     REPLY
Failed       FAILED       FAIL      (none)
Inquire      INQUIRE      INQUIRE   INQUIRE
Yield        RELINQUISH   YIELD     YIELD
Release      RELEASE      RELEASE   RELINQUISH

Who replaces or extends which rule (Sanders and Kakugawa start from Maekawa's; Agrawal and El Abbadi take all as they are):

rule          Maekawa   Sanders   Kakugawa   Agrawal-El Abbadi   Majority
acquire       yes
release                 yes
on_grant      yes                                                yes
on_inquire
cede                                                             yes
keeps         yes
give_back     yes
on_request                                                       yes
on_yield      yes                                                yes
on_release                                                       yes
decide        yes       yes
grant         yes       yes

Every message names the number `sn` of the request that it is about. So a late INQUIRE is not taken
to mean the next request, and one that overtakes its grant is kept until the grant comes: links may
deliver in any order. As the texts have it, without these tags, links must be FIFO.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

from soloist.core import IDLE, INSIDE, Clock, Message, Process, Site, Stamp, on

ReqID = tuple[Stamp, Site]
"""A request: its number and its site. The smaller one goes first."""


class Request(Message, frozen=True):
    """REQUEST(sn): the sender asks with number sn."""

    sn: Stamp


class Grant(Message, frozen=True):
    """The sender, an arbiter, gives its permission to request sn."""

    sn: Stamp


class Inquire(Message, frozen=True):
    """The arbiter wants its permission back, unless request sn has succeeded."""

    sn: Stamp


class Yield(Message, frozen=True):
    """Request sn gives the permission back, and waits for it again."""

    sn: Stamp


class Release(Message, frozen=True):
    """Request sn has been served."""

    sn: Stamp


class Arbiter(Process):
    S: tuple[Site, ...]
    """The quorum: whom to ask."""
    H: Clock
    sn: Stamp
    got: set[Site]
    """Arbiters that have granted the current request."""
    inq: set[Site]
    """Arbiters that have asked their grant back."""
    lock: ReqID | None
    """The request that has this arbiter's grant."""
    queue: list[ReqID]
    inquired: bool
    """The owner of the lock has been asked to give it back."""

    # The requester.

    def acquire(self) -> None:
        self.sn = self.H = self.H + 1
        self.got, self.inq = set(), set()
        self.tell(self.S, Request(self.sn))

    def release(self) -> None:
        self.tell(self.S, Release(self.sn))

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        self.got.add(j)
        if len(self.got) == len(self.S):
            self.enter()
        else:
            self.cede()

    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        if self.phase is not IDLE and m.sn == self.sn:
            self.inq.add(j)
            self.cede()

    def cede(self) -> None:
        """Give back what has been asked back, as far as it is here."""
        while not self.keeps() and (asked_back := self.inq & self.got):
            self.give_back(min(asked_back))

    def keeps(self) -> bool:
        """Whether to hold on to grants that are asked back."""
        return self.phase is INSIDE

    def give_back(self, a: Site) -> None:
        self.inq.remove(a)
        self.got.remove(a)
        self.tell((a,), Yield(self.sn))

    # The arbiter.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.H = max(self.H, m.sn)
        insort(self.queue, (m.sn, j))
        self.decide()

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        insort(self.queue, (m.sn, j))
        self.lock = None
        self.decide()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.lock = None
        self.decide()

    def decide(self) -> None:
        """Grant if the grant is free; ask it back if somebody older waits."""
        if self.lock is None and self.queue:
            self.lock, self.inquired = self.queue.pop(0), False
            self.grant(self.lock)
        elif self.lock and self.queue and self.queue[0] < self.lock and not self.inquired:
            self.inquired = True
            self.tell((self.lock[1],), Inquire(self.lock[0]))

    def grant(self, request: ReqID) -> None:
        self.tell((request[1],), Grant(request[0]))

    def tell(self, sites: Iterable[Site], message: Message) -> None:
        """Send to others; what a site has to say to itself is a call."""
        self.multicast((j for j in sites if j != self.me), message)
        if self.me in sites:
            self.handlers[type(message)](self, self.me, message)
