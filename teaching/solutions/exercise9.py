"""Maekawa 1985, free of deadlock: an arbiter asks its lock back when an older request comes."""

from __future__ import annotations

from bisect import insort

from soloist.algorithms import Card, Formula
from soloist.core import WAITING, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(t): the sender asks, with time stamp t."""

    t: int


class Locked(Message, frozen=True):
    """LOCKED: the sender, an arbiter, is locked for the addressee's request."""


class Inquire(Message, frozen=True):
    """INQUIRE(t): an older request waits; unless request t is inside, the lock should be given back."""

    t: int


class Relinquish(Message, frozen=True):
    """RELINQUISH: here is the lock; the sender waits for it again."""


class Release(Message, frozen=True):
    """RELEASE: the sender has left."""


class Maekawa(Process):
    S: tuple[Site, ...]
    """Whom to ask. Every two of these sets meet."""
    clock: int
    t: int
    got: set[Site]
    asked_back: set[Site]
    lock: tuple[int, Site] | None
    queue: list[tuple[int, Site]]
    inquired: bool

    @classmethod
    def start(cls, me: Site, n: int) -> Maekawa:
        """More than half of the sites, from this one on."""
        S = tuple(sorted((me + step) % n for step in range(n // 2 + 1)))
        return cls(
            me=me, n=n, S=S, clock=0, t=0, got=set(), asked_back=set(), lock=None, queue=[], inquired=False
        )

    # As one that asks.

    def acquire(self) -> None:
        self.clock += 1
        self.t = self.clock
        self.got, self.asked_back = set(), set()
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
        else:
            self.give_back()

    @on(Inquire)
    def on_inquire(self, j: Site, m: Inquire) -> None:
        if self.phase is WAITING and m.t == self.t:
            self.asked_back.add(j)
            self.give_back()

    def give_back(self) -> None:
        """It may be asked for before it has come."""
        for j in sorted(self.asked_back & self.got):
            self.asked_back.remove(j)
            self.got.remove(j)
            self.tell(j, Relinquish())

    # As an arbiter, which is locked for one request at a time.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.clock = max(self.clock, m.t)
        insort(self.queue, (m.t, j))
        self.decide()

    @on(Relinquish)
    def on_relinquish(self, j: Site, m: Relinquish) -> None:
        if self.lock:
            insort(self.queue, self.lock)
        self.lock = None
        self.decide()

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.lock = None
        self.decide()

    def decide(self) -> None:
        if self.lock is None and self.queue:
            self.lock, self.inquired = self.queue.pop(0), False
            self.tell(self.lock[1], Locked())
        elif self.lock and self.queue and self.queue[0] < self.lock and not self.inquired:
            self.inquired = True
            self.tell(self.lock[1], Inquire(self.lock[0]))

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
