"""Raymond 1989: the token moves along the edges of a tree; requests follow the arrows to it.

Paper name     here       meaning
HOLDER         holder     neighbour in whose direction the token is; this site itself with the token
USING          phase is INSIDE
REQUEST_Q      q          neighbours that asked, and this site; first come, first served
ASKED          asked      a REQUEST of this site is on its way to the holder
(piggyback)    piggyback  a REQUEST that would follow the PRIVILEGE goes with it, as one message

The survey only names the last ("a piggyback strategy could be used"). The pair is the two messages one after the other, and nothing
else: whoever gets it has the token and one more in its queue.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Option, choice
from soloist.core import INSIDE, Message, Process, Site, on
from soloist.structures.trees import Tree, tree


class Request(Message, frozen=True):
    """REQUEST: somebody on the sender's side wants the token."""


class Privilege(Message, frozen=True):
    """PRIVILEGE: the token."""


class PrivilegeAndRequest(Message, frozen=True):
    """PRIVILEGE, and with it the REQUEST of a sender in whose queue others wait."""


class RaymondTree(Process):
    holder: Site
    asked: bool
    q: list[Site]
    piggyback: bool = False

    @classmethod
    def start(cls, me: Site, n: int, topology: Tree, piggyback: str) -> RaymondTree:
        return cls(me=me, n=n, holder=topology.parent[me], asked=False, q=[], piggyback=piggyback == "yes")

    def acquire(self) -> None:
        self.q.append(self.me)
        self.assign_privilege()
        self.make_request()

    def release(self) -> None:
        self.assign_privilege()
        self.make_request()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.q.append(j)
        self.assign_privilege()
        self.make_request()

    @on(Privilege)
    def on_privilege(self, j: Site, m: Privilege) -> None:
        self.holder = self.me
        self.assign_privilege()
        self.make_request()

    @on(PrivilegeAndRequest)
    def on_privilege_and_request(self, j: Site, m: PrivilegeAndRequest) -> None:
        self.q.append(j)
        self.on_privilege(j, Privilege())

    def assign_privilege(self) -> None:
        """The idle token goes to the head of the queue: in, or one edge on."""
        if self.holder == self.me and self.phase is not INSIDE and self.q:
            self.holder = self.q.pop(0)
            self.asked = False
            if self.holder == self.me:
                self.enter()
            elif self.piggyback and self.q:
                self.send(self.holder, PrivilegeAndRequest())
                self.asked = True
            else:
                self.send(self.holder, Privilege())

    def make_request(self) -> None:
        """Ask for the token once, however many are waiting here."""
        if self.holder != self.me and self.q and not self.asked:
            self.send(self.holder, Request())
            self.asked = True


CARD = Card(
    name="raymond-tree",
    title="Raymond's tree",
    paper="K. Raymond, A tree-based algorithm for distributed mutual exclusion, ACM TOCS 7(1), 1989",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms; the original was not at hand",
    process=RaymondTree,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("2D", lambda s: 2 * s.options["topology"].diameter),
    light=Formula("2 x mean distance", lambda s: 2 * s.options["topology"].mean_distance),
    fairness="no-starvation",
    structure="tree",
    options=(
        Option("topology", "tree", "line, star, tree (balanced binary), random, or edges like 0-1,0-2", tree),
        choice("piggyback", ("no", "yes"), "whether a request that would follow the token goes with it"),
    ),
)
