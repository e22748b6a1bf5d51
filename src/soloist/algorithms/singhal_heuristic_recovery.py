"""Singhal 1989, with recovery: a token that does not come is searched for, and all that was believed of requests is forgotten.

**Our reconstruction.** The survey says no more than that "Singhal discusses the impact of node and communication link failures, and presents
recovery procedures that could be incorporated"; which ones it does not say. These rules are ours: the search of `_search`, and what follows it.

Paper name         here           meaning
SV, SN, TSV, TSN   R, SN, TR, TSN as in `singhal-heuristic`
                   inc            number of the search that a message comes after; what comes from before it is dropped

After a search everything is as at the start: the site that has the token knows of no request, and of any two others one will ask the other,
for each believes that all are requesting. So a site that has failed is asked once more by each, and given no token, since it does not ask.
Crashes are for ever, and no message may be lost: one search that does not reach the holder makes a second token.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import while_calm
from soloist.algorithms._search import TokenSearch, options
from soloist.algorithms.singhal_heuristic import CARD as CALM
from soloist.core import IDLE, WAITING, Message, Number, Site, on


class Request(Message, frozen=True):
    """REQUEST(i, sn): site i, the sender, makes its sn-th request since the search."""

    sn: Number
    inc: int


class Token(Message, frozen=True):
    """TOKEN(TSV, TSN): enter. TR lists the sites whose TSV is R."""

    TR: tuple[Site, ...]
    TSN: tuple[Number, ...]
    inc: int


class SinghalHeuristicRecovery(TokenSearch, kw_only=True):
    R: set[Site]
    SN: list[Number]
    TR: set[Site]
    TSN: list[Number]

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02, Treply: float = 0.003) -> SinghalHeuristicRecovery:
        R = set(range(me))
        return cls(
            me=me, n=n, have_token=me == 0, R=R, SN=[0] * n, TR=set(), TSN=[0] * n, T=T, Treply=Treply
        )  # fmt: skip

    def ask(self) -> None:
        self.SN[self.me] += 1
        self.multicast(sorted(self.R), Request(self.SN[self.me], self.inc))

    def forget(self) -> None:
        self.R = set() if self.have_token else set(self.others)
        self.SN, self.TR, self.TSN = [0] * self.n, set(), [0] * self.n

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
        if not self.is_of_now(m.inc) or m.sn <= self.SN[i]:
            return
        self.SN[i] = m.sn
        if self.phase is WAITING and i not in self.R:
            self.send(i, Request(self.SN[self.me], self.inc))
        self.R.add(i)
        if self.have_token and self.phase is IDLE:
            self.TR.add(i)
            self.TSN[i] = m.sn
            self.pass_token(i)

    @on(Token)
    def on_token(self, i: Site, m: Token) -> None:
        if not self.is_of_now(m.inc):
            return
        self.TR, self.TSN = set(m.TR) - {self.me}, list(m.TSN)
        outdated = [i for i in self.others if self.TSN[i] > self.SN[i] and i not in self.R]
        self.multicast(outdated, Request(self.SN[self.me], self.inc))
        self.take()

    def pass_token(self, to: Site) -> None:
        self.have_token = False
        self.send(to, Token(tuple(sorted(self.TR)), tuple(self.TSN), self.inc))


CARD = Card(
    name="singhal-heuristic-recovery",
    title="Singhal's heuristic with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, which says no more than that it can be done: the recovery is our reconstruction; the original was not at hand",
    process=SinghalHeuristicRecovery,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm("N"),
    light=CALM.light,
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, if no message takes longer than half of Treply",
    structure=CALM.structure,
    options=options(),
)
