"""What a request has gathered is of no use once it is over; deferred and kept requests are answered in any order."""

from __future__ import annotations

from soloist.algorithms.lodha_kshemkalyani import Improved
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare
from soloist.core import IDLE

SETTLED = {
    "sn": lambda p: NEVER if p.phase is IDLE else p.sn,
    "RV": lambda p: set() if p.phase is IDLE else p.RV,
    "LRQ": lambda p: [] if p.phase is IDLE else p.LRQ,
    "deferred": lambda p: sorted(p.deferred),
    "kept": lambda p: sorted(p.kept),
}

declare(Improved, Declaration(settled=SETTLED))
