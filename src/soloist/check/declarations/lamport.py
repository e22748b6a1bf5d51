"""Of an old time stamp no more is read than whether it is newer than this site's request."""

from __future__ import annotations

from soloist.algorithms.lamport import Ack, Lamport, Release, Request
from soloist.check.declarations import Declaration, declare
from soloist.core import IDLE, WAITING, Message, Site


def told(p: Lamport, j: Site, t: int) -> int:
    """All that later steps can tell from a stamp t of site j, once it cannot move the clock: whether it is
    newer than the request of this site. A later request will be newer than both."""
    if p.phase is not WAITING:
        return p.C - 1
    mine = p.timestamp()
    return mine[0] + (j < p.me) if mine < (t, j) else mine[0] - 1


def told_by(p: Lamport, j: Site, m: Request | Ack | Release) -> int:
    compared = bool(p.sent) and isinstance(m, Request)
    return m.t if m.t >= p.C or compared else told(p, j, m.t)


def early(p: Lamport, j: Site, m: Message, quiet: bool) -> bool:
    """Rule 5 asks for one thing or another from each site. Of what j has sent this site does not go past
    `m` without receiving it (or `m` is of no use to it), and nobody will be shown a clock that `m` moves."""
    if not isinstance(m, Ack | Release):
        return False
    passed = m.t < p.C
    if p.phase is not WAITING:
        return passed or (quiet and p.phase is IDLE)
    mine = p.timestamp()
    heard = mine < (p.last[j], j)
    if passed and ((m.t, j) < mine or (heard and isinstance(m, Ack))):
        return True
    first = j not in p.q or mine < (p.q[j], j)
    return quiet and not (heard and first)


SETTLED = {
    "last": lambda p: [told(p, j, t) for j, t in enumerate(p.last)],
    "q": lambda p: {j: t if j == p.me else told(p, j, t) for j, t in p.q.items()},
}

declare(Lamport, Declaration(settled=SETTLED, settled_mail={"t": told_by}, early=early))
