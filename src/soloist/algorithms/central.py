"""A central coordinator: site 0 lets one site in at a time, first come, first served.

The baseline that every textbook starts from. The coordinator's own requests cost nothing.

Name     here     meaning
c        0        the coordinator
holder   busy     somebody has the coordinator's grant
queue    queue    who waits for it, in order of arrival
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.core import Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST: the sender wants to enter."""


class Grant(Message, frozen=True):
    """GRANT: enter."""


class Release(Message, frozen=True):
    """RELEASE: the sender has left."""


class Central(Process):
    busy: bool
    queue: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> Central:
        return cls(me=me, n=n, busy=False, queue=[])

    def acquire(self) -> None:
        if self.me == 0:
            self.on_request(0, Request())
        else:
            self.send(0, Request())

    def release(self) -> None:
        if self.me == 0:
            self.on_release(0, Release())
        else:
            self.send(0, Release())

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.queue.append(j)
        self.grant_next()

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        self.enter()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.busy = False
        self.grant_next()

    def grant_next(self) -> None:
        if self.queue and not self.busy:
            self.busy = True
            j = self.queue.pop(0)
            if j == 0:
                self.enter()
            else:
                self.send(j, Grant())


CARD = Card(
    name="central",
    title="Central coordinator",
    paper="folklore; the baseline of the textbooks",
    section="no text: REQUEST, GRANT and RELEASE at one site",
    process=Central,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("3", lambda s: 3),
    light=Formula("3(N-1)/N", lambda s: 3 * (s.n - 1) / s.n),
    heavy=Formula("3(N-1)/N", lambda s: 3 * (s.n - 1) / s.n),
    fairness="arrival",
    structure="star",
)
