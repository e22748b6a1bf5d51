"""Ricart and Agrawala 1983: ask everybody; the token goes round among those that asked.

Survey's name         here                            meaning
request_data[j]       request_data[j]                 highest request number heard from site j
sequence number       request_data[me]                number of this site's own request
token_data[j]         token_data (valid with token)   request served last, per site
logical circular list `pass_on`: me+1, …, N-1, 0, …, me-1

The holder of an idle token looks for a request that has not been served. The survey's wording, that any
request earns the token, sends it to sites that do not ask.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.algorithms._ring_order import RingOrder
from soloist.core import Message, Number, Site, on


class Token(Message, frozen=True):
    """TOKEN(token_data): enter."""

    token_data: tuple[Number, ...]


class RicartAgrawalaToken(RingOrder):
    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        self.have_token, self.token_data = True, list(m.token_data)
        self.enter()

    def send_token(self, to: Site) -> None:
        self.send(to, Token(tuple(self.token_data)))


CARD = Card(
    name="ricart-agrawala-token",
    title="Ricart-Agrawala with a token",
    paper="G. Ricart and A. K. Agrawala, Author's response to 'On mutual exclusion in computer networks', "
    "Comm. ACM 26(2), 1983",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, repaired; the original was not at hand",
    process=RicartAgrawalaToken,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("N", lambda s: s.n),
    light=Formula("N-1", lambda s: s.n - 1),
    heavy=Formula("N", lambda s: s.n),
    fairness="no-starvation",
)
