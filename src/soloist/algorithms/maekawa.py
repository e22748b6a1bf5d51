"""Maekawa 1985: ask only the sites of a set S_i, of which every two meet.

Paper name      here          meaning
S_i             S             the set of this site
LOCKED          Grant         the arbiter is locked for the request
FAILED          Failed        an older request goes first at this arbiter
INQUIRE         Inquire       has the request succeeded? if not, give the lock back
RELINQUISH      Yield         it has not, and cannot hope to soon
RELEASE         Release
                failed        arbiters that have told us FAILED, or were given back, and have not locked since

The arbitration is that of `_arbiter`, but a site gives a lock back only when it knows that it
fails elsewhere. Two things are not as in the survey: the arbiter compares a newcomer with the lock
as well as with the queue; and it also tells FAILED to a waiting request that the newcomer pushes
back (Sanders 1987), without which three requests can wait for each other for ever.
"""

from __future__ import annotations

from soloist.algorithms._arbiter import Arbiter, Grant, ReqID, Yield
from soloist.algorithms._card import Card, Formula, Option
from soloist.core import WAITING, Message, Site, Stamp, on
from soloist.structures.quorums import Quorums, quorums


class Failed(Message, frozen=True):
    """FAILED(sn): request sn has to wait for an older one."""

    sn: Stamp


class Maekawa(Arbiter):
    failed: set[Site]
    told: set[Site]
    """Arbiter: the waiting sites that know they fail here."""

    @classmethod
    def start(cls, me: Site, n: int, quorums: Quorums) -> Maekawa:
        return cls(me=me, n=n, S=quorums[me], H=0, sn=0, got=set(), inq=set(), failed=set(),
                   lock=None, queue=[], inquired=False, told=set())  # fmt: skip

    # The requester.

    def acquire(self) -> None:
        self.failed = set()
        super().acquire()

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        self.failed.discard(j)
        super().on_grant(j, m)

    @on(Failed)
    def on_failed(self, j: Site, m: Failed) -> None:
        if self.phase is WAITING and m.sn == self.sn and j not in self.got:
            self.failed.add(j)
            self.cede()

    def keeps(self) -> bool:
        return super().keeps() or not self.failed

    def give_back(self, a: Site) -> None:
        self.failed.add(a)
        super().give_back(a)

    # The arbiter.

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        self.told.add(j)
        super().on_yield(j, m)

    def grant(self, request: ReqID) -> None:
        self.told.discard(request[1])
        super().grant(request)

    def decide(self) -> None:
        super().decide()
        for sn, j in self.queue:
            if j not in self.told and self.fails((sn, j)):
                self.told.add(j)
                self.tell((j,), Failed(sn))

    def fails(self, request: ReqID) -> bool:
        """All that wait fail, but for one at the head that is older than the lock."""
        return self.lock is not None and (request > self.lock or request != self.queue[0])


CARD = Card(
    name="maekawa",
    title="Maekawa",
    paper="M. Maekawa, A sqrt(N) algorithm for mutual exclusion in decentralized systems, ACM TOCS 3(2), 1985",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms; with Sanders' repair and request tags. "
    "The original was not at hand",
    process=Maekawa,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula(
        "7(K-1)+3 on average, K sites in a quorum (published: 5(K-1))",
        lambda s: 7 * max(s.options["quorums"].others) + 3,
    ),
    light=Formula("3(K-1)", lambda s: 3 * s.options["quorums"].mean_others),
    fairness="no-starvation",
    structure="quorums",
    options=(
        Option("quorums", "grid", "grid, plane, majority, triangle, tree, or sets like 0+1,1+2,2+0", quorums),
    ),
)
