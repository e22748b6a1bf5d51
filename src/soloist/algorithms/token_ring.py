"""The token ring: one token goes round and round; whoever wants to enter keeps it for a while.

Survey's word      here            meaning
token              a message       it is with the site that is inside, or on its way
logical ring       me + 1 mod N    who gets the token next

A request sends nothing, so the sites keep no variables at all; but the token never rests, and an idle
system sends messages for ever. A single site has nobody to send it to and keeps it.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.core import WAITING, Message, Process, Site, on


class Token(Message, frozen=True):
    """TOKEN: enter, or pass it on."""


class TokenRing(Process):
    @classmethod
    def start(cls, me: Site, n: int) -> TokenRing:
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
    name="token-ring",
    title="Token ring",
    paper="G. Le Lann, Distributed systems: towards a formal approach, IFIP Congress, 1977",
    section="survey of 21 algorithms (1993), section 3.1; the original was not at hand",
    process=TokenRing,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N while somebody waits, without limit while nobody does", lambda s: float("inf")),
    light=None,
    heavy=Formula("1", lambda s: min(1, s.n - 1)),
    fairness="causal",
    structure="ring",
)
