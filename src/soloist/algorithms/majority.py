"""Majority voting (after Thomas 1979): more than half of all votes let a site in.

fixed   each site asks i, i+1, …, i+floor(N/2), cyclically: Agrawal and El Abbadi's arbitration with
        these quorums
all     each site asks everybody and enters with the first floor(N/2)+1 votes, so that a
        minority may never answer

Paper name     here         meaning
vote           Grant        one at a time per voter
               need         how many votes let a site in
               released[j]  the highest number of a request of site j that is over

Thomas' protocol updates a database; the survey takes from it only the majority. The arbitration
here is that of `_arbiter`, and the rules that `all` adds concern votes that come too late. They
need the tags of `_arbiter`, on any links: a late vote must not count for the next request.
"""

from __future__ import annotations

from soloist.algorithms._arbiter import Arbiter, Grant, Release, Request, Yield
from soloist.algorithms._card import Card, Formula, Size, choice
from soloist.core import IDLE, INSIDE, WAITING, Site, Stamp, on
from soloist.structures.quorums import majority


class Majority(Arbiter):
    need: int
    released: list[Stamp]

    @classmethod
    def start(cls, me: Site, n: int, votes: str) -> Majority:
        S = majority(n)[me] if votes == "fixed" else tuple(range(n))
        return cls(me=me, n=n, S=S, H=0, sn=0, got=set(), inq=set(), lock=None, queue=[], inquired=False,
                   need=n // 2 + 1, released=[0] * n)  # fmt: skip

    # The requester: more votes may come than are needed.

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is IDLE or m.sn != self.sn:
            return
        self.got.add(j)
        if self.phase is WAITING and len(self.got) == self.need:
            self.enter()
        self.cede()

    def keeps(self) -> bool:
        return self.phase is INSIDE and len(self.got) <= self.need

    # The voter: a release may find its request still waiting here, or not yet come.

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        if m.sn > self.released[j]:
            super().on_request(j, m)

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        if self.lock == (m.sn, j):
            super().on_yield(j, m)

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.released[j] = max(self.released[j], m.sn)
        if self.lock == (m.sn, j):
            super().on_release(j, m)
        elif (m.sn, j) in self.queue:
            self.queue.remove((m.sn, j))


def asked(s: Size) -> int:
    """How many others a site asks."""
    return s.n // 2 if s.options["votes"] == "fixed" else s.n - 1


CARD = Card(
    name="majority",
    title="Majority voting",
    paper="R. H. Thomas, A majority consensus approach to concurrency control for multiple copy databases, "
    "ACM TODS 4(2), 1979",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms, which names the idea only; the rules are "
    "Agrawal and El Abbadi's. The original was not at hand",
    process=Majority,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("6V+3 on average, V others asked", lambda s: 6 * asked(s) + 3),
    light=Formula("3 floor(N/2), or 3(N-1) with votes=all", lambda s: 3 * asked(s)),
    fairness="no-starvation",
    structure="majorities",
    tolerates="with votes=all, a minority of sites that never answer",
    options=(
        choice("votes", ("fixed", "all"), "a fixed majority for each site, or the first to vote of all"),
    ),
)
