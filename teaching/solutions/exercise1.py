"""A token that goes round: whoever wants to enter keeps it for a while."""

from __future__ import annotations

from soloist.algorithms import Card, Formula
from soloist.core import WAITING, Message, Process, Site, on


class Token(Message, frozen=True):
    """TOKEN: enter, or pass it on."""


class Ring(Process):
    @classmethod
    def start(cls, me: Site, n: int) -> Ring:
        return cls(me=me, n=n)

    def begin(self) -> None:
        if self.me == 0:
            self.pass_on()

    def acquire(self) -> None:
        if self.n == 1:
            self.enter()

    def release(self) -> None:
        self.pass_on()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if self.phase is WAITING:
            self.enter()
        else:
            self.pass_on()

    def pass_on(self) -> None:
        if self.n > 1:
            self.send((self.me + 1) % self.n, Token())


CARD = Card(
    name="exercise-1",
    title="Token ring",
    paper="exercise 1",
    section="its text",
    process=Ring,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("without limit", lambda s: float("inf")),
    light=None,
    fairness="causal",
)
