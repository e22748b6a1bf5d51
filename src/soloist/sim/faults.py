"""Faults as plain records, and the one grammar in which users write them.

    crash=2@10                 site 2 stops at time 10; mail for it is lost as long as it is down
    crash=2@10+5               and comes back 5 later as it was
    crash-new=2@10+5           and comes back 5 later as it began
    restart=2@20               it comes back as it was
    restart-new=2@20           it comes back as it began
    pause=1@5+3                site 1 does nothing for 3, and then all that was due meanwhile
    partition=0,1|2@10+5       nothing gets from one side to another for 5 (without +5: to the end)
    partition=0>1@10+5         nothing gets from 0 to 1; from 1 to 0 it does
    loss=0.01                  each message is lost with this probability
    duplicate=0.01             or arrives twice
    reorder=0.01+3             or takes up to 3 longer, and may be overtaken (without +3: ten mean delays)
    crash-rate=0.01+5          each site crashes 0.01 times per time unit on average, and comes back 5 later
    crash-new-rate=0.01+5      and comes back as it began
    pause-rate=0.01+5          each site pauses 0.01 times per time unit on average

`any` instead of a site is one that the seed draws, and `10..20` instead of a time a moment in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from soloist.core import Site, UsageError, unknown
from soloist.durations import duration

FORMS = {
    "crash": "crash=SITE@TIME or crash=SITE@TIME+LASTING, such as crash=2@10+5",
    "crash-new": "crash-new=SITE@TIME+LASTING, such as crash-new=2@10+5",
    "restart": "restart=SITE@TIME, such as restart=2@20",
    "restart-new": "restart-new=SITE@TIME, such as restart-new=2@20",
    "pause": "pause=SITE@TIME+LASTING, such as pause=1@5+3",
    "partition": "partition=SITES|SITES@TIME+LASTING or partition=SITES>SITES@TIME, such as partition=0,1|2@10+5",
    "loss": "loss=SHARE, such as loss=0.01",
    "duplicate": "duplicate=SHARE, such as duplicate=0.01",
    "reorder": "reorder=SHARE or reorder=SHARE+TIME, such as reorder=0.01+3",
    "crash-rate": "crash-rate=RATE or crash-rate=RATE+LASTING, such as crash-rate=0.01+5",
    "crash-new-rate": "crash-new-rate=RATE+LASTING, such as crash-new-rate=0.01+5",
    "pause-rate": "pause-rate=RATE+LASTING, such as pause-rate=0.01+5",
}
"""What each kind of fault looks like."""

AT_SITES = ("crash", "crash-new", "restart", "restart-new", "pause")
CHANCES = ("loss", "duplicate", "reorder")
MUST_LAST = ("crash-new", "pause", "crash-new-rate", "pause-rate")
MAY_LAST = (*MUST_LAST, "crash", "partition", "reorder", "crash-rate")


class Fault(msgspec.Struct, frozen=True):
    """One fault, as written. Which fields count depends on its kind."""

    kind: str
    site: Site | None = None
    """None: any."""
    earliest: float = 0.0
    latest: float = 0.0
    lasting: float | None = None
    amount: float = 0.0
    """A share of the messages, or a rate per site and time unit."""
    sides: tuple[tuple[Site, ...], ...] = ()
    one_way: bool = False
    text: str = ""

    def check(self, nodes: int) -> None:
        """That it names sites that exist."""
        for site in (self.site, *(site for side in self.sides for site in side)):
            if site is not None and not 0 <= site < nodes:
                raise UsageError(f"fault {self.text!r} names site {site}; sites are 0 to {nodes - 1}")


def faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """All faults of a run; each kind of chance at most once."""
    found = tuple(fault(text) for text in texts)
    for kind in CHANCES:
        if sum(each.kind == kind for each in found) > 1:
            raise UsageError(f"fault {kind} is given twice; give its share once")
    return found


def fault(text: str) -> Fault:
    """One fault from what a user wrote."""
    kind, equals, rest = text.partition("=")
    if kind not in FORMS:
        raise unknown("fault", kind, FORMS)
    try:
        if not equals:
            raise ValueError
        rest, plus, after = rest.rpartition("+") if "+" in rest else (rest, "", "")
        if (plus and kind not in MAY_LAST) or (not plus and kind in MUST_LAST):
            raise ValueError
        lasting = duration(after) if plus else None
        if kind in AT_SITES:
            return _at_site(kind, rest, lasting, text)
        if kind == "partition":
            return _partition(rest, lasting, text)
        return _drawn(kind, rest, lasting, text)
    except ValueError:  # a `UsageError` is one, too
        raise UsageError(f"fault {text!r} should read {FORMS[kind]}") from None


def _at_site(kind: str, rest: str, lasting: float | None, text: str) -> Fault:
    site, _, when = rest.partition("@")
    earliest, latest = _moment(when)
    return Fault(kind, None if site == "any" else _site(site), earliest, latest, lasting, text=text)


def _partition(rest: str, lasting: float | None, text: str) -> Fault:
    cut, _, when = rest.partition("@")
    earliest, latest = _moment(when)
    one_way = ">" in cut
    sides = tuple(tuple(map(_site, side.split(","))) for side in cut.split(">" if one_way else "|"))
    named = [site for side in sides for site in side]
    if len(sides) < 2 or (one_way and len(sides) > 2) or len(set(named)) < len(named):
        raise ValueError
    return Fault("partition", None, earliest, latest, lasting, sides=sides, one_way=one_way, text=text)


def _drawn(kind: str, rest: str, lasting: float | None, text: str) -> Fault:
    amount = float(rest)
    if not 0 <= amount <= (1 if kind in CHANCES else math.inf) or amount == math.inf:
        raise ValueError
    return Fault(kind, None, lasting=lasting, amount=amount, text=text)


def _moment(text: str) -> tuple[float, float]:
    earliest, dots, latest = text.partition("..")
    first = duration(earliest)
    last = duration(latest) if dots else first
    if last < first:
        raise ValueError
    return first, last


def _site(text: str) -> Site:
    if not text.isdecimal():
        raise ValueError
    return int(text)
