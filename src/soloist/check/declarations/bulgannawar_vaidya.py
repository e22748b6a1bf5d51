"""Which token was seen last is of use only where it is asked for."""

from __future__ import annotations

from soloist.algorithms.bulgannawar_vaidya import BulgannawarVaidya
from soloist.check.declarations import Declaration, declare

declare(BulgannawarVaidya, Declaration(settled={"seen": lambda p: p.seen if p.last_seen else 0}))
