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
    somewhere else.
    """

    nodes: int
    me: int
    offset: int
    places: int
    sites: int
    hosts: tuple[int, ...]
    """The node of the first sites, of the next ones, and so on: `places` of them each."""

    @classmethod
    def of(cls, lock: str, nodes: int, me: int, capacity: int) -> Layout:
        return _layout(nodes, me, zlib.crc32(lock.encode()) % nodes, capacity)

    def host(self, site: Site) -> int:
        return self.hosts[site // self.places]

    def mine(self) -> list[Site]:
        first = (self.me - self.offset) % self.nodes * self.places
        return list(range(first, first + self.places))


@cache
def _layout(nodes: int, me: int, offset: int, places: int) -> Layout:
    """There are few, and locks are many."""
    hosts = tuple((group + offset) % nodes for group in range(nodes))
    return Layout(nodes, me, offset, places, nodes * places, hosts)
