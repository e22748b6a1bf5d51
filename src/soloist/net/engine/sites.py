"""A node's own sites of a lock: fresh, or packed while nobody uses them; how they begin, and what they say and hear."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from operator import or_
from typing import Any

import msgspec

from soloist.algorithms import Card, Size
from soloist.core import Message, Process
from soloist.net.engine.layout import Layout


@cache
def begins(card: Card) -> bool:
    """Whether the algorithm has something to say before anybody asks."""
    return card.process.begin is not Process.begin


@cache
def decoder(card: Card) -> Callable[[msgspec.Raw], Message]:
    decode: Callable[[Any], Message] = msgspec.msgpack.Decoder(reduce(or_, card.process.handlers)).decode
    return decode


@cache
def _size(card: Card, sites: int, capacity: int) -> Size:
    return card.size(sites, capacity if card.capacity == "K" else 1)


def fresh(card: Card, layout: Layout) -> list[Process]:
    """Our sites before anybody has said anything."""
    size = _size(card, layout.sites, layout.places)
    return [card.start_one(size, site) for site in layout.mine]


class Asleep(msgspec.Struct, frozen=True, gc=False):
    """Our part of a lock that nobody here uses, packed: about a sixth of what it is awake."""

    capacity: int
    counter: int
    snapshots: bytes
    """Of its sites, one after the other, as msgpack."""
    layout: Layout | None = None
    """Where its name does not tell."""

    def processes(self, card: Card) -> list[Process]:
        snapshots = msgspec.msgpack.decode(self.snapshots, type=list[bytes])
        return [card.process.restore(snapshot) for snapshot in snapshots]
