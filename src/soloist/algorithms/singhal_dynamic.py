"""Singhal 1992: whom to ask changes with what has been heard.

It is Carvalho and Roucairol's algorithm from another start: of each pair of sites the one with the lower
number has the permission. So site 0 asks nobody, site 1 asks site 0, and so on like a staircase.

Paper name   here                                meaning
R_i          all others but A                    whom to ask
I_i          deferred                            whom to answer at release
C_i          H                                   clock

The survey gives no start; this is the staircase of the original, as we know it. A request that has to be sent
again keeps its first number, where the text could also mean the clock of that moment. The survey's count of
3(N-1)/2 under heavy load is not what we measure: nearly 2(N-1), for a site that leaves while all
others wait gives every permission away.
"""

from __future__ import annotations

from soloist.algorithms._card import Card, Formula
from soloist.algorithms.carvalho_roucairol import CarvalhoRoucairol
from soloist.core import Site


class SinghalDynamic(CarvalhoRoucairol):
    @classmethod
    def start(cls, me: Site, n: int) -> SinghalDynamic:
        return cls(me=me, n=n, sn=0, H=0, A=set(range(me + 1, n)), deferred=[])


CARD = Card(
    name="singhal-dynamic",
    title="Singhal's dynamic structure",
    paper="M. Singhal, A dynamic information-structure mutual exclusion algorithm for distributed systems, "
    "IEEE TPDS 3(1), 1992",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms. The original was not at hand",
    process=SinghalDynamic,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("2(N-1) (published: 3(N-1)/2)", lambda s: 2 * (s.n - 1)),
    light=Formula("N-1", lambda s: s.n - 1),
    fairness="no-starvation",
    structure="dynamic",
)
