"""Wrong algorithms for K entries: each differs from the right one in a single rule."""

from __future__ import annotations

from collections.abc import Iterator

from soloist.algorithms import (
    bulgannawar_vaidya,
    kakugawa,
    makki,
    partitioned,
    raymond_k,
    srimani_reddy,
)
from soloist.algorithms.maekawa import Maekawa
from soloist.core import Site, on
from soloist.structures.quorums import Quorums

from .mutants import Mutant, mutant

# Permission.


class RaymondKOneReplyClears(raymond_k.RaymondK):
    """One late reply stands for all that its sender owes."""

    @on(raymond_k.Reply)
    def on_reply(self, j: Site, m: raymond_k.Reply) -> None:
        self.owe[j] = 0
        self.enter_if_few_owe()


class RaymondKOneTooMany(raymond_k.RaymondK):
    """K others may still owe a reply, which makes K+1."""

    def enter_if_few_owe(self) -> None:
        self.k += 1
        super().enter_if_few_owe()
        self.k -= 1


class RaymondKOneTooFew(raymond_k.RaymondK):
    """All others must have answered, as if K were 1."""

    def enter_if_few_owe(self) -> None:
        self.k, before = 1, self.k
        super().enter_if_few_owe()
        self.k = before


class KakugawaAsksEverybody(kakugawa.Kakugawa):
    """No two homes are disjoint."""

    @classmethod
    def start(cls, me: Site, n: int, k: int, coterie: Quorums) -> Maekawa:  # type: ignore[override]
        process = super().start(me, n, k, coterie)
        process.S = tuple(range(n))
        return process


class KakugawaAsksItselfOnly(kakugawa.Kakugawa):
    """Every home is disjoint from all others."""

    @classmethod
    def start(cls, me: Site, n: int, k: int, coterie: Quorums) -> Maekawa:  # type: ignore[override]
        process = super().start(me, n, k, coterie)
        process.S = (me,)
        return process


# Tokens.


class SrimaniReddyQueueNotBroughtUpToDate(srimani_reddy.SrimaniReddy):
    """Whoever leaves serves those that the token has brought along, not those it has heard of itself."""

    def merge(self, token: srimani_reddy.Tok) -> None:
        before = list(token[0])
        super().merge(token)
        token[0][:] = [j for j in token[0] if j in before]


class SrimaniReddyTokenUsedTwice(srimani_reddy.SrimaniReddy):
    """The token that lets its holder in still counts as idle. (That a served request is noted in LN, and what
    becomes of a second token for one request, is not needed for any promise: a token that comes to somebody
    who does not wait moves on.)"""

    def acquire(self) -> None:
        self.idle = [copy for token in self.idle for copy in (token, (list(token[0]), list(token[1])))]
        super().acquire()


class MakkiOneTooMany(makki.Makki):
    """The semaphore starts one too high."""

    @classmethod
    def start(cls, me: Site, n: int, k: int) -> MakkiOneTooMany:
        process = super().start(me, n, k)
        process.free |= {k + 1} if me == 0 else set()
        return process  # type: ignore[return-value]


class MakkiLeavesTheLateOut(makki.Makki):
    """A new round begins without saying where entries are to be announced that are not free yet."""

    def new_round(self, queue: list[Site]) -> None:
        super().new_round(queue)
        self.late = {}


class MakkiFreesItsOwn(makki.Makki):
    """A RELEASE names the entry that has been left, not the one that becomes free."""

    def release(self) -> None:
        self.turn -= self.k
        super().release()


class BulgannawarVaidyaQueueForgotten(bulgannawar_vaidya.BulgannawarVaidya):
    """Those who asked a waiting site are not put into the token's queue."""

    @on(bulgannawar_vaidya.Token)
    def on_token(self, j: Site, m: bulgannawar_vaidya.Token) -> None:
        self.nq = []
        super().on_token(j, m)


class BulgannawarVaidyaStaysInQueue(bulgannawar_vaidya.BulgannawarVaidya):
    """The token's queue still names the site that it has come to."""

    @on(bulgannawar_vaidya.Token)
    def on_token(self, j: Site, m: bulgannawar_vaidya.Token) -> None:
        super().on_token(j, m)
        self.tq.append(self.me)
        self.tags.append(None)


class PartitionedNotAtAll(partitioned.Partitioned):
    """All sites are one group."""

    @classmethod
    def start(cls, me: Site, n: int, k: int, inner: str) -> partitioned.Partitioned:
        return super().start(me, n, 1, inner)


class PartitionedOnceMore(partitioned.Partitioned):
    """There is one group more than may be inside."""

    @classmethod
    def start(cls, me: Site, n: int, k: int, inner: str) -> partitioned.Partitioned:
        return super().start(me, n, k + 1, inner)


def _all() -> Iterator[Mutant]:
    rk, ka = raymond_k.CARD, kakugawa.CARD
    yield mutant(rk, RaymondKOneReplyClears, "exclusion", 13, nodes=3, rounds=(2, 2, 1), k=2)
    yield mutant(rk, RaymondKOneTooMany, "exclusion", 3, nodes=3, k=2)
    yield mutant(rk, RaymondKOneTooFew, "capacity", 0, nodes=3, k=2)
    yield mutant(ka, KakugawaAsksEverybody, "capacity", 0, nodes=3, k=2)
    yield mutant(ka, KakugawaAsksItselfOnly, "exclusion", 3, nodes=3, k=2)
    sr, mk, bv = srimani_reddy.CARD, makki.CARD, bulgannawar_vaidya.CARD
    yield mutant(sr, SrimaniReddyQueueNotBroughtUpToDate, "deadlock", 7, nodes=3, k=2)
    yield mutant(sr, SrimaniReddyTokenUsedTwice, "exclusion", 5, nodes=3, k=2)
    yield mutant(mk, MakkiOneTooMany, "exclusion", 8, nodes=3, k=2)
    yield mutant(mk, MakkiLeavesTheLateOut, "deadlock", 13, nodes=3, k=2)
    yield mutant(mk, MakkiFreesItsOwn, "deadlock", 13, nodes=3, k=2)
    yield mutant(bv, BulgannawarVaidyaQueueForgotten, "deadlock", 14, nodes=3, k=2)
    yield mutant(bv, BulgannawarVaidyaStaysInQueue, "error", 5, nodes=3, k=2)
    pt = partitioned.CARD
    yield mutant(pt, PartitionedNotAtAll, "capacity", 0, nodes=3, k=2)
    yield mutant(pt, PartitionedOnceMore, "exclusion", 3, nodes=3, k=2)


MUTANTS = list(_all())
