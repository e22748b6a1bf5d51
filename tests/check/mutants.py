"""Wrong algorithms, the first five: each differs from the right one in a single rule, and the checker must notice.

They are what people get wrong: errata of the printed texts (docs/errata.md),
two defects of public example code, and slips of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from soloist.algorithms import Card, lamport, naimi_trehel, raymond_tree, ricart_agrawala, suzuki_kasami
from soloist.core import IDLE, INSIDE, WAITING, Process, Site, on


class Mutant(msgspec.Struct, frozen=True):
    """A wrong algorithm, the smallest system in which it fails, and how."""

    card: Card
    breaks: str
    steps: int
    """Length of the shortest run that shows it, once round the loop if there is one."""
    nodes: int = 2
    rounds: Any = 1
    k: int = 1
    options: dict[str, Any] = {}
    properties: tuple[str, ...] | None = None
    """None: all that the card promises."""

    @property
    def name(self) -> str:
        return self.card.process.__name__


def mutant(card: Card, process: type[Process], breaks: str, steps: int, **where: Any) -> Mutant:
    return Mutant(msgspec.structs.replace(card, process=process), breaks, steps, **where)


# Lamport.


class LamportTieIgnored(lamport.Lamport):
    """Wrong tie-break: equal clocks count as older on both sides."""

    def enter_if_first(self) -> None:
        if self.phase is WAITING:
            mine = self.q[self.me]
            if all(mine <= t for t in self.q.values()) and all(mine <= self.last[j] for j in self.others):
                self.enter()


class LamportClockNotRaised(lamport.Lamport):
    """The clock does not learn from messages."""

    def receive(self, j: Site, t: int) -> None:
        self.C += 1
        self.last[j] = t


class LamportNoAnswerNeeded(lamport.Lamport):
    """Rule 5(ii) forgotten: being first in one's own queue is thought enough."""

    def enter_if_first(self) -> None:
        if self.phase is WAITING and all(self.timestamp() <= (t, j) for j, t in self.q.items()):
            self.enter()


# Ricart and Agrawala.


class RicartAgrawalaHRaisedOnlyWhenDeferring(ricart_agrawala.RicartAgrawala):
    """Lodha and Kshemkalyani 2000, Fig. 1, as printed (docs/errata.md, ricart-agrawala R1)."""

    @on(ricart_agrawala.Request)
    def on_request(self, j: Site, m: ricart_agrawala.Request) -> None:
        if self.phase is not IDLE and (self.sn, self.me) < (m.sn, j):
            self.H = max(self.H, m.sn)
            self.deferred.append(j)
        else:
            self.send(j, ricart_agrawala.Reply())


class RicartAgrawalaInsideIsNotRequesting(ricart_agrawala.RicartAgrawala):
    """ "Requesting" read without being inside (docs/errata.md, ricart-agrawala R2)."""

    @on(ricart_agrawala.Request)
    def on_request(self, j: Site, m: ricart_agrawala.Request) -> None:
        self.H = max(self.H, m.sn)
        if self.phase is WAITING and (self.sn, self.me) < (m.sn, j):
            self.deferred.append(j)
        else:
            self.send(j, ricart_agrawala.Reply())


class RicartAgrawalaOwnHNotRaised(ricart_agrawala.RicartAgrawala):
    """The 1981 original: a site alone uses a number twice (docs/errata.md, ricart-agrawala R3)."""

    def acquire(self) -> None:
        before = self.H
        super().acquire()
        self.H = before


class RicartAgrawalaTieDefersBoth(ricart_agrawala.RicartAgrawala):
    """Wrong tie-break: of two equal numbers each thinks that it goes first."""

    @on(ricart_agrawala.Request)
    def on_request(self, j: Site, m: ricart_agrawala.Request) -> None:
        self.H = max(self.H, m.sn)
        if self.phase is not IDLE and self.sn <= m.sn:
            self.deferred.append(j)
        else:
            self.send(j, ricart_agrawala.Reply())


class RicartAgrawalaNeverDefers(ricart_agrawala.RicartAgrawala):
    """Missing deferral."""

    @on(ricart_agrawala.Request)
    def on_request(self, j: Site, m: ricart_agrawala.Request) -> None:
        self.H = max(self.H, m.sn)
        self.send(j, ricart_agrawala.Reply())


class RicartAgrawalaForgetsTheDeferred(ricart_agrawala.RicartAgrawala):
    """Deferred sites are never answered."""

    def release(self) -> None:
        self.deferred = []


# Suzuki and Kasami.


class SuzukiKasamiLastInFirstOut(suzuki_kasami.SuzukiKasami):
    """The holder serves the end of its queue (as public example code does)."""

    def release(self) -> None:
        self.LN[self.me] = self.RN[self.me]
        self.Q += [j for j in self.others if j not in self.Q and self.is_waiting(j)]
        if self.Q:
            self.pass_privilege(self.Q.pop())


