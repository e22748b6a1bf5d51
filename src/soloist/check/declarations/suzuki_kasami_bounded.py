"""As algorithm A, but its numbers start again: they are no counters."""

from __future__ import annotations

from soloist.algorithms.suzuki_kasami_bounded import SuzukiKasamiBounded
from soloist.check.declarations import Declaration, declare, never, suzuki_kasami

declare(SuzukiKasamiBounded, Declaration(settled=suzuki_kasami.SETTLED, counts=never))
