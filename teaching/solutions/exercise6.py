"""Raymond 1989: the sites are a tree; each knows in which direction the token is, and asks there."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import INSIDE, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST: somebody on the sender's side wants the token."""


class Privilege(Message, frozen=True):
    """PRIVILEGE: the token."""


class Tree(Process):
    holder: Site
    """In which direction the token is: a neighbour, or this site itself."""
    asked: bool
    q: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> Tree:
        """Sites 1 and 2 are below site 0, 3 and 4 below 1, and so on; site 0 has the token."""
        return cls(me=me, n=n, holder=max(0, (me - 1) // 2), asked=False, q=[])

    def acquire(self) -> None:
        self.q.append(self.me)
        self.assign_privilege()
        self.make_request()

    def release(self) -> None:
        self.assign_privilege()
        self.make_request()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.q.append(j)
        self.assign_privilege()
        self.make_request()

    @on(Privilege)
    def on_privilege(self, j: Site, m: Privilege) -> None:
        self.holder = self.me
        self.assign_privilege()
        self.make_request()

    def assign_privilege(self) -> None:
        """The idle token goes to the head of the queue: in, or one edge on."""
        if self.holder == self.me and self.phase is not INSIDE and self.q:
            self.holder = self.q.pop(0)
            self.asked = False
            if self.holder == self.me:
                self.enter()
            else:
                self.send(self.holder, Privilege())

    def make_request(self) -> None:
        """Ask for the token once, however many are waiting here."""
        if self.holder != self.me and self.q and not self.asked:
            self.send(self.holder, Request())
            self.asked = True


CARD = Card(
    name="exercise-6",
    title="Raymond's tree",
    paper="exercise 6",
    section="its text",
    process=Tree,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("2(N-1)", lambda s: 2 * (s.n - 1)),
    light=None,
    fairness="no-starvation",
)
