"""Neilsen and Mizuno 1991: requests turn the arrows of a tree as they pass; the token goes straight.

Paper name     here        meaning
HOLDING        holding     the idle token is here
LAST           last        neighbour towards the end of the queue; None at the end itself (a sink)
NEXT           next        who gets the token after this site, if anybody

A request travels along the arrows to the sink and makes its origin the new one; the sites between the
old sink and the new one now point the other way. The queue is stored nowhere: it is the chain of NEXT.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Option
from soloist.core import Message, Process, Site, on
from soloist.structures.trees import Tree, tree


class Request(Message, frozen=True):
    """REQUEST(x, origin): the neighbour x, the sender, passes on that `origin` asks."""

    origin: Site


class Privilege(Message, frozen=True):
    """PRIVILEGE: enter."""


class NeilsenMizuno(Process):
    holding: bool
    last: Site | None
    next: Site | None

    @classmethod
    def start(cls, me: Site, n: int, topology: Tree) -> NeilsenMizuno:
        towards = None if me == 0 else topology.parent[me]
        return cls(me=me, n=n, holding=me == 0, last=towards, next=None)

    def acquire(self) -> None:
        if self.holding:
            self.holding = False
            self.enter()
        else:
            assert self.last is not None, "only the token's last user is a sink while idle"
            self.send(self.last, Request(self.me))
            self.last = None

    def release(self) -> None:
        if self.next is None:
            self.holding = True
        else:
            self.send(self.next, Privilege())
            self.next = None

    @on(Request)
    def on_request(self, x: Site, m: Request) -> None:
        if self.last is not None:
            self.send(self.last, m)
        elif self.holding:
            self.holding = False
            self.send(m.origin, Privilege())
        else:
            assert self.next is None, "a sink has no successor"
            self.next = m.origin
        self.last = x

    @on(Privilege)
    def on_privilege(self, x: Site, m: Privilege) -> None:
        self.enter()


CARD = Card(
    name="neilsen-mizuno",
    title="Neilsen-Mizuno",
    paper="M. L. Neilsen and M. Mizuno, A DAG based algorithm for distributed mutual exclusion, "
    "Proc. 11th ICDCS, 1991",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms; the original was not at hand",
    process=NeilsenMizuno,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("D+1", lambda s: s.options["topology"].diameter + 1),
    light=Formula("mean distance + 1-1/N", lambda s: s.options["topology"].mean_distance + 1 - 1 / s.n),
    fairness="no-starvation",
    structure="tree",
    options=(
        Option("topology", "tree", "line, star, tree (balanced binary), random, or edges like 0-1,0-2", tree),
    ),
)
