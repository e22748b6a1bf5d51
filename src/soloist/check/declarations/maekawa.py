"""As `_arbiter`; and who has failed us is of use only while we wait."""

from __future__ import annotations

from soloist.algorithms.maekawa import Failed, Maekawa
from soloist.check.declarations import Declaration, _arbiter, declare
from soloist.core import WAITING, Message, Site

SETTLED = {
    **_arbiter.SETTLED,
    "inq": lambda p: p.inq if p.phase is WAITING else set(),
    "failed": lambda p: p.failed if p.phase is WAITING else set(),
}


def void(p: Maekawa, j: Site, m: Message) -> bool:
    over = isinstance(m, Failed) and (p.phase is not WAITING or m.sn != p.sn)
    return over or _arbiter.void(p, j, m)


declare(Maekawa, Declaration(settled=SETTLED, void=void))
