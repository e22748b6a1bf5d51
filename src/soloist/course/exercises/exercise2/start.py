"""A coordinator: site 0 lets one site in at a time, in the order in which requests arrive."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST: the sender wants to enter."""


class Grant(Message, frozen=True):
    """GRANT: enter."""


class Release(Message, frozen=True):
    """RELEASE: the sender has left."""


class Coordinator(Process):
    busy: bool
    queue: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> Coordinator:
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
        # TO DO: one at a time
        if self.queue:
            j = self.queue.pop(0)
            if j == 0:
                self.enter()
            else:
                self.send(j, Grant())


CARD = Card(
    name="exercise-2",
    title="Coordinator",
    paper="exercise 2",
    section="its text",
    process=Coordinator,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("3", lambda s: 3),
    light=None,
    fairness="arrival",
)
