"""Shapes of cuts between nodes, whatever cuts them: proxies, or cables of hosts that are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Cuts:
    """For those who can cut a link between two names."""

    names: Sequence[str]

    def cut_one_way(self, a: str, b: str) -> None:
        """What the first says does not get to the second any more; the other way it does."""
        raise NotImplementedError

    def heal(self) -> None:
        """All links are whole again."""
        raise NotImplementedError

    def cut(self, a: str, b: str) -> None:
        """Nothing passes between the two any more, either way; nobody is told, as when a cable is pulled."""
        self.cut_one_way(a, b)
        self.cut_one_way(b, a)

    def split(self, *groups: Iterable[str]) -> None:
        """Cut every link between nodes that are not in one group. Who is in none is alone."""
        side = {name: number for number, group in enumerate(groups) for name in group}
        for a in self.names:
            for b in self.names:
                if a < b and (a not in side or side[a] != side.get(b)):
                    self.cut(a, b)

    def ring(self) -> None:
        """Leave each node only its neighbours: the one before it and the one after it, in the order of names given."""
        size = len(self.names)
        for i, a in enumerate(self.names):
            for j, b in enumerate(self.names):
                if i < j and j - i not in (1, size - 1):
                    self.cut(a, b)

    def bridge(self, *groups: Iterable[str]) -> None:
        """Cut every link between nodes of different groups. Who is in none hears everybody, and is heard."""
        side = {name: number for number, group in enumerate(groups) for name in group}
        for a in side:
            for b in side:
                if a < b and side[a] != side[b]:
                    self.cut(a, b)
