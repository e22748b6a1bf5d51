"""Maekawa 1985, as far as most remember it: ask a set of sites, of which every two meet."""

from __future__ import annotations

from bisect import insort

from soloist.algorithms import Card, Formula
from soloist.core import Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(t): the sender asks, with time stamp t."""

    t: int


class Locked(Message, frozen=True):
    """LOCKED: the sender, an arbiter, is locked for the addressee's request."""


class Release(Message, frozen=True):
    """RELEASE: the sender has left."""


class Maekawa(Process):
    S: tuple[Site, ...]
    """Whom to ask. Every two of these sets meet."""
    clock: int
    t: int
    got: set[Site]
    lock: tuple[int, Site] | None
    queue: list[tuple[int, Site]]

    @classmethod
    def start(cls, me: Site, n: int) -> Maekawa:
        """More than half of the sites, from this one on."""
        S = tuple(sorted((me + step) % n for step in range(n // 2 + 1)))
        return cls(me=me, n=n, S=S, clock=0, t=0, got=set(), lock=None, queue=[])

    # As one that asks.

    def acquire(self) -> None:
        self.clock += 1
        self.t = self.clock
        self.got = set()
        for j in self.S:
            self.tell(j, Request(self.t))

    def release(self) -> None:
        for j in self.S:
            self.tell(j, Release())

    @on(Locked)
    def on_locked(self, j: Site, m: Locked) -> None:
        self.got.add(j)
        if len(self.got) == len(self.S):
            self.enter()

    # As an arbiter, which is locked for one request at a time.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.clock = max(self.clock, m.t)
        insort(self.queue, (m.t, j))
        self.decide()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.lock = None
        self.decide()

    def decide(self) -> None:
        if self.lock is None and self.queue:
            self.lock = self.queue.pop(0)
            self.tell(self.lock[1], Locked())
        # TO DO: an older request may wait for this lock, while its owner waits for another one

    def tell(self, j: Site, message: Message) -> None:
        """What a site has to say to itself is a call."""
        if j == self.me:
            self.handlers[type(message)](self, j, message)
        else:
            self.send(j, message)


CARD = Card(
    name="exercise-9",
    title="Maekawa without deadlock",
    paper="exercise 9",
    section="its text",
    process=Maekawa,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("as it comes", lambda s: float("inf")),
    light=None,
    fairness="no-starvation",
)
