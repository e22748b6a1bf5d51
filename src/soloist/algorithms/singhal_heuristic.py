"""Singhal 1989: ask only those sites that may have the token or get it soon.

Paper name     here                    meaning
SV[j] = R      j in R                  as far as this site knows, j is requesting
SV[me]         phase and have_token    R waiting, E inside, H idle with the token, N idle without it
SN[j]          SN[j]                   highest request number known of site j
TSV[j] = R     j in TR (with token)    the same two, as far as the token knows
TSN[j]         TSN (with token)

Whether another site is in state E, H or N is never looked at, so what is known of it is one bit. At the start
site i believes that all sites before it are requesting: of any two sites, one will ask the other. One rule is
added, for a waiting site that gets the token: those whose requests the token has made outdated before they
arrived are told of this site's request, as they would have been on arrival.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.core import IDLE, WAITING, HeardNumber, Message, MyNumber, Process, Site, on


class Request(Message, frozen=True):
    """REQUEST(i, sn): site i, the sender, makes its sn-th request."""

    sn: HeardNumber


class Token(Message, frozen=True):
    """TOKEN(TSV, TSN): enter. TR lists the sites whose TSV is R."""

    TR: tuple[Site, ...]
    TSN: tuple[HeardNumber, ...]


class SinghalHeuristic(Process):
    R: set[Site]
    SN: list[MyNumber]
    have_token: bool
    TR: set[Site]
    TSN: list[HeardNumber]

    @classmethod
    def start(cls, me: Site, n: int) -> SinghalHeuristic:
        return cls(me=me, n=n, R=set(range(me)), SN=[0] * n, have_token=me == 0, TR=set(), TSN=[0] * n)

    def acquire(self) -> None:
        if self.have_token:
            self.enter()
            return
        self.SN[self.me] += 1
        self.multicast(sorted(self.R), Request(self.SN[self.me]))

    def release(self) -> None:
        for j in range(self.n):
            if self.SN[j] > self.TSN[j]:
                self.TSN[j] = self.SN[j]
                (self.TR.add if j in self.R else self.TR.discard)(j)
            else:
                self.SN[j] = self.TSN[j]
                (self.R.add if j in self.TR else self.R.discard)(j)
        if self.R:
            self.pass_token(min(self.R, key=lambda j: (self.SN[j], (j - self.me) % self.n)))

    @on(Request)
    def on_request(self, i: Site, m: Request) -> None:
        if m.sn <= self.SN[i]:
            return
        self.SN[i] = m.sn
        if self.phase is WAITING and i not in self.R:
            self.send(i, Request(self.SN[self.me]))
        self.R.add(i)
        if self.have_token and self.phase is IDLE:
            self.TR.add(i)
            self.TSN[i] = m.sn
            self.pass_token(i)

    @on(Token)
    def on_token(self, i: Site, m: Token) -> None:
        self.have_token, self.TR, self.TSN = True, set(m.TR), list(m.TSN)
        self.TR.discard(self.me)
        self.tell_the_outdated()
        self.enter()

    def tell_the_outdated(self) -> None:
        for i in self.others:
            if self.TSN[i] > self.SN[i] and i not in self.R:
                self.send(i, Request(self.SN[self.me]))

    def pass_token(self, to: Site) -> None:
        self.have_token = False
        self.send(to, Token(tuple(sorted(self.TR)), tuple(self.TSN)))


CARD = Card(
    name="singhal-heuristic",
    title="Singhal's heuristic",
    paper="M. Singhal, A heuristically-aided algorithm for mutual exclusion in distributed systems, "
    "IEEE Trans. Computers 38(5), 1989",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, and textbooks, repaired; "
    "the original was not at hand",
    process=SinghalHeuristic,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=Formula("(N+1)/2 - 1/N", lambda s: (s.n + 1) / 2 - 1 / s.n),
    heavy=Formula("N", lambda s: s.n),
    fairness="no-starvation",
)
