"""Agrawal and El Abbadi 1991, choosing quorums around failed sites while running.

Survey's name            here         meaning
failed node              down         sites that have not answered in time
tree quorum              S            the quorum of the request under way, around those that are down
                         asked        all that this request has asked, also those that are in its quorum no more
                         silent       sites that have been asked whether they are alive, and have not answered yet
                         later        sites to be asked that next
                         done[j]      number of the last request of j that has been released

A request that waits for T asks the sites that have not granted whether they are alive, and those ask the owners of their grants. Who is
silent for Treply is down: the quorum is chosen anew around it (any two tree quorums meet, whoever thinks what of whom), and its requests and
its grant are dropped. **Safety rests on time**: Treply must be above 2d, with d the longest delay, for a site that is only slow may be inside.

The survey has the quorums, and no word on how failures are found, nor on the owner of a grant that fails. These rules are ours, on the
arbitration of `_arbiter`. A site that has changed its quorum may release what it never got; so a release may come before its request.
"""

from __future__ import annotations

from collections.abc import Iterable

from soloist.algorithms._arbiter import Arbiter, Grant, Release, Request, Yield
from soloist.algorithms._card import Card, Formula
from soloist.algorithms._recovery import time, while_calm
from soloist.algorithms.agrawal_el_abbadi import CARD as CALM
from soloist.core import WAITING, Message, Site, Stamp, on
from soloist.structures.quorums import tree, tree_quorum


class Probe(Message, frozen=True):
    """Are you alive?"""


class Alive(Message, frozen=True):
    """I am."""


class AgrawalElAbbadiRecovery(Arbiter, kw_only=True):
    T: float
    Treply: float
    down: set[Site] = set()
    asked: set[Site] = set()
    silent: set[Site] = set()
    later: set[Site] = set()
    done: dict[Site, Stamp] = {}

    @classmethod
    def start(cls, me: Site, n: int, T: float = 0.02, Treply: float = 0.003) -> AgrawalElAbbadiRecovery:
        S = tree(n)[me]
        return cls(
            me=me, n=n, S=S, H=0, sn=0, got=set(), inq=set(), lock=None, queue=[], inquired=False, T=T, Treply=Treply
        )  # fmt: skip

    # The requester.

    def acquire(self) -> None:
        self.asked = set(self.S)
        self.set_timer("T", self.T)
        super().acquire()

    def release(self) -> None:
        self.tell(sorted(self.asked - self.down), Release(self.sn))

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is WAITING and m.sn == self.sn:
            self.got.add(j)
            self.enter_if_all_grant()

    def enter_if_all_grant(self) -> None:
        if self.got.issuperset(self.S):
            self.cancel_timer("T")
            self.enter()
        else:
            self.cede()

    # The arbiter.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if j not in self.down and m.sn > self.done.get(j, 0):
            super().on_request(j, m)

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        if self.lock == (m.sn, j):
            super().on_yield(j, m)

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.done[j] = max(m.sn, self.done.get(j, 0))
        self.drop([request for request in (self.lock, *self.queue) if request == (m.sn, j)])

    def drop(self, requests: Iterable[tuple[Stamp, Site] | None]) -> None:
        gone = set(requests)
        self.queue = [request for request in self.queue if request not in gone]
        if self.lock in gone:
            self.lock = None
        self.decide()

    # Failures.

    def timeout(self, name: str) -> None:
        if name == "T":
            self.probe(set(self.S) - self.got | ({self.lock[1]} if self.lock else set()))
            self.set_timer("T", self.T)
        else:
            gone, self.silent = self.silent, set()
            self.go_around(gone)
            self.probe(set())

    def probe(self, sites: set[Site]) -> None:
        """One question at a time, so that everybody has the same time to answer."""
        self.later |= sites
        if not self.silent and (asked := self.later - {self.me} - self.down):
            self.silent, self.later = asked, set()
            self.multicast(sorted(self.silent), Probe())
            self.set_timer("Treply", self.Treply)

    @on(Probe)
    def on_probe(self, j: Site, m: Probe) -> None:
        self.send(j, Alive())
        if self.lock and self.lock[1] != j:
            self.probe({self.lock[1]})

    @on(Alive)
    def on_alive(self, j: Site, m: Alive) -> None:
        self.silent.discard(j)
        self.probe(set())

    def go_around(self, gone: set[Site]) -> None:
        if not gone:
            return
        self.down |= gone
        self.drop([request for request in (self.lock, *self.queue) if request and request[1] in gone])
        if quorum := tree_quorum(self.n, self.me, self.down):
            self.S = tuple(sorted(quorum))
        if self.phase is WAITING:
            new = sorted(set(self.S) - self.asked)
            self.asked |= set(new)
            self.tell(new, Request(self.sn))
        if self.phase is WAITING:  # not let in by its own grant
            self.enter_if_all_grant()


CARD = Card(
    name="agrawal-el-abbadi-recovery",
    title="Agrawal-El Abbadi with recovery",
    paper=CALM.paper,
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms, whose quorums these are; the original was not at hand",
    process=AgrawalElAbbadiRecovery,
    family="permission",
    capacity="1",
    channels="any",
    bound=while_calm("6(K-1)+3 on average, K sites in a quorum"),
    light=Formula("3(K-1)", lambda s: 3 * tree(s.n).mean_others),
    fairness="no-starvation",
    tolerates="crashes of sites that stay down, as long as a tree quorum is left, if no message takes longer than half of Treply",
    structure="binary tree",
    options=(
        time("T", 0.02, "wait so long before anybody is asked whether it is alive"),
        time("Treply", 0.003, "wait so long for answers: more than twice the longest delay, for safety"),
    ),
)
