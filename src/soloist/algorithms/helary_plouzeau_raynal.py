"""Helary, Plouzeau and Raynal 1988: flood an unknown network; the token returns the way the news came.

Survey's words               here                     meaning
logical clock                h                        Lamport's
set of pending requests      req[k], path[k]          newest request of site k, and the neighbour it came from
time in the token's array    lud (valid with token)   time up to which each site has been served
nodes already sent to        Z                        travels with a request, so that few are told twice

A site knows its neighbours and nothing else. In the survey the holder updates the token's array when it sends
the token; here the site that was served enters its clock there at exit. Requests are served by age among those
that the holder has heard of, which is all that "first come, first served" means here.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.core import IDLE, Clock, Message, Process, Site, Stamp, on
from soloist.structures.graphs import Graph, graph


class Request(Message, frozen=True):
    """REQ(k, t, Z): site k asks at time t; the sites of Z have been told."""

    k: Site
    t: Stamp
    Z: tuple[Site, ...]


class Token(Message, frozen=True):
    """TOKEN(dest, lud): the token, on its way to `dest`."""

    dest: Site
    lud: tuple[Stamp, ...]


class HelaryPlouzeauRaynal(Process):
    neighbours: list[Site]
    h: Clock
    req: list[Stamp]
    path: list[Site]
    have_token: bool
    lud: list[Stamp]

    @classmethod
    def start(cls, me: Site, n: int, topology: Graph) -> HelaryPlouzeauRaynal:
        return cls(
            me=me,
            n=n,
            neighbours=list(topology.neighbours[me]),
            h=0,
            req=[0] * n,
            path=[me] * n,
            have_token=me == 0,
            lud=[0] * n,
        )

    def acquire(self) -> None:
        if self.have_token:
            self.enter()
            return
        self.h += 1
        self.req[self.me] = self.h
        self.tell(Request(self.me, self.h, (self.me,)))

    def release(self) -> None:
        self.lud[self.me] = self.h
        self.transmit()

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.h = max(self.h, m.t) + 1
        if m.t > self.req[m.k]:
            self.req[m.k], self.path[m.k] = m.t, j
            self.tell(m)
            if self.have_token and self.phase is IDLE:
                self.transmit()

    @on(Token)
    def on_token(self, j: Site, m: Token) -> None:
        if m.dest == self.me:
            self.have_token, self.lud = True, list(m.lud)
            self.enter()
        else:
            self.send(self.path[m.dest], m)

    def tell(self, m: Request) -> None:
        """Those neighbours that nobody has told yet."""
        Z = tuple(sorted({self.me, *m.Z, *self.neighbours}))
        self.multicast([i for i in self.neighbours if i not in m.Z], Request(m.k, m.t, Z))

    def transmit(self) -> None:
        """The token goes to the oldest request known here; if there is none, it stays."""
        pending = [(self.req[k], k) for k in self.others if self.req[k] > self.lud[k]]
        if pending:
            _, k = min(pending)
            self.have_token = False
            self.send(self.path[k], Token(k, tuple(self.lud)))


def bound(size: Size) -> float:
    """A site passes a request on once, not to the neighbour it came from; the token needs N-1 hops at most."""
    shape: Graph = size.options["topology"]
    if shape.is_tree:
        return size.n - 1 + shape.diameter
    return size.n if shape.diameter == 1 else 2 * len(shape.edges)


def light(size: Size) -> float:
    shape: Graph = size.options["topology"]
    return (1 - 1 / size.n) * shape.mean_flood + shape.mean_distance


CARD = Card(
    name="helary-plouzeau-raynal",
    title="Helary-Plouzeau-Raynal",
    paper="J.-M. Helary, N. Plouzeau and M. Raynal, A distributed algorithm for mutual exclusion in an "
    "arbitrary network, The Computer Journal 31(4), 1988",
    section="survey of 21 algorithms (1993), section 4, token-based algorithms; the original was not at hand",
    process=HelaryPlouzeauRaynal,
    family="token",
    capacity="1",
    channels="any",
    bound=Formula("complete N, tree N-1+D, else 2 x edges", bound),
    light=Formula("(1-1/N) x flood + mean distance (complete: N-1), links equally fast", light),
    fairness="no-starvation",
    structure="any connected graph",
    options=(
        Option(
            "topology",
            "full",
            "full, ring, line, tree (balanced binary), random, or edges like 0-1,1-2,2-0",
            graph,
        ),
    ),
)
