"""Wrong algorithms, those that ask for permission: each differs from the right one in a single rule."""

from __future__ import annotations

from collections.abc import Iterator

from soloist.algorithms import _lodha_kshemkalyani_fig_2 as fig_2
from soloist.algorithms import (
    agrawal_el_abbadi,
    carvalho_roucairol,
    central,
    lodha_kshemkalyani,
    maekawa,
    majority,
    raynal,
    raynal_inform,
    sanders,
    singhal_dynamic,
)
from soloist.algorithms._arbiter import Inquire, Release, ReqID, Request, Yield
from soloist.check.declarations import Declaration, declare
from soloist.core import IDLE, INSIDE, WAITING, Site, on
from soloist.structures.quorums import Weights

from .mutants import Mutant, mutant

# Central coordinator.


class CentralLastInFirstOut(central.Central):
    """The coordinator serves the end of its queue."""

    def grant_next(self) -> None:
        self.queue.reverse()
        super().grant_next()
        self.queue.reverse()


class CentralBusyForgotten(central.Central):
    """The coordinator lets a newcomer in that comes while somebody is inside."""

    @on(central.Request)
    def on_request(self, j: Site, m: central.Request) -> None:
        self.busy = False
        super().on_request(j, m)


# Carvalho and Roucairol, and Singhal's form of it.


class CarvalhoRoucairolKeepsPermission(carvalho_roucairol.CarvalhoRoucairol):
    """A site that answers a request still counts on the permission of the one that asked."""

    @on(carvalho_roucairol.Request)
    def on_request(self, j: Site, m: carvalho_roucairol.Request) -> None:
        before = set(self.A)
        super().on_request(j, m)
        if self.phase is IDLE:
            self.A = before


class CarvalhoRoucairolAsksOnlyOnce(carvalho_roucairol.CarvalhoRoucairol):
    """A waiting site that gives a permission back does not ask for it again."""

    @on(carvalho_roucairol.Request)
    def on_request(self, j: Site, m: carvalho_roucairol.Request) -> None:
        self.H = max(self.H, m.sn)
        if self.phase is INSIDE or (self.phase is WAITING and (self.sn, self.me) < (m.sn, j)):
            self.deferred.append(j)
        else:
            self.send(j, carvalho_roucairol.Reply())
            self.A.discard(j)


class SinghalDynamicFlatStart(singhal_dynamic.SinghalDynamic):
    """The staircase is left out: at first everybody thinks that it has to ask nobody."""

    @classmethod
    def start(cls, me: Site, n: int) -> SinghalDynamicFlatStart:
        return cls(me=me, n=n, sn=0, H=0, A={*range(n)} - {me}, deferred=[])


class SinghalDynamicInsideAnswers(singhal_dynamic.SinghalDynamic):
    """A site that is inside answers an older request at once, as a waiting one does."""

    @on(carvalho_roucairol.Request)
    def on_request(self, j: Site, m: carvalho_roucairol.Request) -> None:
        if self.phase is INSIDE and (m.sn, j) < (self.sn, self.me):
            self.A.discard(j)
            self.send(j, carvalho_roucairol.Reply())
        else:
            super().on_request(j, m)


declare(SinghalDynamicInsideAnswers, Declaration())  # here sn is read inside

# Lodha and Kshemkalyani.


class LodhaKshemkalyaniQueueNotSorted(lodha_kshemkalyani.Improved):
    """Concurrent requests are queued in order of arrival."""

    @on(fig_2.Request)
    def on_request(self, j: Site, m: fig_2.Request) -> None:
        if self.phase is IDLE or self.defers(j, m):
            super().on_request(j, m)
            return
        self.H = max(self.H, m.R[0])
        self.drop(m.last)
        self.RV.add(j)
        if self.done < m.R:
            self.LRQ.append(m.R)
        self.check_execute_cs()


class LodhaKshemkalyaniFlushesTheLast(lodha_kshemkalyani.Improved):
    """FLUSH goes to the end of the queue."""

    def release(self) -> None:
        self.LRQ[1:] = reversed(self.LRQ[1:])
        super().release()


class LodhaKshemkalyaniNumbersIgnored(lodha_kshemkalyani.Improved):
    """The numbers of others are not learnt."""

    @on(fig_2.Request)
    def on_request(self, j: Site, m: fig_2.Request) -> None:
        before = self.H
        super().on_request(j, m)
        self.H = before


# Those that ask a quorum.


class AgrawalElAbbadiNoInquire(agrawal_el_abbadi.AgrawalElAbbadi):
    """An arbiter never asks its permission back."""

    def decide(self) -> None:
        self.inquired = True
        super().decide()


class AgrawalElAbbadiInOrderOfArrival(agrawal_el_abbadi.AgrawalElAbbadi):
    """Requests are queued by arrival."""

    @on(Request)
    def on_request(self, j: Site, m: Request) -> None:
        self.H = max(self.H, m.sn)
        self.queue.append((m.sn, j))
        self.decide()


class AgrawalElAbbadiYieldsInside(agrawal_el_abbadi.AgrawalElAbbadi):
    """A site gives its permission back although it is inside."""

    def keeps(self) -> bool:
        return False


