"""What each special case on the way of a lock is worth: the same nodes without it.

Everything works without them, only not as fast: a test holds nodes without each of them to the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from soloist.core import unknown
from soloist.net.engine import instance, outgoing, switchboard, turns
from soloist.net.engine.turns import Turns
from soloist.net.link import connection
from soloist.net.member import gate

PARTS = {
    "eager": "what callers say first leaves at once, not at the end of the turn",
    "summons": "whom a message lets in goes on at once, not in the next turn",
    "listening": "who takes a contended lock again looks first whether a peer wants it",
    "seldom": "who takes a lock that no peer has wanted lately does not look each time",
    "shortcut": "nodes of one user on one host talk through Unix sockets",
    "alone": "a lock has one site at each node, so one look says whether it has to ask",
    "single": "a message alone leaves without being sorted by peers",
    "frame": "what arrives as one whole frame is read in one function",
    "gate": "with a lease, who goes in or out does so without a mutex",
}
LEASED = frozenset({"gate"})
"""Parts that only nodes with a lease have."""


def check(parts: Iterable[str]) -> list[str]:
    """These parts, each once; or an error that names the one that is unknown."""
    found = list(dict.fromkeys(parts))
    for part in found:
        if part not in PARTS:
            raise unknown("part", part, PARTS)
    return found


@contextmanager
def without(parts: Iterable[str]) -> Iterator[None]:
    """In this process, for as long as the body runs. (The shortcut is an option of each node.)"""
    with ExitStack() as stack:
        for part in check(parts):
            for where, name, instead in _REPLACED.get(part, ()):
                stack.enter_context(patch.object(where, name, instead))
        yield


_REPLACED: dict[str, list[tuple[Any, str, Any]]] = {
    "eager": [(outgoing, "EAGER", 0), (switchboard, "EAGER", 0)],
    "summons": [(Turns, "rouse_now", Turns.rouse_soon)],
    "listening": [(instance, "CONTENDED", 0)],
    "seldom": [(turns, "LOOK_SECONDS", 0.0)],
    "alone": [(instance, "ALONE", 0)],
    "single": [(outgoing, "SINGLE", -1)],
    "frame": [(connection, "READ_AT_ONCE", False)],
    "gate": [(gate, "_one_at_a_time", lambda: False)],
}
