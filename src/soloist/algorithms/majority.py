"""Majority voting (after Thomas 1979): more than half of all votes let a site in.

fixed   each site asks i, i+1, …, i+floor(N/2), cyclically: Agrawal and El Abbadi's arbitration with
        these quorums
all     each site asks everybody and enters with the first floor(N/2)+1 votes, so that a
        minority may never answer

Paper name     here         meaning
vote           Grant        one at a time per voter
v_i            votes[i]     how many votes site i has (Gifford 1979); one each, unless weights are given
               need         how many votes let a site in: more than half of all
               released[j]  the highest number of a request of site j that is over

Thomas' protocol updates a database; the survey takes from it only the majority. The arbitration
here is that of `_arbiter`, and the rules that `all` adds concern votes that come too late. They
need the tags of `_arbiter`, on any links: a late vote must not count for the next request.

Gifford's weighted votes, which the survey names as what made quorums of majorities, are the option `weights`. A site without
votes is never asked. With `fixed` a site asks i, i+1, … until these have more than half of all votes.
"""

from __future__ import annotations

from soloist.algorithms._arbiter import Arbiter, Grant, Release, Request, Yield
from soloist.algorithms._card import Card, Formula, Option, Size, choice
from soloist.core import IDLE, INSIDE, WAITING, Site, Stamp, on
from soloist.structures.quorums import Weights, voting_group, weighted_majority, weights


class Majority(Arbiter):
    votes: tuple[int, ...]
    need: int
    released: list[Stamp]

    @classmethod
    def start(cls, me: Site, n: int, votes: str, weights: Weights) -> Majority:
        S = voting_group(weights, me) if votes == "fixed" else weights.voters
        return cls(me=me, n=n, S=S, H=0, sn=0, got=set(), inq=set(), lock=None, queue=[], inquired=False,
                   votes=tuple(weights), need=weights.need, released=[0] * n)  # fmt: skip

    # The requester: more votes may come than are needed.

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is IDLE or m.sn != self.sn:
            return
        self.got.add(j)
        if self.phase is WAITING and self.has_enough(self.got):
            self.enter()
        self.cede()

    def cede(self) -> None:
        while spare := [a for a in self.inq & self.got if self.spares(a)]:
            self.give_back(min(spare))

    def spares(self, a: Site) -> bool:
        """Inside, a vote can be given back if the others are enough."""
        return self.phase is not INSIDE or self.has_enough(self.got - {a})

    def has_enough(self, voters: set[Site]) -> bool:
        return sum(self.votes[j] for j in voters) >= self.need

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


def asked(s: Size) -> list[int]:
    """How many others each site asks."""
    weights: Weights = s.options["weights"]
    if s.options["votes"] == "fixed":
        return weighted_majority(weights).others
    return [len(set(weights.voters) - {i}) for i in range(s.n)]


CARD = Card(
    name="majority",
    title="Majority voting",
    paper="R. H. Thomas, A majority consensus approach to concurrency control for multiple copy databases, "
    "ACM TODS 4(2), 1979",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms, which names the idea only (and Gifford's "
    "weights); the rules are Agrawal and El Abbadi's. The original was not at hand",
    process=Majority,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("6V+3 on average, V others asked", lambda s: 6 * max(asked(s)) + 3),
    light=Formula("3 floor(N/2), or 3(N-1) with votes=all", lambda s: 3 * sum(asked(s)) / s.n),
    fairness="no-starvation",
    structure="majorities",
    tolerates="with votes=all, a minority of sites that never answer",
    options=(
        choice("votes", ("fixed", "all"), "a fixed majority for each site, or the first to vote of all"),
        Option("weights", "equal", "equal, or the votes of each site like 3,1,1,0 (Gifford)", weights),
    ),
)
