"""Naimi and Trehel 1987: ask the probable owner; every path is turned towards the asker."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import IDLE, Message, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(i): site i asks; passed on from owner to probable owner."""

    i: Site


class Token(Message, frozen=True):
    """TOKEN: enter."""


class NaimiTrehel(Process):
    last: Site
    next: Site | None
    token: bool

    @classmethod
    def start(cls, me: Site, n: int) -> NaimiTrehel:
        return cls(me=me, n=n, last=0, next=None, token=me == 0)

    def acquire(self) -> None:
        if self.token:
            self.enter()
            return
        self.send(self.last, Request(self.me))
        self.last = self.me

    def release(self) -> None:
        if self.next is not None:
            self.pass_token(self.next)
            self.next = None

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if self.last != self.me:
            self.send(self.last, m)
        elif self.token and self.phase is IDLE:
            self.pass_token(m.i)
        else:
            self.next = m.i
        # TO DO: who is the probable owner from now on?

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        self.token = True
        self.enter()

    def pass_token(self, to: Site) -> None:
        self.token = False
        self.send(to, Token())


CARD = Card(
    name="exercise-7",
    title="Naimi-Trehel",
    paper="exercise 7",
    section="its text",
    process=NaimiTrehel,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=None,
    fairness="no-starvation",
)
