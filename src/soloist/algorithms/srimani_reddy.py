"""Srimani and Reddy 1992: Suzuki and Kasami's algorithm with K tokens; each carries its own queue.

Survey's name      here                meaning
RN[j]              RN[j]               number of the latest request heard from site j
PLN[j]             PLN[j]              number of j's latest request that is known here to be served
Q, LN              token = (Q, LN)     sites to visit next; request served last, per site
(tokens held)      idle, used          tokens not in use here, and the one that let this site in
L                  L                   a REQUEST carries a number from 1 to L; 0 for numbers without end
LT[j]              LN[j] // L          the bounded round of site j that the token knows of
(requests counted) heard[j], due       REQUESTs heard from j; ACKs that this site still waits for

A site that gives a token to j takes j's request for served, so that it never sends j two for one request; two
sites may still do so, and then the second token moves on. The original was not at hand: who marks PLN, and when,
is not in the survey, nor is most of the bounded form, which is built here as follows. Whoever has heard L
requests of a round sends an ACK; a site whose ACKs have not all come keeps its tokens, so it has no reason
to ask again, and therefore everybody can count the rounds. A token in transit can not, so rounds have numbers too.
They are taken modulo M, and a token that stays in transit for M/2 rounds of one site would be misread.
"""

from __future__ import annotations

from typing import ClassVar

from soloist.algorithms._card import Card, Formula, Size, number
from soloist.core import WAITING, HeardNumber, Message, MyNumber, Process, Site, on

Tok = tuple[list[Site], list[HeardNumber]]


class Request(Message, frozen=True):
    """REQUEST(i, n): site i, the sender, makes its n-th request (of its round)."""

    i: Site
    n: HeardNumber


class Token(Message, frozen=True):
    """PRIVILEGE(Q, LN): one of the K tokens."""

    Q: tuple[Site, ...]
    LN: tuple[HeardNumber, ...]


class Ack(Message, frozen=True):
    """ACK: the sender has heard all L requests of this round."""


class SrimaniReddy(Process):
    L: int
    RN: list[MyNumber]
    PLN: list[HeardNumber]
    heard: list[int]
    due: int
    idle: list[Tok]
    used: Tok | None

    M: ClassVar[int] = 1 << 20

    @classmethod
    def start(cls, me: Site, n: int, k: int, L: int) -> SrimaniReddy:
        idle: list[Tok] = [([], [0] * n)] if me < k else []
        return cls(me=me, n=n, L=L, RN=[0] * n, PLN=[0] * n, heard=[0] * n, due=0, idle=idle, used=None)

    def acquire(self) -> None:
        if self.idle:
            self.used = self.idle.pop(0)
            self.enter()
            return
        mine = self.RN[self.me] = self.after(self.RN[self.me])
        if self.L and mine % self.L == 0:
            self.due = self.n - 1
        self.multicast(self.others, Request(self.me, (mine - 1) % self.L + 1 if self.L else mine))

    def release(self) -> None:
        assert self.used is not None
        token, self.used = self.used, None
        token[1][self.me] = self.PLN[self.me] = self.RN[self.me]
        self.dispose(token)

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        round = self.heard[j] // self.L * self.L if self.L else 0
        self.RN[j] = self.latest(self.RN[j], round + m.n)
        if self.L:
            self.heard[j] = self.after(self.heard[j])
            if self.heard[j] % self.L == 0:
                self.send(j, Ack())
        if self.idle and not self.due and self.newer(self.RN[j], self.PLN[j]):
            token = self.idle.pop(0)
            self.merge(token)
            if j in token[0]:
                token[0].remove(j)
            self.give(token, j)

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        token = list(m.Q), list(m.LN)
        if self.phase is WAITING:
            self.used = token
            self.enter()
        else:
            self.dispose(token)

    @on(Ack)
    def on_ack(self, j: Site, m: Ack) -> None:
        self.due -= 1
        if not self.due:
            kept, self.idle = self.idle, []
            for token in kept:
                self.dispose(token)

    def merge(self, token: Tok) -> None:
        """The token and this site tell each other what they know; the queue is brought up to date."""
        Q, LN = token
        for j in range(self.n):
            LN[j] = self.PLN[j] = self.latest(LN[j], self.PLN[j])
        Q[:] = [j for j in Q if self.newer(self.RN[j], LN[j])]
        round_from_me = (*range(self.me + 1, self.n), *range(self.me))
        Q += [j for j in round_from_me if j not in Q and self.newer(self.RN[j], LN[j])]

    def dispose(self, token: Tok) -> None:
        """To the first in the queue; kept where nobody waits, or ACKs are due."""
        self.merge(token)
        if token[0] and not self.due:
            self.give(token, token[0].pop(0))
        else:
            self.idle.append(token)

    def give(self, token: Tok, to: Site) -> None:
        self.PLN[to] = self.latest(self.PLN[to], self.RN[to])
        self.send(to, Token(tuple(token[0]), tuple(token[1])))

    # Numbers: without end, or modulo L*M.

    def after(self, number: int) -> int:
        return (number + 1) % (self.L * self.M) if self.L else number + 1

    def newer(self, a: int, b: int) -> bool:
        return 0 < (a - b) % (self.L * self.M) < self.L * self.M // 2 if self.L else a > b

    def latest(self, a: int, b: int) -> int:
        return a if self.newer(a, b) else b


def acks(s: Size) -> float:
    """ACKs per REQUEST that is broadcast, on average."""
    return (s.n - 1) / s.options["L"] if s.options["L"] else 0


def light(s: Size) -> float:
    """Every holder answers a broadcast with a token, and the asker keeps them all: the sizes of the hoards
    follow the rules of Bulgarian solitaire, and soon repeat themselves. With m holders, one request
    in N/(N-m) is a broadcast."""
    hoards, seen = [1] * s.k, list[list[int]]()
    while hoards not in seen:
        seen.append(hoards)
        hoards = sorted([len(hoards), *(h - 1 for h in hoards if h > 1)])
    holders = [len(h) for h in seen[seen.index(hoards) :]]
    if s.n in holders:
        return 0.0
    return sum(s.n - 1 + m + acks(s) for m in holders) / sum(s.n / (s.n - m) for m in holders)


CARD = Card(
    name="srimani-reddy",
    title="Srimani-Reddy",
    paper="P. K. Srimani and R. L. Reddy, Another distributed algorithm for multiple entries to a critical section, "
    "Information Processing Letters 41, 1992",
    section="survey of 21 algorithms (1993), section 6, completed; numbers without end as in Bulgannawar and Vaidya 1995",
    process=SrimaniReddy,
    family="token",
    capacity="K",
    channels="any",
    bound=Formula(
        "N+K-1, and N-1 more each L-th time", lambda s: s.n + s.k - 1 + (s.n - 1 if s.options["L"] else 0)
    ),
    light=Formula("(N-m)(N-1+m)/N with m holders", light),
    fairness="no-starvation",
    prompt=True,
    options=(number("L", 0, 0, "number requests from 1 to L and again from 1; 0: without end"),),
)
