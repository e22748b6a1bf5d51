"""Entries are counted where the token is; a turn is of use until its site leaves; a late REQUEST does nothing."""

from __future__ import annotations

from soloist.algorithms.makki import Makki, Request
from soloist.check.counters import NEVER
from soloist.check.declarations import Declaration, declare
from soloist.core import INSIDE, Message, Site

SETTLED = {
    "c": lambda p: p.c if p.token else NEVER,
    "turn": lambda p: p.turn if p.phase is INSIDE else NEVER,
    "heir": lambda p: p.heir if p.phase is INSIDE else p.me,
}


def void(p: Makki, j: Site, m: Message) -> bool:
    return isinstance(m, Request) and m.r < p.r


declare(Makki, Declaration(settled=SETTLED, void=void))
