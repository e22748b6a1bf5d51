"""Wrong variants: each differs from the right one in a single rule that the variant has and its algorithm has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from soloist.algorithms import causal_order, kakugawa_widening, lodha_kshemkalyani, majority, raymond_tree
from soloist.algorithms._arbiter import Release
from soloist.core import Message, Site, Stamp, on
from soloist.structures.quorums import Weights

from .mutants import Mutant, mutant


class RaymondPiggybackNotQueued(raymond_tree.RaymondTree):
    """The REQUEST that comes with the token is not heard."""

    @on(raymond_tree.PrivilegeAndRequest)
    def on_privilege_and_request(self, j: Site, m: raymond_tree.PrivilegeAndRequest) -> None:
        self.on_privilege(j, raymond_tree.Privilege())


class MajorityOfSites(majority.Majority):
    """More votes than half of the sites, not of all votes, are taken to be enough."""

    @classmethod
    def start(cls, me: Site, n: int, votes: str, weights: Weights) -> MajorityOfSites:
        process = super().start(me, n, votes, weights)
        process.need = n // 2 + 1
        return process  # type: ignore[return-value]


class LodhaKshemkalyaniKeepsForOthers(lodha_kshemkalyani.Improved):
    """Improvements 1 and 2: what it has to answer for others is kept with the rest, and its own REQUEST is to answer that."""

    def release(self) -> None:
        self.deferred += [R for R, _ in self.inherited if R not in self.deferred]
        self.inherited = []
        super().release()


class KakugawaWideningKeepsTheRest(kakugawa_widening.KakugawaWidening):
    """Those of the quorums that were not needed are never told."""

    def tell(self, sites: Iterable[Site], message: Message) -> None:
        if not isinstance(message, Release) or tuple(sites) == self.S:
            super().tell(sites, message)


class KakugawaWideningStillTold(kakugawa_widening.KakugawaWidening):
    """An arbiter takes a site whose request was withdrawn for one that knows it fails."""

    def withdraw(self, j: Site, m: Release) -> None:
        self.queue.remove((m.sn, j))
        self.decide()


class CausalOrderAsItComes(causal_order.CausalOrder):
    """Whoever has the token enters."""

    def to_go_first(self) -> list[tuple[Stamp, Site]]:
        return []


class CausalOrderServesAgain(causal_order.CausalOrder):
    """A request that has been served is lent the token again."""

    def to_go_first(self) -> list[tuple[Stamp, Site]]:
        return self.before


def _all() -> Iterator[Mutant]:
    ry, mj, ca = raymond_tree.CARD, majority.CARD, causal_order.CARD
    yield mutant(ry, RaymondPiggybackNotQueued, "deadlock", 8, nodes=3, options={"piggyback": "yes"})
    yield mutant(mj, MajorityOfSites, "exclusion", 4, nodes=3, options={"weights": "3,1,1", "votes": "all"})
    lk, both = lodha_kshemkalyani.CARD, {"improvement": "1+2"}
    yield mutant(lk, LodhaKshemkalyaniKeepsForOthers, "deadlock", 18, nodes=3, rounds=(2, 1, 1), options=both)
    kw = kakugawa_widening.CARD
    yield mutant(kw, KakugawaWideningKeepsTheRest, "deadlock", 17, nodes=3)
    yield mutant(kw, KakugawaWideningStillTold, "deadlock", 14, nodes=3, rounds=2)
    yield mutant(ca, CausalOrderAsItComes, "causal", 5, nodes=3)
    yield mutant(ca, CausalOrderServesAgain, "error", 8, nodes=3)


MUTANTS = list(_all())
