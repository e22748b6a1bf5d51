"""Raymond 1989, with recovery of a site: one that has lost its state learns from its neighbours what it was.

Survey's name          here                   meaning
recovery procedure     Restart, Advise        the site asks all its neighbours; each says how it stands with the site
                       advice[j]              what neighbour j has said
                       late                   what has come since from those who have answered, kept until all have

The rest is `raymond-tree`. The token is nothing but the place that all arrows point to: if those of all neighbours point here, it
is here, even if it was lost on its way; else it is where the one that does not leads. A neighbour that has asked is in the queue, and this
site has asked if it is in the queue of that neighbour. So no token is ever made, and no clock is needed. While a site is down, those who need
it wait. One site at a time may fail: neighbours that are down together wait for each other.

The survey says that such a procedure exists; the rules are ours. Links must be FIFO: what a neighbour sent before its answer is in the
answer, and is dropped; what it sends later is not.
"""

from __future__ import annotations

from soloist.algorithms._card import Card
from soloist.algorithms._recovery import while_calm
from soloist.algorithms.raymond_tree import CARD as CALM
from soloist.algorithms.raymond_tree import Privilege, RaymondTree, Request
from soloist.core import WAITING, Message, Site, on
from soloist.structures.trees import Tree


class Restart(Message, frozen=True):
    """The sender has lost its state."""


class Advise(Message, frozen=True):
    """How the sender stands with the addressee: it looks for the token there, it has asked there, it was asked from there."""

    points_here: bool
    asks_here: bool
    asked_from_here: bool


class RaymondTreeRecovery(RaymondTree, kw_only=True):
    neighbours: tuple[Site, ...]
    recovering: bool = False
    advice: dict[Site, tuple[bool, bool, bool]] = {}
    late: list[tuple[Site, bool]] = []

    @classmethod
    def start(cls, me: Site, n: int, topology: Tree, piggyback: str = "no") -> RaymondTreeRecovery:
        children = (j for j in range(n) if topology.parent[j] == me)
        neighbours = tuple(sorted({topology.parent[me], *children} - {me}))
        return cls(me=me, n=n, holder=topology.parent[me], asked=False, q=[], neighbours=neighbours)

    def come_back(self) -> None:
        self.recovering, self.advice, self.late = True, {}, []
        self.q = [self.me] if self.phase is WAITING else []
        self.multicast(self.neighbours, Restart())
        self.recover_if_all_advise()

    @on(Restart)
    def on_restart(self, j: Site, m: Restart) -> None:
        points = self.holder == j
        self.send(j, Advise(points, points and self.asked, j in self.q))

    @on(Advise)
    def on_advise(self, j: Site, m: Advise) -> None:
        self.advice[j] = (m.points_here, m.asks_here, m.asked_from_here)
        self.recover_if_all_advise()

    def recover_if_all_advise(self) -> None:
        if len(self.advice) < len(self.neighbours):
            return
        elsewhere = [j for j in self.neighbours if not self.advice[j][0]]
        self.holder = elsewhere[0] if elsewhere else self.me
        self.asked = bool(elsewhere) and self.advice[self.holder][2]
        self.q += [j for j in self.neighbours if self.advice[j][1]]
        self.recovering, late, self.late = False, self.late, []
        self.assign_privilege()
        self.make_request()
        for j, is_token in late:
            self.on_privilege(j, Privilege()) if is_token else self.on_request(j, Request())

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if not self.recovering:
            super().on_request(j, m)
        elif j in self.advice:
            self.late.append((j, False))

    @on(Privilege)
    def on_privilege(self, j: Site, m: Privilege) -> None:
        if not self.recovering:
            super().on_privilege(j, m)
        elif j in self.advice:
            self.late.append((j, True))

    def assign_privilege(self) -> None:
        if not self.recovering:
            super().assign_privilege()

    def make_request(self) -> None:
        if not self.recovering:
            super().make_request()


CARD = Card(
    name="raymond-tree-recovery",
    title="Raymond's tree with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 4, token-based algorithms, which says no more than that it can be done; the original was not at hand",
    process=RaymondTreeRecovery,
    family="token",
    capacity="1",
    channels="fifo",
    bound=while_calm("2D"),
    light=CALM.light,
    fairness="no-starvation",
    tolerates="the crash of one site at a time, which comes back, as it was or as new",
    structure="tree",
    options=CALM.options[:1],
)
