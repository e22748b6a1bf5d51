"""Wrong algorithms, those with a token: each differs from the right one in a single rule."""

from __future__ import annotations

from collections.abc import Iterator

from soloist.algorithms import (
    helary_plouzeau_raynal,
    mishra_srimani,
    mizuno_neilsen_rao,
    naimi_thiare,
    neilsen_mizuno,
    nishio,
    ricart_agrawala_token,
    singhal_heuristic,
    suzuki_kasami,
    suzuki_kasami_bounded,
    token_ring,
)
from soloist.check.declarations import Declaration, declare, never
from soloist.core import WAITING, Site, on

from .mutants import Mutant, mutant

# Token ring.


class TokenRingBackAfterExit(token_ring.TokenRing):
    """After an exit the token goes back to the site before."""

    def release(self) -> None:
        self.send((self.me - 1) % self.n, token_ring.Token())


class TokenRingKeptWhenIdle(token_ring.TokenRing):
    """A site that does not want the token keeps it."""

    @on(token_ring.Token)
    def on_token(self, j: Site, m: token_ring.Token) -> None:
        if self.phase is WAITING:
            self.enter()


class TokenRingEverybodyBegins(token_ring.TokenRing):
    """Every site starts with a token."""

    def begin(self) -> None:
        self.pass_on()


class TokenRingNeighboursBegin(token_ring.TokenRing):
    """There are two tokens. Judged by the fence alone: the second to enter has not heard of the first.

    (No mutant breaks the fence and nothing else. Without a chain of messages from an entry to the next one
    the second could as well have come before the first had left.)"""

    def begin(self) -> None:
        if self.me < 2:
            self.pass_on()


# Those that ask everybody.


class RicartAgrawalaTokenLowestFirst(ricart_agrawala_token.RicartAgrawalaToken):
    """The holder looks for the next site from 0, not from itself."""

    def pass_on(self) -> None:
        to = next((j for j in self.others if self.is_waiting(j)), None)
        if to is not None:
            self.have_token = False
            self.send_token(to)


class RicartAgrawalaTokenNotStamped(ricart_agrawala_token.RicartAgrawalaToken):
    """The token is not told that the request has been served."""

    def release(self) -> None:
        self.pass_on()


class NishioKeepsACopy(nishio.Nishio):
    """The token stays where it was as well."""

    def pass_on(self) -> None:
        super().pass_on()
        self.have_token = True


class NishioSameAgeIsOld(nishio.Nishio):
    """A token of the same age is taken for a duplicate."""

    @on(nishio.Token)
    def on_token(self, j: Site, m: nishio.Token) -> None:
        if m.age <= self.age:
            self.drop(m)
        else:
            super().on_token(j, m)


class NaimiThiareNewsFirst(naimi_thiare.NaimiThiare):
    """News is put before what is queued."""

    @on(naimi_thiare.Request)
    def on_request(self, j: Site, m: naimi_thiare.Request) -> None:
        news = [(k, h) for k, h in self.unserved(m.Q) if h > self.R[k]]
        self.Q = news + self.still_queued()
        self.note(m.Q)
        self.R[self.me] = max(self.R)
        self.serve_if_idle()


class NaimiThiareAsksForItselfOnly(naimi_thiare.NaimiThiare):
    """A request does not say which others it knows of."""

    def acquire(self) -> None:
        if not self.HT:
            self.Q = []
        super().acquire()


class SuzukiKasamiBoundedDoesNotWait(suzuki_kasami_bounded.SuzukiKasamiBounded):
    """The end of a round does not wait for REPLYs."""

    def ends_round(self) -> bool:
        return False


class SuzukiKasamiBoundedCountsForTwo(suzuki_kasami_bounded.SuzukiKasamiBounded):
    """Each REPLY is counted twice."""

    @on(suzuki_kasami_bounded.Reply)
    def on_reply(self, j: Site, m: suzuki_kasami_bounded.Reply) -> None:
        self.replies += 1
        super().on_reply(j, m)


class MishraSrimaniServesWhileClosing(mishra_srimani.MishraSrimani):
    """The idle token is given away although the exit still waits for REPLYs."""

    @on(suzuki_kasami.Request)
    def on_request(self, j: Site, m: suzuki_kasami.Request) -> None:
        super().on_request(j, m)
        self.serve_if_idle(j)


declare(
    MishraSrimaniServesWhileClosing, Declaration(counts=never)
)  # here LN is read after the token has left


class SinghalHeuristicFlatStart(singhal_heuristic.SinghalHeuristic):
    """The staircase is left out: at first nobody is thought to be requesting."""

    @classmethod
    def start(cls, me: Site, n: int) -> SinghalHeuristicFlatStart:
        return cls(me=me, n=n, R=set(), SN=[0] * n, have_token=me == 0, TR=set(), TSN=[0] * n)


