"""What the token knew is of no use where it is not."""

from __future__ import annotations

from soloist.algorithms.suzuki_kasami import SuzukiKasami
from soloist.check.declarations import Declaration, declare

SETTLED = {"LN": lambda p: p.LN if p.have_privilege else list(p.RN)}

declare(SuzukiKasami, Declaration(settled=SETTLED))
