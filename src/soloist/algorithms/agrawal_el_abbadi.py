"""Agrawal and El Abbadi 1991: the quorum is a path from the root of a binary tree to a leaf.

A node of the path that is down is replaced by two paths, one from each of its children: log N sites
are asked if all are up, and never more than half of them. The arbitration is that of
`_arbiter`, the simplest of its kind: a site that is asked to give a permission back does so at once,
unless it is inside.

The survey says that it "can be generalized to arbitrary trees": a path in any tree (option topology), and for a node that is down
one path below each of its children, however many there are. Two such sets meet, in whatever tree: in the root, or below a child.

Text                  here
relinquish            Release
request queue         lock, queue: the head, when it has been granted, is kept apart

The survey lets a site cede "if it has not succeeded". That must mean: if it now holds this very
permission. The tags of `_arbiter` see to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from soloist.algorithms._arbiter import Arbiter
from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.core import Site, UsageError
from soloist.structures.quorums import Quorums, quorums, tree
from soloist.structures.trees import Tree
from soloist.structures.trees import tree as tree_shape


class AgrawalElAbbadi(Arbiter):
    @classmethod
    def start(cls, me: Site, n: int, failed: Down, quorums: Quorums, topology: Tree) -> AgrawalElAbbadi:
        S = around(failed, quorums, topology)[me]
        return cls(me=me, n=n, S=S, H=0, sn=0, got=set(), inq=set(), lock=None, queue=[], inquired=False)


class Down(frozenset[Site]):
    """The sites that are down."""

    def __str__(self) -> str:
        return ",".join(map(str, sorted(self)))


def sites_down(value: Any, n: int, k: int) -> Down:
    """From `1,4` or a collection of sites."""
    parts: Iterable[Any] = [part for part in value.split(",") if part] if isinstance(value, str) else value
    try:
        failed = Down(int(part) for part in parts)
    except ValueError:
        raise UsageError(f"failed must be sites like 1,4, not {value!r}") from None
    for site in sorted(failed):
        if not 0 <= site < n:
            raise UsageError(f"failed names site {site}; sites are 0 to {n - 1}")
    return failed


def around(failed: Down, quorums: Quorums, topology: Tree) -> Quorums:
    """The quorums to use: of the tree, those around what is down; given ones as they are."""
    if quorums.name == "tree":
        return tree(len(quorums), failed, topology)
    for i, each in enumerate(quorums.sets):
        if down := failed.intersection(each):
            raise UsageError(f"the quorum of site {i} needs site {min(down)}, which is down")
    return quorums


def others(size: Size) -> list[int]:
    """|S_i - {i}| for each site."""
    return around(size.options["failed"], size.options["quorums"], size.options["topology"]).others


CARD = Card(
    name="agrawal-el-abbadi",
    title="Agrawal-El Abbadi",
    paper="D. Agrawal and A. El Abbadi, An efficient and fault-tolerant solution for distributed mutual exclusion, "
    "ACM TOCS 9(1), 1991",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms; with request tags. The original was not at hand",
    process=AgrawalElAbbadi,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("6(K-1)+3 on average, K sites in a quorum", lambda s: 6 * max(others(s)) + 3),
    light=Formula("3(K-1)", lambda s: 3 * sum(others(s)) / s.n),
    fairness="no-starvation",
    tolerates="sites that are known to be down (option failed), but not the crash of one that holds permissions",
    structure="binary tree, or any other",
    options=(
        Option("failed", "", "sites that are down, like 1,4: nobody asks them", sites_down),
        Option(
            "quorums",
            "tree",
            "tree, or any other: grid, plane, majority, triangle, or sets like 0+1,1+2,2+0",
            quorums,
        ),
        Option(
            "topology",
            "tree",
            "of which tree: tree (balanced binary), line, star, random, or edges like 0-1,0-2",
            tree_shape,
        ),
    ),
)
