"""What the token knew is of no use where it is not."""

from __future__ import annotations

from soloist.algorithms.naimi_thiare import NaimiThiare
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare

declare(NaimiThiare, Declaration(settled={"T": lambda p: p.T if p.HT else [NEVER] * p.n}))
