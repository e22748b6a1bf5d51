"""Which node hosts which site of a lock's algorithm."""

from __future__ import annotations

import zlib
from functools import cache

import msgspec

from soloist.core import Site


class Layout(msgspec.Struct, frozen=True):
    """Which node hosts which site of a lock's algorithm.

    Each node has as many sites as the lock has places, one after another (so in different groups, where an
    algorithm forms groups), from a node chosen by hashing the name: so the first token of each lock starts
    somewhere else. Where a view carries holders over, they sit at the first sites that suit them.
    """

    places: int
    """Of the lock: 1, or the value of the semaphore."""
    hosts: tuple[int, ...]
    """The number of the node, by site."""
    mine: tuple[Site, ...]
    carried: bool = False
    """Whether it belongs to a lock that a view carries over: then it cannot be found by the lock's name."""

    @classmethod
    def of(cls, lock: str, nodes: int, me: int, capacity: int) -> Layout:
        return _layout(nodes, me, zlib.crc32(lock.encode()) % nodes, capacity)

    @classmethod
    def seated(cls, hosts: tuple[int, ...], me: int, capacity: int, carried: bool = True) -> Layout:
        return cls(capacity, hosts, tuple(site for site, host in enumerate(hosts) if host == me), carried)

    @property
    def sites(self) -> int:
        return len(self.hosts)


@cache
def _layout(nodes: int, me: int, offset: int, places: int) -> Layout:
    """There are few, and locks are many."""
    hosts = tuple((site // places + offset) % nodes for site in range(nodes * places))
    return Layout.seated(hosts, me, places, carried=False)
