"""The number of a request is of use until it is over; those that are deferred get their REPLYs in any order."""

from __future__ import annotations

from soloist.algorithms.ricart_agrawala import RicartAgrawala
from soloist.check.declarations import Declaration, declare
from soloist.core import IDLE

SETTLED = {
    "sn": lambda p: p.H if p.phase is IDLE else p.sn,
    "deferred": lambda p: sorted(p.deferred),
}

declare(RicartAgrawala, Declaration(settled=SETTLED))
