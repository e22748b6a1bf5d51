"""Numbers that grow without end: clocks, time stamps and request numbers, as types of fields.

A field of such a type says that steps only add to its numbers, copy them and compare them with others of their kind, so
that a run looks the same wherever counting starts. Nothing happens at run time: to Python, mypy and the wire they are
whole numbers. The checker reads the types, in processes and messages, and relies on them once they are proved.

type           one of                            its numbers are
Clock          one clock for all sites           added to
MyClock        the same, in a list by site       added to at this site's own place, elsewhere only copied and compared
Stamp          the same                          only copied and compared
Number         each site's own request numbers   added to
MyNumber       the same, in a list by site       added to at this site's own place, elsewhere only copied and compared
HeardNumber    the same                          only copied and compared

Whether a number is this or that site's is told by where it is: by its place in a list, tuple or dict by site; elsewhere
it belongs to the process that it is in, or to the sender of its message.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class Counter(msgspec.Struct, frozen=True):
    """What is known of a number that grows without end. An algorithm with further kinds makes further types of it."""

    per_site: bool = False
    """Each site's requests are numbered by themselves."""
    counted: Literal["all", "own", "none"] = "all"
    """Which of its numbers are added to, or in any way but by order compared with others: all of them, of a list
    by site only this site's own, or none. What is counted never goes back; the rest is only copied and compared,
    so of numbers that are less than all that are counted just the order matters."""
    kind: str = ""
    """Counters of different kinds are never compared with each other."""


Clock = Annotated[int, Counter()]
MyClock = Annotated[int, Counter(counted="own")]
Stamp = Annotated[int, Counter(counted="none")]
Number = Annotated[int, Counter(per_site=True)]
MyNumber = Annotated[int, Counter(per_site=True, counted="own")]
HeardNumber = Annotated[int, Counter(per_site=True, counted="none")]
