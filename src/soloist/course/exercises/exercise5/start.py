"""Suzuki and Kasami 1985: ask everybody; one token carries the queue."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import IDLE, Message, Number, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(j, n): site j, the sender, makes its n-th request."""

    n: Number


class Privilege(Message, frozen=True):
    """PRIVILEGE(Q, LN): the token."""

    Q: tuple[Site, ...]
    LN: tuple[Number, ...]


class SuzukiKasami(Process):
    have_privilege: bool
    RN: list[Number]
    LN: list[Number]
    Q: list[Site]

    @classmethod
    def start(cls, me: Site, n: int) -> SuzukiKasami:
        return cls(me=me, n=n, have_privilege=me == 0, RN=[-1] * n, LN=[-1] * n, Q=[])

    def acquire(self) -> None:
        if self.have_privilege:
            self.enter()
            return
        self.RN[self.me] += 1
        self.multicast(self.others, Request(self.RN[self.me]))

    def release(self) -> None:
        self.LN[self.me] = self.RN[self.me]
        self.serve_next()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.RN[j] = max(self.RN[j], m.n)
        self.serve_if_idle(j)

    @on(Privilege)
    def on_privilege(self, j: Site, m: Privilege) -> None:
        self.have_privilege, self.Q, self.LN = True, list(m.Q), list(m.LN)
        self.enter()

    def is_waiting(self, j: Site) -> bool:
        return self.RN[j] == self.LN[j] + 1

    def serve_if_idle(self, j: Site) -> None:
        if self.have_privilege and self.phase is IDLE and self.is_waiting(j):
            self.pass_privilege(j)

    def serve_next(self) -> None:
        # TO DO: who has asked meanwhile?
        if self.Q:
            self.pass_privilege(self.Q.pop(0))

    def pass_privilege(self, to: Site) -> None:
        self.have_privilege = False
        self.send(to, Privilege(tuple(self.Q), tuple(self.LN)))
        self.Q = []


CARD = Card(
    name="exercise-5",
    title="Suzuki-Kasami",
    paper="exercise 5",
    section="its text",
    process=SuzukiKasami,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=None,
    fairness="no-starvation",
)
