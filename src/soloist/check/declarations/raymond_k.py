"""The number of a request is of use only while it waits."""

from __future__ import annotations

from soloist.algorithms.raymond_k import RaymondK
from soloist.check.declarations import Declaration, declare
from soloist.core import WAITING

declare(RaymondK, Declaration(settled={"sn": lambda p: p.sn if p.phase is WAITING else p.H}))
