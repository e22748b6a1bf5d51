"""Nishio, Li and Manning 1990, with recovery: a new token needs the word of all others, and gets a higher age.

Survey's name         here            meaning
time-out              T               how long a site waits for the token, or for answers, before it proposes a new one
proposed_age          proposed        age of the token that this site proposes; 0: it proposes none
ACK                   acks[j]         the others' words, each with the last request of theirs that was served
most recent request granted  served   number of this site's request that was served last

The rest is `nishio`. A site that is down answers nothing, so nothing is replaced until all are back; a site must come back
as it was (its controller has kept the state). No time is needed for safety: timers may run out whenever they like.

Where the survey says less. An ACK is a promise: who has given it takes no older token any more. As printed, a token under
way survives its replacement. A holder that says NACK raises its token to the proposed age, and so does a proposer that
the token reaches: else the promises given so far would kill a living token. A NACK tells an age that is too low, and the next proposal is
above it (`heard`). A site that comes back asks again.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import time, while_calm
from soloist.algorithms.nishio import CARD as CALM
from soloist.algorithms.nishio import Nishio, Token
from soloist.core import IDLE, WAITING, Message, Number, Site, on


class TokenMissing(Message, frozen=True):
    """TOKEN_MISSING(proposed_age): may I make a new token?"""

    proposed_age: int


class Ack(Message, frozen=True):
    """ACK: you may, and no older one is good to me; this request of mine was served last."""

    proposed_age: int
    served: Number


class Nack(Message, frozen=True):
    """NACK: you may not: the token is here, or a token of this age is known or proposed."""

    proposed_age: int
    age: int


class NishioRecovery(Nishio, kw_only=True):
    T: float
    proposed: int = 0
    heard: int = 0
    served: Number = 0
    acks: dict[Site, Number] = {}

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02) -> NishioRecovery:
        return cls(me=me, n=n, request_data=[0] * n, token_data=[0] * n, have_token=me == 0, T=T)

    def ask(self) -> None:
        self.proposed = 0
        super().ask()
        self.set_timer("T", self.T)

    def release(self) -> None:
        self.served = self.request_data[self.me]
        super().release()

    def timeout(self, name: str) -> None:
        self.proposed, self.acks = max(self.age, self.heard) + 1, {}
        self.heard = self.proposed
        self.multicast(self.others, TokenMissing(self.proposed))
        self.set_timer("T", self.T)
        self.create_if_all_agree()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if m.age < self.age:
            self.drop(m)
            return
        self.take(list(m.token_data), max(m.age, self.proposed))

    @on(TokenMissing)
    def on_missing(self, j: Site, m: TokenMissing) -> None:
        pa = m.proposed_age
        if self.have_token:
            self.age = max(self.age, pa)
            self.send(j, Nack(pa, self.age))
        elif pa <= self.age or (self.proposed, self.me) > (pa, j):
            self.send(j, Nack(pa, max(self.age, self.proposed)))
        else:
            self.proposed = 0
            self.promise(pa)
            self.send(j, Ack(pa, self.served))

    def promise(self, age: int) -> None:
        self.age = age

    @on(Ack)
    def on_ack(self, j: Site, m: Ack) -> None:
        if m.proposed_age == self.proposed:
            self.acks[j] = m.served
            self.create_if_all_agree()

    @on(Nack)
    def on_nack(self, j: Site, m: Nack) -> None:
        self.heard = max(self.heard, m.age)
        if m.proposed_age == self.proposed:
            self.ask()

    def create_if_all_agree(self) -> None:
        if len(self.acks) == self.n - 1:
            token_data = [self.acks.get(j, self.served) for j in range(self.n)]
            self.take(token_data, self.proposed)

    def take(self, token_data: list[Number], age: int) -> None:
        self.have_token, self.token_data, self.age, self.proposed = True, token_data, age, 0
        self.acks = {}
        self.cancel_timer("T")
        if self.phase is WAITING:
            self.enter()
        elif self.phase is IDLE:
            self.pass_on()

    def come_back(self) -> None:
        if self.phase is WAITING:
            self.ask()


CARD = Card(
    name="nishio-recovery",
    title="Nishio-Li-Manning with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, repaired; the original was not at hand",
    process=NishioRecovery,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm("N"),
    light=CALM.light,
    heavy=CALM.heavy,
    fairness="no-starvation",
    tolerates="lost messages, and sites that crash and come back as they were; while one is down, a token that it took along is missing",
    options=(time("T", 0.02, "wait so long before a new token is proposed"),),
)
