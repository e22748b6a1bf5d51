"""Nishio, Li and Manning 1990: Ricart and Agrawala's token, with an age by which old tokens are told.

Survey's name         here                            meaning
age                   age                             age of the newest token that this site knows of
most recent request   request_data[j], token_data[j]  as in `ricart-agrawala-token`
destination           in every message's header       whom a request is sent to

This is the algorithm while nothing fails: the age then stays 0. A token older than this site's age is a
duplicate of one that has been replaced; it is dropped, and the site asks again. (The survey's sentence on what is
dropped is garbled; its next one, on what is accepted, is clear and followed here.) How a lost token is replaced
is not part of this.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.algorithms._ring_order import RingOrder
from soloist.core import WAITING, Message, Number, Site, on


class Token(Message, frozen=True):
    """TOKEN(token_data, age): enter, unless a newer token is known."""

    token_data: tuple[Number, ...]
    age: int


class Nishio(RingOrder):
    age: int = 0

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if m.age < self.age:
            self.drop(m)
            return
        self.have_token, self.token_data, self.age = True, list(m.token_data), m.age
        self.enter()

    def drop(self, duplicate: Token) -> None:
        if self.phase is WAITING:
            self.ask()

    def send_token(self, to: Site) -> None:
        self.send(to, Token(tuple(self.token_data), self.age))


CARD = Card(
    name="nishio",
    title="Nishio-Li-Manning",
    paper="S. Nishio, K. F. Li and E. G. Manning, A resilient mutual exclusion algorithm for computer "
    "networks, IEEE Trans. Parallel and Distributed Systems 1(3), 1990",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms; the original was not at hand",
    process=Nishio,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=Formula("N-1", lambda s: s.n - 1),
    heavy=Formula("N", lambda s: s.n),
    fairness="no-starvation",
)
