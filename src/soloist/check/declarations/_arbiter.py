"""For all that arbitrate by quorums: what a request has gathered is of no use once it is over."""

from __future__ import annotations

from soloist.algorithms._arbiter import Arbiter, Inquire
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare
from soloist.core import IDLE, Message, Site

SETTLED = {
    "got": lambda p: p.got if p.phase is not IDLE else set(),
    "inq": lambda p: p.inq if p.phase is not IDLE else set(),
    "sn": lambda p: p.sn if p.phase is not IDLE else NEVER,
    "inquired": lambda p: p.inquired and p.lock is not None,
}


def void(p: Arbiter, j: Site, m: Message) -> bool:
    """A question about a request that is over."""
    return isinstance(m, Inquire) and (p.phase is IDLE or m.sn != p.sn)


declare(Arbiter, Declaration(settled=SETTLED, void=void))
