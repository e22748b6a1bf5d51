"""How an algorithm looks on the stage: where its sites stand, which of its variables point at others, what its token is.

A shape is found by the class of the process, nearest base first, so the printed versions look like the repaired ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from soloist.algorithms import Card, Size
from soloist.core import Process
from soloist.watch.trace import Pointer, Stage, Token

Edges = list[tuple[int, int]]


class Shape(NamedTuple):
    """What is the same in all runs of an algorithm."""

    layout: Literal["circle", "ring", "tree", "star", "groups"] = "circle"
    pointers: Sequence[str] = ()
    token: str | None = None
    """The variable that says whether a site has it."""
    kinds: Sequence[str] = ()
    """The messages that carry it."""
    queue: str | None = None
    edges: Callable[[Sequence[Any], Size], Edges] | None = None
    quorum: str | None = None
    """The variable that has whom a site asks."""
    inside: bool = False
    """Whether the token's variable says nothing of the one with which a site is inside."""
    sets: Sequence[str] = ()
    """Variables that name many sites: an arrow to each."""
    rows: Sequence[str] = ()
    """Variables that name a site for each of the K entries."""
    nested: bool = False
    """Whether the token is that of the algorithm that runs inside."""


MOST_COMPLETE = 12
"""Sites of which all are joined to all; with more nobody could tell the lines apart."""


def ring(processes: Sequence[Process], size: Size) -> Edges:
    n = len(processes)
    return [(i, (i + 1) % n) for i in range(n)] if n > 1 else []


def star(processes: Sequence[Process], size: Size) -> Edges:
    return [(0, i) for i in range(1, len(processes))]


def complete(processes: Sequence[Process], size: Size) -> Edges:
    """Everybody asks everybody."""
    return list(combinations(range(size.n), 2)) if size.n <= MOST_COMPLETE else []


def groups(processes: Sequence[Process], size: Size) -> Edges:
    """In each of the K groups, all are joined to all."""
    return [(i, j) for i, j in combinations(range(size.n), 2) if i % size.k == j % size.k]


def paths(processes: Sequence[Process], size: Size) -> Edges:
    """The tree in which a quorum is a path; other quorums, which can be given, are on no tree."""
    if str(size.options.get("quorums", "tree")) != "tree":
        return []
    shape = size.options.get("topology")  # without one it is the balanced binary tree
    return [(shape.parent[i] if shape else (i - 1) // 2, i) for i in range(1, size.n)]


def along(field: str) -> Callable[[Sequence[Process], Size], Edges]:
    """The edges that a variable of each site names at the beginning: a parent, or neighbours."""

    def edges(processes: Sequence[Process], size: Size) -> Edges:
        found = set()
        for process in processes:
            value: Any = getattr(process, field)
            for other in value if isinstance(value, list | tuple) else [value]:
                if other is not None and other != process.me:
                    found.add((min(other, process.me), max(other, process.me)))
        return sorted(found)

    return edges


SHAPES: dict[str, Shape] = {
    "AgrawalElAbbadi": Shape("tree", ("lock",), queue="queue", edges=paths, quorum="S"),
    "AgrawalElAbbadiRecovery": Shape("tree", ("lock",), queue="queue", edges=paths, quorum="S"),
    "Arbiter": Shape(queue="queue", pointers=("lock",), quorum="S"),
    "BulgannawarVaidya": Shape(rows=("pointer",), token="token", kinds=("Token",), queue="nq"),
    "CarvalhoRoucairol": Shape(sets=("A",), queue="deferred"),
    "CausalOrder": Shape(queue="before", edges=complete, nested=True),
    "Central": Shape("star", queue="queue", edges=star),
    "HelaryPlouzeauRaynal": Shape(token="have_token", kinds=("Token",), edges=along("neighbours")),
    "HelaryPlouzeauRaynalRecovery": Shape(token="have_token", kinds=("Token",), edges=along("neighbours")),
    "Lamport": Shape(queue="q", edges=complete),
    "LodhaKshemkalyani": Shape(queue="LRQ", edges=complete),
    "Makki": Shape(pointers=("master", "heir"), token="token", kinds=("Token",), queue="pend"),
    "MishraSrimaniCoordinator": Shape(
        pointers=("coordinator",), token="have_token", kinds=("Token",), queue="queue"
    ),
    "MizunoNeilsenRao": Shape(
        pointers=("holder",), token="have_token", kinds=("Token",), queue="Q", quorum="R"
    ),
    "NaimiThiare": Shape(token="HT", kinds=("Token",), queue="Q", edges=complete),
    "NaimiTrehel": Shape("tree", ("last", "next"), "token", ("Token",)),
    "NaimiTrehelRecovery": Shape("tree", ("last", "next"), "token", ("Token",)),
    "NeilsenMizuno": Shape(
        "tree", ("last", "next"), "holding", ("Privilege",), edges=along("last"), inside=True
    ),
    "Partitioned": Shape("groups", edges=groups, nested=True),
    "RaymondK": Shape(queue="defer", edges=complete),
    "RaymondTree": Shape("tree", ("holder",), None, ("Privilege",), "q", along("holder")),
    "Raynal": Shape("ring", edges=ring),
    "RaynalInform": Shape("ring", edges=ring),
    "RicartAgrawala": Shape(queue="deferred", edges=complete),
    "RingOrder": Shape("ring", (), "have_token", ("Token",), edges=ring),
    "SinghalHeuristic": Shape(token="have_token", kinds=("Token",), queue="TR", edges=complete),
    "SinghalHeuristicRecovery": Shape(token="have_token", kinds=("Token",), queue="TR", edges=complete),
    "SrimaniReddy": Shape(token="idle", kinds=("Token",), edges=complete, inside=True),
    "SuzukiKasami": Shape(token="have_privilege", kinds=("Privilege",), queue="Q", edges=complete),
    "TokenRing": Shape("ring", kinds=("Token",), edges=ring),
}


def shape(kind: type[Process]) -> Shape:
    """That of the nearest class that has one; a user's own algorithm stands in a circle."""
    return next((SHAPES[each.__name__] for each in kind.__mro__ if each.__name__ in SHAPES), Shape())


def stage(card: Card, size: Size) -> Stage:
    """How this system is drawn."""
    processes: Sequence[Any] = card.start(size)
    look = shape(card.process)
    if look.nested:
        inner = shape(type(processes[0].inner))
        look = look._replace(token=inner.token, kinds=inner.kinds, inside=inner.inside)
    quorums = None
    if look.quorum:
        quorums = [sorted({*getattr(process, look.quorum), process.me}) for process in processes]
    return Stage(
        layout="grid" if quorums and _on_a_grid(size) else look.layout,
        edges=look.edges(processes, size) if look.edges else [],
        quorums=quorums,
        pointers=[
            *(Pointer(name, name) for name in look.pointers),
            *(Pointer(name, name, many=True) for name in look.sets),
            *(Pointer(name, f"{name}[{t}]", index=t) for name in look.rows for t in range(size.k)),
        ],
        token=Token(look.token, list(look.kinds), look.inside) if look.kinds else None,
        queue=look.queue,
    )


def _on_a_grid(size: Size) -> bool:
    """Whether the quorums are rows and columns of a square."""
    named = any(
        str(size.options.get(option)) in ("grid", "maekawa") for option in ("quorums", "coterie", "structure")
    )
    return named and size.n > 3 and round(size.n**0.5) ** 2 == size.n