class SuzukiKasamiOldRequestsCount(suzuki_kasami.SuzukiKasami):
    """An idle holder passes the token on any REQUEST, old ones too (docs/errata.md, ricart-agrawala-token S1)."""

    @on(suzuki_kasami.Request)
    def on_request(self, j: Site, m: suzuki_kasami.Request) -> None:
        self.RN[j] = max(self.RN[j], m.n)
        if self.have_privilege and self.phase is IDLE:
            self.pass_privilege(j)


class SuzukiKasamiDropsWhileInside(suzuki_kasami.SuzukiKasami):
    """A REQUEST that comes while the holder is inside is dropped (see docs/errata.md, suzuki-kasami A1)."""

    @on(suzuki_kasami.Request)
    def on_request(self, j: Site, m: suzuki_kasami.Request) -> None:
        if not (self.have_privilege and self.phase is INSIDE):
            super().on_request(j, m)


# Naimi and Trehel.


class NaimiTrehelNextOverwritten(naimi_trehel.NaimiTrehel):
    """Everybody who passes a REQUEST on also notes it as next."""

    @on(naimi_trehel.Request)
    def on_request(self, j: Site, m: naimi_trehel.Request) -> None:
        if self.last != self.me:
            self.send(self.last, m)
            self.next = m.i
        elif self.token and self.phase is IDLE:
            self.pass_token(m.i)
        else:
            self.next = m.i
        self.last = m.i


class NaimiTrehelPathNotReversed(naimi_trehel.NaimiTrehel):
    """A site that passes a REQUEST on still points where it did."""

    @on(naimi_trehel.Request)
    def on_request(self, j: Site, m: naimi_trehel.Request) -> None:
        before = self.last
        super().on_request(j, m)
        if before != self.me:
            self.last = before


class NaimiTrehelWaitingRootForwards(naimi_trehel.NaimiTrehel):
    """The survey's slip: a root that waits sends the REQUEST to itself (docs/errata.md, naimi-trehel S1)."""

    @on(naimi_trehel.Request)
    def on_request(self, j: Site, m: naimi_trehel.Request) -> None:
        if self.last == self.me and not self.token:
            self.send(self.me, m)
        else:
            super().on_request(j, m)


# Raymond.


class RaymondLastInFirstOut(raymond_tree.RaymondTree):
    """The holder serves the end of its queue."""

    def assign_privilege(self) -> None:
        self.q.reverse()
        super().assign_privilege()
        self.q.reverse()


class RaymondAskedForgotten(raymond_tree.RaymondTree):
    """ASKED is never set: the same wish is sent again and again, and there is no end to the states."""

    def make_request(self) -> None:
        super().make_request()
        self.asked = False


class RaymondAskedKept(raymond_tree.RaymondTree):
    """ASKED is not cleared when the token leaves, so the wish to have it back is never sent."""

    def assign_privilege(self) -> None:
        asked = self.asked
        super().assign_privilege()
        self.asked = asked


def _all() -> Iterator[Mutant]:
    la, ra, sk = lamport.CARD, ricart_agrawala.CARD, suzuki_kasami.CARD
    nt, ry = naimi_trehel.CARD, raymond_tree.CARD
    yield mutant(la, LamportTieIgnored, "exclusion", 4)
    yield mutant(la, LamportClockNotRaised, "deadlock", 3)
    yield mutant(la, LamportNoAnswerNeeded, "exclusion", 2)
    yield mutant(ra, RicartAgrawalaHRaisedOnlyWhenDeferring, "exclusion", 6)
    yield mutant(ra, RicartAgrawalaInsideIsNotRequesting, "exclusion", 6)
    yield mutant(ra, RicartAgrawalaOwnHNotRaised, "timestamp", 7, rounds=2)
    yield mutant(ra, RicartAgrawalaTieDefersBoth, "deadlock", 4)
    yield mutant(ra, RicartAgrawalaNeverDefers, "exclusion", 6)
    yield mutant(ra, RicartAgrawalaForgetsTheDeferred, "deadlock", 6)
    yield mutant(sk, SuzukiKasamiLastInFirstOut, "starvation", 17, nodes=3)
    yield mutant(sk, SuzukiKasamiOldRequestsCount, "error", 10, nodes=3)
    yield mutant(sk, SuzukiKasamiDropsWhileInside, "deadlock", 4)
    yield mutant(nt, NaimiTrehelNextOverwritten, "deadlock", 9, nodes=3)
    yield mutant(nt, NaimiTrehelPathNotReversed, "starvation", 14, nodes=3)
    yield mutant(nt, NaimiTrehelWaitingRootForwards, "starvation", 14, nodes=3)
    yield mutant(ry, RaymondLastInFirstOut, "starvation", 7, nodes=3)
    yield mutant(ry, RaymondAskedKept, "deadlock", 11, nodes=3)


MUTANTS = list(_all())