class AgrawalElAbbadiYoungestFirst(agrawal_el_abbadi.AgrawalElAbbadi):
    """The request with the largest number goes first."""

    def decide(self) -> None:
        self.queue.sort(reverse=True)
        if self.lock and self.queue and self.queue[0] > self.lock and not self.inquired:
            self.inquired = True
            self.tell((self.lock[1],), Inquire(self.lock[0]))
        elif self.lock is None:
            super().decide()


class MaekawaNoFailed(maekawa.Maekawa):
    """FAILED is never sent."""

    def fails(self, request: ReqID) -> bool:
        return False


class MaekawaYieldForgets(maekawa.Maekawa):
    """A request that gives its lock back is not queued again."""

    @on(Yield)
    def on_yield(self, j: Site, m: Yield) -> None:
        self.lock = None
        self.decide()


class MajorityHalf(majority.Majority):
    """Half of all votes are taken to be enough."""

    @classmethod
    def start(cls, me: Site, n: int, votes: str, weights: Weights) -> MajorityHalf:
        process = super().start(me, n, votes, weights)
        process.need = n // 2
        return process  # type: ignore[return-value]


class MajorityAnyReleaseFrees(majority.Majority):
    """A RELEASE frees the vote, whoever has it."""

    @on(Release)
    def on_release(self, j: Site, m: Release) -> None:
        self.released[j] = max(self.released[j], m.sn)
        self.queue = [request for request in self.queue if request != (m.sn, j)]
        self.lock = None
        self.decide()


class SandersLocksForEverybody(sanders.Sanders):
    """A grant is a lock even for those that will not say when they leave."""

    def grant(self, request: ReqID) -> None:
        maekawa.Maekawa.grant(self, request)


class SandersLocksForNobody(sanders.Sanders):
    """A grant is no lock for anybody."""

    def grant(self, request: ReqID) -> None:
        self.lock = None
        super().grant(request)


# Raynal's prime numbers.


class RaynalPassesOnWhenAsked(raynal.Raynal):
    """Leaving passes the turn on only if somebody has asked for it meanwhile."""

    asked: bool = False

    @on(raynal.Request)
    def on_request(self, j: Site, m: raynal.Request) -> None:
        self.asked = self.asked or self.phase is INSIDE
        super().on_request(j, m)

    def release(self) -> None:
        self.r += self.asked
        self.asked = False


class RaynalInsideIsOver(raynal.Raynal):
    """A site that is inside says what will be true when it has left."""

    @on(raynal.Request)
    def on_request(self, j: Site, m: raynal.Request) -> None:
        self.send(j, raynal.Reply(self.r + (self.phase is INSIDE)))


class RaynalInformOnlyAfterEntry(raynal_inform.RaynalInform):
    """A site that does not want the turn keeps it."""

    def check_turn(self) -> None:
        if self.phase is WAITING:
            super().check_turn()


def _all() -> Iterator[Mutant]:
    yield mutant(central.CARD, CentralLastInFirstOut, "starvation", 10, nodes=3)
    yield mutant(central.CARD, CentralBusyForgotten, "exclusion", 4)
    cr, sd = carvalho_roucairol.CARD, singhal_dynamic.CARD
    yield mutant(cr, CarvalhoRoucairolKeepsPermission, "exclusion", 8)
    yield mutant(cr, CarvalhoRoucairolAsksOnlyOnce, "deadlock", 21, nodes=3)
    yield mutant(sd, SinghalDynamicFlatStart, "exclusion", 2)
    yield mutant(sd, SinghalDynamicInsideAnswers, "exclusion", 12, nodes=3)
    lk = lodha_kshemkalyani.CARD
    yield mutant(lk, LodhaKshemkalyaniQueueNotSorted, "exclusion", 4)
    yield mutant(lk, LodhaKshemkalyaniFlushesTheLast, "deadlock", 11, nodes=3)
    yield mutant(lk, LodhaKshemkalyaniNumbersIgnored, "error", 7, rounds=2)
    ae = agrawal_el_abbadi.CARD
    yield mutant(ae, AgrawalElAbbadiNoInquire, "deadlock", 6, nodes=3, options={"quorums": "majority"})
    yield mutant(
        ae, AgrawalElAbbadiInOrderOfArrival, "deadlock", 16, nodes=3, options={"quorums": "majority"}
    )
    yield mutant(ae, AgrawalElAbbadiYoungestFirst, "starvation", 12)
    yield mutant(ae, AgrawalElAbbadiYieldsInside, "exclusion", 8, nodes=3)
    yield mutant(maekawa.CARD, MaekawaNoFailed, "deadlock", 4, nodes=2)
    yield mutant(maekawa.CARD, MaekawaYieldForgets, "deadlock", 9, nodes=2)
    yield mutant(majority.CARD, MajorityHalf, "exclusion", 2, nodes=2)
    yield mutant(majority.CARD, MajorityAnyReleaseFrees, "exclusion", 12, nodes=3, options={"votes": "all"})
    yield mutant(sanders.CARD, SandersLocksForEverybody, "deadlock", 7)
    yield mutant(sanders.CARD, SandersLocksForNobody, "exclusion", 6)
    yield mutant(raynal.CARD, RaynalPassesOnWhenAsked, "livelock", 4)
    yield mutant(raynal.CARD, RaynalInsideIsOver, "exclusion", 6)
    yield mutant(raynal_inform.CARD, RaynalInformOnlyAfterEntry, "deadlock", 1)


MUTANTS = list(_all())
