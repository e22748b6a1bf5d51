"""Naimi and Thiare 2009: Suzuki and Kasami's token, served in causal order; requests carry what they know of.

Paper name    here   meaning
R_i[k]        R[k]   newest request time heard from site k; R[me] is also this site's logical clock
T[k]          T[k]   time of the request served last, per site
Q_i           Q      requests (k, h) to be served: known here, or with the token the order of service
HT_i          HT     the token is here
InCS_i        phase is INSIDE

An entry is over if it has been served, h <= T[k], and no news if h <= R[k]. The paper's rules are repaired in
four places. An idle token is handed over as soon as somebody asks, as the prose has it (rule 2). The token's
queue comes before local news, and its entries count as seen (rule 3). "Obsolete" is read as *no news* for what
arrives in a request, and as *over* for what is queued here already.
"""

from __future__ import annotations

from collections.abc import Iterable

from soloist.algorithms._card import Card, Formula
from soloist.core import IDLE, Message, MyClock, Process, Site, Stamp, on

Entry = tuple[Site, Stamp]
"""(k, h): site k asks at time h."""


class Request(Message, frozen=True):
    """REQ(Q): the last entry asks; the others were known to it."""

    Q: tuple[Entry, ...]


class Token(Message, frozen=True):
    """TOKEN(Q, T): enter."""

    Q: tuple[Entry, ...]
    T: tuple[Stamp, ...]


class NaimiThiare(Process):
    R: list[MyClock]
    T: list[Stamp]
    Q: list[Entry]
    HT: bool

    @classmethod
    def start(cls, me: Site, n: int) -> NaimiThiare:
        return cls(me=me, n=n, R=[0] * n, T=[0] * n, Q=[], HT=me == 0)

    def acquire(self) -> None:
        if self.HT:
            self.enter()
            return
        self.R[self.me] += 1
        self.Q.append((self.me, self.R[self.me]))
        self.multicast(self.others, Request(tuple(self.Q)))
        self.Q = []

    def release(self) -> None:
        self.T[self.me] = self.R[self.me]
        self.hand_over()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        news = [(k, h) for k, h in self.unserved(m.Q) if h > self.R[k]]
        self.Q = self.still_queued() + news
        self.note(m.Q)
        self.R[self.me] = max(self.R)
        self.serve_if_idle()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        self.HT = True
        self.T = list(map(max, self.T, m.T))
        self.R = list(map(max, self.R, self.T))
        queue = self.unserved(m.Q)
        named = {k for k, _ in queue}
        self.Q = self.merged(queue, [(k, h) for k, h in self.unserved(self.Q) if k not in named])
        self.note_queue(queue)
        self.enter()

    def unserved(self, Q: Iterable[Entry]) -> list[Entry]:
        return [(k, h) for k, h in Q if h > self.T[k]]

    def still_queued(self) -> list[Entry]:
        return self.unserved(self.Q)

    def note(self, Q: Iterable[Entry]) -> None:
        for k, h in Q:
            self.R[k] = max(self.R[k], h)

    def note_queue(self, queue: list[Entry]) -> None:
        self.note(queue)

    def merged(self, queue: list[Entry], local: list[Entry]) -> list[Entry]:
        return queue + local

    def serve_if_idle(self) -> None:
        if self.HT and self.phase is IDLE:
            self.hand_over()

    def hand_over(self) -> None:
        if self.Q:
            (to, _), *rest = self.Q
            self.HT, self.Q = False, []
            self.send(to, Token(tuple(rest), tuple(self.T)))


CARD = Card(
    name="naimi-thiare",
    title="Naimi-Thiare",
    paper="M. Naimi and O. Thiare, Distributed mutual exclusion based on causal ordering, "
    "Journal of Computer Science 5(5), 2009",
    section="Materials and methods, Algorithm, rules 1 to 4, repaired (the paper numbers no sections)",
    process=NaimiThiare,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=Formula("N-1", lambda s: s.n - 1),
    heavy=Formula("N", lambda s: s.n),
    fairness="causal",
)
