"""What the token knew is of no use where it is not, nor is a request with a number that has been heard of."""

from __future__ import annotations

from soloist.algorithms.singhal_heuristic import Request, SinghalHeuristic
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare
from soloist.core import Message, Site

SETTLED = {
    "TR": lambda p: p.TR if p.have_token else set(),
    "TSN": lambda p: p.TSN if p.have_token else [NEVER] * p.n,
}


def void(p: SinghalHeuristic, j: Site, m: Message) -> bool:
    return isinstance(m, Request) and m.sn <= p.SN[j]


def counts(p: SinghalHeuristic) -> bool:
    """Of three sites, `release` compares the numbers of two others: then they are not each by itself."""
    return p.n == 2


declare(SinghalHeuristic, Declaration(settled=SETTLED, void=void, counts=counts))