class SinghalHeuristicDoesNotAskBack(singhal_heuristic.SinghalHeuristic):
    """A waiting site does not tell its own request to one that it has not asked."""

    @on(singhal_heuristic.Request)
    def on_request(self, i: Site, m: singhal_heuristic.Request) -> None:
        if self.phase is WAITING and m.sn > self.SN[i]:
            self.R.add(i)
        super().on_request(i, m)


# Those that pass a request on.


class HelaryPlouzeauRaynalFloodEndsHere(helary_plouzeau_raynal.HelaryPlouzeauRaynal):
    """A request is not passed on to neighbours."""

    @on(helary_plouzeau_raynal.Request)
    def on_request(self, j: Site, m: helary_plouzeau_raynal.Request) -> None:
        self.neighbours, before = [], self.neighbours
        super().on_request(j, m)
        self.neighbours = before


class HelaryPlouzeauRaynalNotStamped(helary_plouzeau_raynal.HelaryPlouzeauRaynal):
    """The token is not told that the request has been served."""

    def release(self) -> None:
        self.transmit()


class MizunoNeilsenRaoNotAnnounced(mizuno_neilsen_rao.MizunoNeilsenRao):
    """ACQUIRED is not sent."""

    @on(mizuno_neilsen_rao.Token)
    def on_token(self, j: Site, m: mizuno_neilsen_rao.Token) -> None:
        self.A, before = [], self.A
        super().on_token(j, m)
        self.A = before


class MizunoNeilsenRaoLinkKeepsQuiet(mizuno_neilsen_rao.MizunoNeilsenRao):
    """A site that is itself the link does not forward its own request."""

    def link(self, j: Site) -> None:
        if j != self.me:
            super().link(j)


class NeilsenMizunoNotReversed(neilsen_mizuno.NeilsenMizuno):
    """A site that passes a request on still points where it did."""

    @on(neilsen_mizuno.Request)
    def on_request(self, x: Site, m: neilsen_mizuno.Request) -> None:
        before = self.last
        super().on_request(x, m)
        if before is not None:
            self.last = before


class NeilsenMizunoTokenToTheNeighbour(neilsen_mizuno.NeilsenMizuno):
    """The idle token goes to the site that passed the request on, not to the one that asks."""

    @on(neilsen_mizuno.Request)
    def on_request(self, x: Site, m: neilsen_mizuno.Request) -> None:
        super().on_request(x, neilsen_mizuno.Request(x) if self.holding else m)


def _all() -> Iterator[Mutant]:
    tr = token_ring.CARD
    yield mutant(tr, TokenRingBackAfterExit, "starvation", 5, nodes=3)
    yield mutant(tr, TokenRingKeptWhenIdle, "deadlock", 2)
    yield mutant(tr, TokenRingEverybodyBegins, "exclusion", 4)
    yield mutant(tr, TokenRingNeighboursBegin, "fence", 4, nodes=3, properties=("fence",))
    rt, ni, th = ricart_agrawala_token.CARD, nishio.CARD, naimi_thiare.CARD
    yield mutant(rt, RicartAgrawalaTokenLowestFirst, "starvation", 15, nodes=3)
    yield mutant(rt, RicartAgrawalaTokenNotStamped, "error", 9)
    yield mutant(ni, NishioKeepsACopy, "exclusion", 4)
    yield mutant(ni, NishioSameAgeIsOld, "deadlock", 4)
    yield mutant(th, NaimiThiareNewsFirst, "causal", 8, nodes=3)
    yield mutant(th, NaimiThiareAsksForItselfOnly, "deadlock", 8, nodes=3)
    sb, ms = suzuki_kasami_bounded.CARD, mishra_srimani.CARD
    yield mutant(sb, SuzukiKasamiBoundedDoesNotWait, "deadlock", 25, nodes=3, rounds=(1, 3, 1))
    yield mutant(sb, SuzukiKasamiBoundedCountsForTwo, "deadlock", 25, nodes=3, rounds=(1, 3, 1))
    yield mutant(ms, MishraSrimaniServesWhileClosing, "error", 17, rounds=2)
    sh = singhal_heuristic.CARD
    yield mutant(sh, SinghalHeuristicFlatStart, "deadlock", 1)
    yield mutant(sh, SinghalHeuristicDoesNotAskBack, "deadlock", 7, nodes=3)
    hp, mn, nm = helary_plouzeau_raynal.CARD, mizuno_neilsen_rao.CARD, neilsen_mizuno.CARD
    yield mutant(hp, HelaryPlouzeauRaynalFloodEndsHere, "deadlock", 2, nodes=3, options={"topology": "line"})
    yield mutant(hp, HelaryPlouzeauRaynalNotStamped, "error", 9)
    yield mutant(mn, MizunoNeilsenRaoNotAnnounced, "deadlock", 6, nodes=3)
    yield mutant(mn, MizunoNeilsenRaoLinkKeepsQuiet, "deadlock", 1, nodes=3)
    yield mutant(nm, NeilsenMizunoNotReversed, "deadlock", 12, nodes=3)
    yield mutant(nm, NeilsenMizunoTokenToTheNeighbour, "error", 4, nodes=3, options={"topology": "line"})


MUTANTS = list(_all())
