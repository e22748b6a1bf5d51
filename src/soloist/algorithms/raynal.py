"""Raynal 1989: prime numbers show whose turn it is.

Survey         here          meaning
A_i, X_i, Q    see `_primes`
               r             how often this site has left, which determines X_i
REPLY(X_j)     Reply(r)      the same of another site
T              seen          the answers to the poll under way; their product is T

A site that wants to enter asks everybody for X, and asks again while it is not its turn. The turn goes
round a ring, and only a site that has entered passes it on: **all must ask again and again**. If one does
not, those behind it poll for ever; the survey says so, and proposes `raynal-inform` instead.

The survey's "product of all values received" must include the site's own X. Its bound of 2(N-1)² takes
one poll for each time the turn is passed on; polling by the clock has none.
"""

from __future__ import annotations

from math import inf

from soloist.algorithms._card import Card, Formula
from soloist.algorithms._primes import is_privileged
from soloist.core import Clock, Message, Process, Site, on

WAIT = 0.01
"""How long to wait before asking again, in seconds."""


class Request(Message, frozen=True):
    """REQUEST: what is your X?"""


class Reply(Message, frozen=True):
    """REPLY(X_j), as the number of j's releases."""

    r: Clock


class Raynal(Process):
    r: Clock
    seen: dict[Site, Clock]

    @classmethod
    def start(cls, me: Site, n: int) -> Raynal:
        return cls(me=me, n=n, r=0, seen={})

    def acquire(self) -> None:
        self.multicast(self.others, Request())
        self.enter_if_privileged()

    def timeout(self, name: str) -> None:
        self.acquire()

    def release(self) -> None:
        self.r += 1

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.send(j, Reply(self.r))

    @on(Reply)
    def on_reply(self, j: Site, m: Reply) -> None:
        self.seen[j] = m.r
        self.enter_if_privileged()

    def enter_if_privileged(self) -> None:
        """When all have answered: my turn, or a new poll later."""
        if len(self.seen) < self.n - 1:
            return
        if is_privileged(self.me, self.n, self.known()):
            self.enter()
        else:
            self.set_timer("poll", WAIT)
        self.seen = {}

    def known(self) -> dict[Site, int]:
        return {**self.seen, self.me: self.r}


CARD = Card(
    name="raynal",
    title="Raynal's prime numbers",
    paper="M. Raynal, Prime numbers as a tool to design distributed algorithms, Information Processing Letters 33(1), "
    "1989",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms. The original was not at hand",
    process=Raynal,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("none (published: 2(N-1)²)", lambda s: inf),
    light=None,
    fairness="none",
    everybody_asks=True,
    tolerates="no failures, nor a site that does not ask: service only where all ask equally often",
    structure="ring",
)
