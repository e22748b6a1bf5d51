"""Wrong recovery: each scheme without one of its rules. What nobody else would do, the checker must notice.

Where it shows is one of the searches of `lab/recovery_checks`, or a smaller one that is named here: nobody crashes and failures are presumed all the same
(`ALARMS`), two crash (`TWO`), or nobody does and waiting is never in vain (`CALM`), so that no timer may run out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from soloist.algorithms import Card, _search
from soloist.algorithms import agrawal_el_abbadi_recovery as ae
from soloist.algorithms import helary_plouzeau_raynal_recovery as hp
from soloist.algorithms import mishra_srimani_coordinator as co
from soloist.algorithms import mishra_srimani_recovery as ms
from soloist.algorithms import naimi_trehel_recovery as nt
from soloist.algorithms import nishio_recovery as ni
from soloist.algorithms import raymond_tree_recovery as ry
from soloist.algorithms import singhal_dynamic_recovery as sd
from soloist.algorithms import singhal_heuristic_recovery as sh
from soloist.core import WAITING, Process, Site, on

ALARMS: dict[str, Any] = {"slow": ("Treply",), "timeouts": 4}
TWO: dict[str, Any] = {"slow": ("Treply",), "last": ("T",), "crashes": 2}
CALM: dict[str, Any] = {"slow": ("Treply",), "last": ("T",)}
HOLDER = ("crash=0@0.0005",)
"""Simulated: all ask at once, and the first holder crashes inside; so all presume a failure at the same time."""


class Wrong(msgspec.Struct, frozen=True):
    """A scheme without a rule, and the search that shows it: by its kind, or with rounds and network of its own."""

    card: Card
    breaks: str
    """A property, or `alarm`: a timer runs out although nothing has failed."""
    kind: str = ""
    rounds: tuple[int, ...] = (1, 1, 1)
    network: dict[str, Any] = {}
    options: dict[str, Any] = {}
    crashes: tuple[str, ...] = ()
    """If it is simulated instead: what crashes, of how many."""
    nodes: int = 5

    @property
    def name(self) -> str:
        return self.card.process.__name__


def wrong(card: Card, process: type[Process], breaks: str, kind: str = "", **where: Any) -> Wrong:
    return Wrong(msgspec.structs.replace(card, process=process), breaks, kind, **where)


# The search for a token, by the moving coordinator.


class HolderSaysNothing(co.MishraSrimaniCoordinator):
    @on(_search.Search)
    def on_search(self, j: Site, m: _search.Search) -> None:
        if not self.have_token:
            super().on_search(j, m)


class OldTokenTaken(co.MishraSrimaniCoordinator):
    """A token that was on its way while it was searched for is as good as the new one."""

    def is_of_now(self, inc: int) -> bool:
        return super().is_of_now(inc) or inc < self.inc


class SearcherGoesOn(co.MishraSrimaniCoordinator):
    """It hears of a higher search, and makes a token all the same."""

    def cancel_timer(self, name: str) -> None:
        if name != "Treply":
            super().cancel_timer(name)


class LowerSearchCounts(co.MishraSrimaniCoordinator):
    @on(_search.Search)
    def on_search(self, j: Site, m: _search.Search) -> None:
        self.inc = min(self.inc, m.inc - 1)
        super().on_search(j, m)


class NumbersAreShared(co.MishraSrimaniCoordinator):
    """Two searches may have one number, and the tokens of both, too."""

    def timeout(self, name: str) -> None:
        if name == "T":
            me, self.me = self.me, 0
            self.start_over((self.inc // self.n + 1) * self.n)
            self.me = me
            self.set_timer("Treply", self.Treply)
            self.spread(_search.Search(self.inc))
        else:
            super().timeout(name)


class NobodyAsksAgain(co.MishraSrimaniCoordinator):
    def wait(self) -> None:
        if self.inc == 0:
            super().wait()


class RequestsKept(co.MishraSrimaniCoordinator):
    """What was asked before a search stays in the queue, beside what is asked again."""

    def forget(self) -> None:
        pass


class SearcherIsWaitedForForEver(co.MishraSrimaniCoordinator):
    @on(_search.Search)
    def on_search(self, j: Site, m: _search.Search) -> None:
        super().on_search(j, m)
        if not self.found:
            self.cancel_timer("T")


class QueueLeftBehind(co.MishraSrimaniCoordinator):
    def move(self, to: Site) -> None:
        self.queue = []
        super().move(to)


class OldNewsOfTheCoordinator(co.MishraSrimaniCoordinator):
    def learn(self, coordinator: Site, inc: int, turn: int) -> None:
        if not self.have_token:
            self.coordinator = coordinator
        self.is_of_now(inc)


# Singhal's heuristic.


class NobodyIsBelievedToAsk(sh.SinghalHeuristicRecovery):
    """After a search no site asks anybody."""

    def forget(self) -> None:
        super().forget()
        self.R = set()


class OldRequestsCount(sh.SinghalHeuristicRecovery):
    """A request from before a search, of a site that may be dead by now, is served after it."""

    @on(sh.Request)
    def on_request(self, i: Site, m: sh.Request) -> None:
        super().on_request(i, msgspec.structs.replace(m, inc=max(m.inc, self.inc)))


class OldTokenOfSinghal(sh.SinghalHeuristicRecovery):
    @on(sh.Token)
    def on_token(self, i: Site, m: sh.Token) -> None:
        if m.inc < self.inc:
            self.take()
        else:
            super().on_token(i, m)


class OutdatedAreNotTold(sh.SinghalHeuristicRecovery):
    """The rule that the failure-free algorithm needs (docs/errata.md, singhal-heuristic)."""

    @on(sh.Token)
    def on_token(self, i: Site, m: sh.Token) -> None:
        if self.is_of_now(m.inc):
            self.TR, self.TSN = set(m.TR) - {self.me}, list(m.TSN)
            self.take()


# Helary, Plouzeau and Raynal.


class SearchNotPassedOn(hp.HelaryPlouzeauRaynalRecovery):
    def spread(self, m: _search.Search | _search.Found, heard_from: Site | None = None) -> None:
        if heard_from is None or isinstance(m, _search.Found):
            super().spread(m, heard_from)


class FoundNotPassedOn(hp.HelaryPlouzeauRaynalRecovery):
    def spread(self, m: _search.Search | _search.Found, heard_from: Site | None = None) -> None:
        if heard_from is None or isinstance(m, _search.Search):
            super().spread(m, heard_from)


class OldTokenOfHelary(hp.HelaryPlouzeauRaynalRecovery):
    @on(hp.Token)
    def on_token(self, j: Site, m: hp.Token) -> None:
        if m.inc < self.inc and m.dest == self.me:
            self.take()
        else:
            super().on_token(j, m)


class RequestsOfTheDeadKept(hp.HelaryPlouzeauRaynalRecovery):
    """So the token is sent to them, and lost, again and again."""

    def forget(self) -> None:
        req = self.req
        super().forget()
        self.req = req


# Singhal's dynamic structure.


class AliveIsNotHeard(sd.SinghalDynamicRecovery):
    @on(sd.Alive)
    def on_alive(self, j: Site, m: sd.Alive) -> None:
        pass


class AsksOnceWhetherAlive(sd.SinghalDynamicRecovery):
    """Who lived when it was asked may be dead later."""

    def timeout(self, name: str) -> None:
        super().timeout(name)
        if name == "Treply" and self.phase is WAITING:
            self.cancel_timer("T")


class PermissionOfTheDeadAwaited(sd.SinghalDynamicRecovery):
    def bury(self, gone: set[Site]) -> None:
        self.down |= gone


# Nishio, Li and Manning.


class AckIsNoPromise(ni.NishioRecovery):
    """As printed (nishio-recovery N1)."""

    def promise(self, age: int) -> None:
        pass


class HolderAgrees(ni.NishioRecovery):
    @on(ni.TokenMissing)
    def on_missing(self, j: Site, m: ni.TokenMissing) -> None:
        have, self.have_token = self.have_token, False
        super().on_missing(j, m)
        self.have_token = have


class AllButOneSuffice(ni.NishioRecovery):
    def create_if_all_agree(self) -> None:
        if len(self.acks) == self.n - 2:
            self.acks[next(j for j in self.others if j not in self.acks)] = 0
        super().create_if_all_agree()


class ProposersAgreeToEachOther(ni.NishioRecovery):
    @on(ni.TokenMissing)
    def on_missing(self, j: Site, m: ni.TokenMissing) -> None:
        proposed, acks = self.proposed, self.acks
        if not self.have_token:
            self.proposed = 0
        super().on_missing(j, m)
        self.proposed, self.acks = proposed, acks


class AgreesTwice(ni.NishioRecovery):
    """To two proposals of one age."""

    @on(ni.TokenMissing)
    def on_missing(self, j: Site, m: ni.TokenMissing) -> None:
        if m.proposed_age == self.age and not self.have_token:
            self.age -= 1
        super().on_missing(j, m)


class LateAnswersCount(ni.NishioRecovery):
    """An ACK of an earlier proposal counts for this one."""

    @on(ni.Ack)
    def on_ack(self, j: Site, m: ni.Ack) -> None:
        if self.proposed:
            super().on_ack(j, msgspec.structs.replace(m, proposed_age=self.proposed))


class OldTokenOfNishio(ni.NishioRecovery):
    @on(ni.Token)
    def on_token(self, j: Site, m: ni.Token) -> None:
        super().on_token(j, msgspec.structs.replace(m, age=max(m.age, self.age)))


class ComesBackAndWaits(ni.NishioRecovery):
    """What was on its way to it is lost, and it does not ask again."""

    def come_back(self) -> None:
        pass


# Naimi and Trehel.


class OldRequestsOfNaimi(nt.NaimiTrehelRecovery):
    @on(nt.Request)
    def on_request(self, j: Site, m: nt.Request) -> None:
        super().on_request(j, nt.Request(m.i, self.epoch))


class HolderDoesNotAnswer(nt.NaimiTrehelRecovery):
    def answer(self) -> None:
        pass


class CandidatesDoNotYield(nt.NaimiTrehelRecovery):
    @on(nt.Election)
    def on_election(self, j: Site, m: nt.Election) -> None:
        if self.token or self.state != "candidate":
            super().on_election(j, m)


class NextSurvivesAnElection(nt.NaimiTrehelRecovery):
    def begin_epoch(self, epoch: int, root: Site) -> None:
        before = self.next
        super().begin_epoch(epoch, root)
        self.next = before


class NobodyAsksTheElected(nt.NaimiTrehelRecovery):
    @on(nt.Elected)
    def on_elected(self, j: Site, m: nt.Elected) -> None:
        if m.epoch > self.epoch:
            self.token = False
            self.begin_epoch(m.epoch, j)


class ObserversWaitForEver(nt.NaimiTrehelRecovery):
    @on(nt.Election)
    def on_election(self, j: Site, m: nt.Election) -> None:
        super().on_election(j, m)
        if self.state == "observer":
            self.cancel_timer("Telec")


class RecordedIsAlwaysSaid(nt.NaimiTrehelRecovery):
    """So a request that has died is waited for without end."""

    @on(nt.Consult)
    def on_consult(self, j: Site, m: nt.Consult) -> None:
        self.send(j, nt.Recorded())


# Mishra and Srimani, the first algorithm.


class ActsOnOneAnswer(ms.MishraSrimaniRecovery):
    def enough(self) -> bool:
        return True


class UpdateIsNoPromise(ms.MishraSrimaniRecovery):
    @on(ms.Privilege)
    def on_token(self, j: Site, m: ms.Privilege) -> None:
        super().on_token(j, msgspec.structs.replace(m, inc=max(m.inc, self.inc)))


class HolderTellsWhatItKnows(ms.MishraSrimaniRecovery):
    """And keeps its token, instead of refusing."""

    @on(ms.CreatePrivilege)
    def on_create(self, j: Site, m: ms.CreatePrivilege) -> None:
        have, self.have_privilege = self.have_privilege, False
        super().on_create(j, m)
        self.have_privilege = have


class DeadAreNotCountedAsServed(ms.MishraSrimaniRecovery):
    def build_if_all_known(self) -> None:
        if self.updates.keys() == self.no_crit:
            known = {**self.updates, self.me: self.served}
            self.multicast(self.others, ms.Recovered(self.inc))
            self.take([], [known.get(j, -1) for j in range(self.n)], self.inc)


class RegeneratorIsWaitedForForEver(ms.MishraSrimaniRecovery):
    """Somebody else regenerates, as far as this site knows; it may have failed meanwhile."""

    def timeout(self, name: str) -> None:
        if name != "T" or self.other is None:
            super().timeout(name)


class GivesUpAfterAFalseAlarm(ms.MishraSrimaniRecovery):
    def ask_again(self) -> None:
        self.stop()


# Agrawal and El Abbadi.


class AliveIsNotNoticed(ae.AgrawalElAbbadiRecovery):
    @on(ae.Alive)
    def on_alive(self, j: Site, m: ae.Alive) -> None:
        pass


class OwnersAreNotAskedAfter(ae.AgrawalElAbbadiRecovery):
    @on(ae.Probe)
    def on_probe(self, j: Site, m: ae.Probe) -> None:
        self.send(j, ae.Alive())


class GrantsOfTheDeadKept(ae.AgrawalElAbbadiRecovery):
    def drop(self, requests: Any) -> None:
        super().drop(r for r in requests if r is None or r[1] not in self.down)


class QuorumNotChosenAnew(ae.AgrawalElAbbadiRecovery):
    def go_around(self, gone: set[Site]) -> None:
        S = self.S
        super().go_around(gone)
        self.S = S


class NewQuorumNotAsked(ae.AgrawalElAbbadiRecovery):
    def go_around(self, gone: set[Site]) -> None:
        tell, self.asked = self.asked, set(range(self.n))
        super().go_around(gone)
        self.asked = tell


class OldQuorumNotReleased(ae.AgrawalElAbbadiRecovery):
    def release(self) -> None:
        self.asked = set(self.S)
        super().release()


# Raymond.


class WishesNotAsked(ry.RaymondTreeRecovery):
    @on(ry.Advise)
    def on_advise(self, j: Site, m: ry.Advise) -> None:
        super().on_advise(j, ry.Advise(m.points_here, False, m.asked_from_here))


class AskedIsAssumed(ry.RaymondTreeRecovery):
    @on(ry.Advise)
    def on_advise(self, j: Site, m: ry.Advise) -> None:
        super().on_advise(j, ry.Advise(m.points_here, m.asks_here, True))


class LateMailDropped(ry.RaymondTreeRecovery):
    def recover_if_all_advise(self) -> None:
        self.late = []
        super().recover_if_all_advise()


class EarlyMailKept(ry.RaymondTreeRecovery):
    """What a neighbour sent before its answer is in the answer already, and counts twice."""

    @on(ry.Request)
    def on_request(self, j: Site, m: ry.Request) -> None:
        self.late.append((j, False)) if self.recovering else super().on_request(j, m)

    @on(ry.Privilege)
    def on_privilege(self, j: Site, m: ry.Privilege) -> None:
        self.late.append((j, True)) if self.recovering else super().on_privilege(j, m)


class TokenIsWhereSomePoint(ry.RaymondTreeRecovery):
    """One neighbour that points here is taken for all."""

    @on(ry.Advise)
    def on_advise(self, j: Site, m: ry.Advise) -> None:
        some = m.points_here or any(points for points, _, _ in self.advice.values())
        super().on_advise(j, ry.Advise(some, m.asks_here, m.asked_from_here))


class WishForgottenOnReturn(ry.RaymondTreeRecovery):
    """A site that comes back as it was does not put its own wish into its queue."""

    def come_back(self) -> None:
        super().come_back()
        if self.recovering:
            self.q = []


FIFO = {**ALARMS, "channels": "fifo"}
NAIMI = {"slow": ("Telec",), "last": ("Twait",)}


def _all() -> Iterator[Wrong]:
    line = {"topology": "line"}
    free = {"timeouts": 2}
    yield wrong(co.CARD, HolderSaysNothing, "exclusion", "early")
    yield wrong(co.CARD, OldTokenTaken, "error", "early")
    yield wrong(co.CARD, SearcherGoesOn, "error", rounds=(0, 1, 1), network=ALARMS)
    yield wrong(co.CARD, LowerSearchCounts, "error", rounds=(0, 1, 1), network=ALARMS)
    yield wrong(co.CARD, NumbersAreShared, "exclusion", crashes=HOLDER)
    yield wrong(co.CARD, NobodyAsksAgain, "deadlock", "in vain")
    yield wrong(co.CARD, RequestsKept, "error", "early")
    yield wrong(co.CARD, SearcherIsWaitedForForEver, "deadlock", network=TWO)
    yield wrong(co.CARD, QueueLeftBehind, "alarm", network=CALM)
    yield wrong(co.CARD, OldNewsOfTheCoordinator, "alarm", rounds=(2, 2, 1), network=CALM)
    yield wrong(sh.CARD, NobodyIsBelievedToAsk, "service", crashes=HOLDER)
    yield wrong(sh.CARD, OldRequestsCount, "error", "early")
    yield wrong(sh.CARD, OldTokenOfSinghal, "error", "early")
    yield wrong(sh.CARD, OutdatedAreNotTold, "alarm", rounds=(1, 1, 2), network=CALM)
    yield wrong(hp.CARD, SearchNotPassedOn, "exclusion", rounds=(1, 0, 1), network=ALARMS, options=line)
    yield wrong(hp.CARD, FoundNotPassedOn, "exclusion", rounds=(1, 0, 1), network=ALARMS, options=line)
    yield wrong(hp.CARD, OldTokenOfHelary, "error", rounds=(0, 1, 1), network=FIFO)
    yield wrong(hp.CARD, RequestsOfTheDeadKept, "livelock", "in vain")
    yield wrong(sd.CARD, AliveIsNotHeard, "exclusion", "early")
    yield wrong(sd.CARD, AsksOnceWhetherAlive, "deadlock", network={"slow": ("all",), "crashes": 1})
    yield wrong(sd.CARD, PermissionOfTheDeadAwaited, "livelock", "in vain")
    yield wrong(ni.CARD, AckIsNoPromise, "exclusion", "free")
    yield wrong(ni.CARD, HolderAgrees, "exclusion", "free")
    yield wrong(ni.CARD, AllButOneSuffice, "exclusion", "free")
    yield wrong(ni.CARD, ProposersAgreeToEachOther, "exclusion", "free")
    yield wrong(ni.CARD, AgreesTwice, "exclusion", rounds=(0, 1, 1), network=free)
    yield wrong(ni.CARD, LateAnswersCount, "exclusion", rounds=(0, 1, 1), network=free)
    yield wrong(ni.CARD, OldTokenOfNishio, "exclusion", "free")
    yield wrong(ni.CARD, ComesBackAndWaits, "deadlock", "free")
    yield wrong(nt.CARD, OldRequestsOfNaimi, "error", "in vain")
    yield wrong(nt.CARD, HolderDoesNotAnswer, "exclusion", "early")
    yield wrong(nt.CARD, CandidatesDoNotYield, "exclusion", crashes=HOLDER)
    yield wrong(nt.CARD, NextSurvivesAnElection, "error", "in vain")
    yield wrong(nt.CARD, NobodyAsksTheElected, "deadlock", "in vain")
    yield wrong(nt.CARD, ObserversWaitForEver, "deadlock", network={**NAIMI, "crashes": 2})
    yield wrong(nt.CARD, RecordedIsAlwaysSaid, "livelock", "in vain")
    yield wrong(ms.CARD, ActsOnOneAnswer, "exclusion", rounds=(0, 1, 1), network=FIFO)
    yield wrong(ms.CARD, UpdateIsNoPromise, "exclusion", "early")
    yield wrong(ms.CARD, HolderTellsWhatItKnows, "exclusion", "early")
    yield wrong(ms.CARD, DeadAreNotCountedAsServed, "service", crashes=("crash=any@0..0.05",))
    yield wrong(ms.CARD, RegeneratorIsWaitedForForEver, "deadlock", "early")
    yield wrong(ms.CARD, GivesUpAfterAFalseAlarm, "deadlock", "early")
    yield wrong(ae.CARD, AliveIsNotNoticed, "exclusion", "early")
    yield wrong(ae.CARD, OwnersAreNotAskedAfter, "livelock", "in vain")
    yield wrong(ae.CARD, GrantsOfTheDeadKept, "livelock", "in vain")
    yield wrong(ae.CARD, QuorumNotChosenAnew, "livelock", "in vain")
    yield wrong(ae.CARD, NewQuorumNotAsked, "livelock", "in vain")
    yield wrong(
        ae.CARD, OldQuorumNotReleased, "service", crashes=("crash=1@0..0.05", "crash=3@0..0.05"), nodes=7
    )
    yield wrong(ry.CARD, WishesNotAsked, "livelock", "no timers")
    yield wrong(ry.CARD, AskedIsAssumed, "livelock", "no timers")
    yield wrong(ry.CARD, LateMailDropped, "livelock", "no timers")
    yield wrong(ry.CARD, EarlyMailKept, "exclusion", "no timers")
    yield wrong(ry.CARD, TokenIsWhereSomePoint, "exclusion", "no timers")
    yield wrong(ry.CARD, WishForgottenOnReturn, "livelock", "no timers")


WRONG = list(_all())
