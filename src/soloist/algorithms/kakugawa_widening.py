"""Kakugawa et al. 1993: Maekawa's algorithm on a k-coterie, where a site chooses an appropriate quorum, and another if that fails.

Survey's name          here        meaning
k-coterie              coterie     the quorums, those that are some site's home first
appropriate quorum     appropriate()
Q_i                    S           all whom the request under way has asked; inside, the quorum that let it in
                       home        the quorum to begin with

"An appropriate quorum would be one that has a null intersection with another quorum", says the survey, and nothing of how a site
finds it. Here it goes by what it knows: an arbiter that has said FAILED, or the site itself while its own permission is given away, belongs
to a quorum in use. A request that fails in all that it has asked asks one quorum more, under the same number, and enters with the first that
is complete; the others are told RELEASE at once. So a RELEASE may find its request still waiting, and links must be FIFO, or it could come
before its REQUEST. The arbiters are those of `maekawa`.
"""

from __future__ import annotations

from soloist.algorithms._arbiter import Grant, Release, Request
from soloist.algorithms._card import Card, Formula, Option
from soloist.algorithms.kakugawa import CARD as FIXED
from soloist.algorithms.maekawa import Failed, Maekawa
from soloist.core import WAITING, Site, on
from soloist.structures.coteries import Coterie, to_choose_from


class KakugawaWidening(Maekawa):
    home: tuple[Site, ...]
    coterie: tuple[tuple[Site, ...], ...]

    @classmethod
    def start(cls, me: Site, n: int, k: int, coterie: Coterie) -> KakugawaWidening:  # type: ignore[override]
        return cls(me=me, n=n, S=coterie[me], home=coterie[me], coterie=coterie.quorums, H=0, sn=0, got=set(), inq=set(),
                   failed=set(), lock=None, queue=[], inquired=False, told=set())  # fmt: skip

    # The requester.

    def acquire(self) -> None:
        self.S = self.appropriate({self.me} if self.lock else set()) or self.home
        super().acquire()

    def appropriate(self, in_use: set[Site]) -> tuple[Site, ...] | None:
        """The home, or else the first quorum without a site that is known to be in use."""
        return next((each for each in (self.home, *self.coterie) if in_use.isdisjoint(each)), None)

    @on(Failed)
    def on_failed(self, j: Site, m: Failed) -> None:
        super().on_failed(j, m)
        if j in self.failed:
            self.widen()

    def widen(self) -> None:
        """Ask one quorum more, if there is one, and if all that were asked have failed."""
        hopeful = [each for each in self.coterie if self.failed.isdisjoint(each)]
        if hopeful and not any(set(self.S).issuperset(each) for each in hopeful):
            more = [a for a in self.appropriate(self.failed) or () if a not in self.S]
            self.S = (*self.S, *more)
            self.tell(more, Request(self.sn))

    @on(Grant)
    def on_grant(self, j: Site, m: Grant) -> None:
        if self.phase is not WAITING or m.sn != self.sn:
            return  # it has been told RELEASE
        self.failed.discard(j)
        self.got.add(j)
        complete = next((each for each in self.coterie if self.got.issuperset(each)), None)
        if complete is None:
            self.cede()
            return
        rest = [a for a in self.S if a not in complete]
        self.S = complete
        self.enter()
        self.tell(rest, Release(self.sn))

    # The arbiter.

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        if self.lock == (m.sn, j):
            super().on_release(j, m)
        else:
            self.withdraw(j, m)

    def withdraw(self, j: Site, m: Release) -> None:
        self.queue.remove((m.sn, j))
        self.told.discard(j)
        self.decide()


CARD = Card(
    name="kakugawa-widening",
    title="Kakugawa et al., choosing a quorum",
    paper=FIXED.paper,
    section='survey of 21 algorithms (1993), section 6: "by selecting an appropriate quorum"; how is not said, so these rules are ours. '
    "The original was not at hand",
    process=KakugawaWidening,
    family="permission",
    capacity="K",
    channels="fifo",
    bound=Formula("7(N-1)+3 on average, if all are asked", lambda s: 7 * (s.n - 1) + 3),
    light=FIXED.light,
    fairness="no-starvation",
    structure="k-coterie",
    options=(Option("coterie", FIXED.options[0].default, FIXED.options[0].help, to_choose_from),),
)
