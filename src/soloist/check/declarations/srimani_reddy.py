"""Numbers without end have no beginning, either; those modulo L have."""

from __future__ import annotations

from soloist.algorithms.srimani_reddy import SrimaniReddy
from soloist.check.declarations import Declaration, declare

declare(SrimaniReddy, Declaration(counts=lambda p: not p.L))
