"""Helary, Plouzeau and Raynal 1988, with recovery: a token that does not come is searched for as it is asked for, by a flood.

**Our reconstruction.** The survey says no more than that the paper "discusses the effect of failures and presents suggestions for the recovery" (its
Table 1); which ones it does not say. These rules are ours: the search of `_search`, passed on from neighbour to neighbour.

Survey's words       here             meaning
pending requests …   req, path, lud   as in `helary-plouzeau-raynal`
                     inc              number of the search that a message comes after; what comes from before it is dropped

A path back may lead through a site that has failed. After a search all paths are forgotten, and all who wait ask again: the new ones
lead through the living. Nobody needs to know who has failed, nor how many sites there are. **The network must stay connected**: the two parts
of one that a crash has cut would each make a token. Treply must be above 2Dd, with d the longest delay and D the diameter of what is left.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import while_calm
from soloist.algorithms._search import Found, Search, TokenSearch, options
from soloist.algorithms.helary_plouzeau_raynal import CARD as CALM
from soloist.core import IDLE, Message, Number, Site, on
from soloist.structures.graphs import Graph


class Request(Message, frozen=True):
    """REQ(k, t, Z): site k asks at time t; the sites of Z have been told."""

    k: Site
    t: Number
    Z: tuple[Site, ...]
    inc: int


class Token(Message, frozen=True):
    """TOKEN(dest, lud): the token, on its way to `dest`."""

    dest: Site
    lud: tuple[Number, ...]
    inc: int


class HelaryPlouzeauRaynalRecovery(TokenSearch, kw_only=True):
    neighbours: list[Site]
    h: Number
    req: list[Number]
    path: list[Site]
    lud: list[Number]

    @classmethod
    def start(
        cls, me: Site, n: int, topology: Graph, T: float = 0.02, Treply: float = 0.003
    ) -> HelaryPlouzeauRaynalRecovery:
        near = list(topology.neighbours[me])
        return cls(
            me=me, n=n, have_token=me == 0, neighbours=near, h=0, req=[0] * n, path=[me] * n, lud=[0] * n, T=T, Treply=Treply
        )  # fmt: skip

    def ask(self) -> None:
        self.h += 1
        self.req[self.me] = self.h
        self.tell(Request(self.me, self.h, (self.me,), self.inc))

    def forget(self) -> None:
        self.req, self.path, self.lud = [0] * self.n, [self.me] * self.n, [0] * self.n

    def release(self) -> None:
        self.lud[self.me] = self.h
        self.transmit()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if not self.is_of_now(m.inc):
            return
        self.h = max(self.h, m.t) + 1
        if m.t > self.req[m.k]:
            self.req[m.k], self.path[m.k] = m.t, j
            self.tell(m)
            if self.have_token and self.phase is IDLE:
                self.transmit()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if not self.is_of_now(m.inc):
            return
        if m.dest == self.me:
            self.lud = list(m.lud)
            self.take()
        else:
            self.send(self.path[m.dest], m)

    def tell(self, m: Request) -> None:
        """Those neighbours that nobody has told yet."""
        Z = tuple(sorted({self.me, *m.Z, *self.neighbours}))
        self.multicast([i for i in self.neighbours if i not in m.Z], Request(m.k, m.t, Z, m.inc))

    def spread(self, m: Search | Found, heard_from: Site | None = None) -> None:
        self.multicast([i for i in self.neighbours if i != heard_from], m)

    def transmit(self) -> None:
        """The token goes to the oldest request known here; if there is none, it stays."""
        pending = [(self.req[k], k) for k in self.others if self.req[k] > self.lud[k]]
        if pending:
            _, k = min(pending)
            self.have_token = False
            self.send(self.path[k], Token(k, tuple(self.lud), self.inc))


CARD = Card(
    name="helary-plouzeau-raynal-recovery",
    title="Helary-Plouzeau-Raynal with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, which says no more than that it can be done: the recovery is our reconstruction; the original was not at hand",
    process=HelaryPlouzeauRaynalRecovery,
    family="token",
    capacity="1",
    channels="any",
    bound=while_calm(CALM.bound.text),
    light=CALM.light,
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, if the network stays connected and no message takes longer than "
    "Treply / 2D, with D the diameter of what is left",
    structure=CALM.structure,
    options=(*CALM.options, *options(", times the diameter")),
)
