"""What the token knew is of no use where it is not."""

from __future__ import annotations

from soloist.algorithms.helary_plouzeau_raynal import HelaryPlouzeauRaynal
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare

declare(
    HelaryPlouzeauRaynal,
    Declaration(settled={"lud": lambda p: p.lud if p.have_token else [NEVER] * p.n}),
)
