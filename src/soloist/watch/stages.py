"""How an algorithm looks on the stage: where its sites stand, which of its variables point at others, what its token is.

A shape is found by the class of the process, nearest base first, so the printed versions look like the repaired ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from soloist.algorithms import Card, Size
from soloist.core import Process
from soloist.watch.trace import Pointer, Stage, Token

Edges = list[tuple[int, int]]


class Shape(NamedTuple):
    """What is the same in all runs of an algorithm."""

    layout: Literal["circle", "ring", "tree", "star", "grid"] = "circle"
    pointers: Sequence[str] = ()
    token: str | None = None
    """The variable that says whether a site has it."""
    kinds: Sequence[str] = ()
    """The messages that carry it."""
    queue: str | None = None
    edges: Callable[[Sequence[Process]], Edges] | None = None
    quorum: str | None = None
    """The variable that has whom a site asks."""
    inside: bool = False
    """Whether the token's variable says nothing of the one with which a site is inside."""
    sets: Sequence[str] = ()
    """Variables that name many sites: an arrow to each."""
    nested: bool = False
    """Whether the token is that of the algorithm that runs inside."""


def ring(processes: Sequence[Process]) -> Edges:
    n = len(processes)
    return [(i, (i + 1) % n) for i in range(n)] if n > 1 else []


def star(processes: Sequence[Process]) -> Edges:
    return [(0, i) for i in range(1, len(processes))]


def groups(processes: Sequence[Any]) -> Edges:
    """Each site and the next one of its group."""
    k = processes[0].k
    return [(i, i + k) for i in range(len(processes) - k)]


def along(field: str) -> Callable[[Sequence[Process]], Edges]:
    """The edges that a variable of each site names at the beginning: a parent, or neighbours."""

    def edges(processes: Sequence[Process]) -> Edges:
        found = set()
        for process in processes:
            value: Any = getattr(process, field)
            for other in value if isinstance(value, list | tuple) else [value]:
                if other is not None and other != process.me:
                    found.add((min(other, process.me), max(other, process.me)))
        return sorted(found)

    return edges


SHAPES: dict[str, Shape] = {
    "Arbiter": Shape(queue="queue", pointers=("lock",), quorum="S"),
    "Sanders": Shape(queue="queue", pointers=("lock",), quorum="I"),
    "BulgannawarVaidya": Shape(pointers=("pointer",), token="token", kinds=("Token",), queue="nq"),
    "CarvalhoRoucairol": Shape(sets=("A",), queue="deferred"),
    "CausalOrder": Shape(queue="before", nested=True),
    "Central": Shape("star", queue="queue", edges=star),
    "HelaryPlouzeauRaynal": Shape(token="have_token", kinds=("Token",), edges=along("neighbours")),
    "Lamport": Shape(queue="q"),
    "LodhaKshemkalyani": Shape(queue="LRQ"),
    "Makki": Shape(pointers=("master", "heir"), token="token", kinds=("Token",), queue="pend"),
    "MizunoNeilsenRao": Shape(
        pointers=("holder",), token="have_token", kinds=("Token",), queue="Q", quorum="R"
    ),
    "NaimiThiare": Shape(token="HT", kinds=("Token",), queue="Q"),
    "NaimiTrehel": Shape("tree", ("last", "next"), "token", ("Token",)),
    "NaimiTrehelRecovery": Shape("tree", ("last", "next"), "token", ("Token",)),
    "NeilsenMizuno": Shape(
        "tree", ("last", "next"), "holding", ("Privilege",), edges=along("last"), inside=True
    ),
    "Partitioned": Shape(edges=groups),
    "RaymondK": Shape(queue="defer"),
    "RaymondTree": Shape("tree", ("holder",), None, ("Privilege",), "q", along("holder")),
    "Raynal": Shape("ring", edges=ring),
    "RaynalInform": Shape("ring", edges=ring),
    "RicartAgrawala": Shape(queue="deferred"),
    "RingOrder": Shape("ring", (), "have_token", ("Token",), edges=ring),
    "SinghalHeuristic": Shape(token="have_token", kinds=("Token",), queue="TR"),
    "SrimaniReddy": Shape(token="idle", kinds=("Token",), inside=True),
    "SuzukiKasami": Shape(token="have_privilege", kinds=("Privilege",), queue="Q"),
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
        layout="grid" if quorums and _is_square(size.n) else look.layout,
        edges=look.edges(processes) if look.edges else [],
        quorums=quorums,
        pointers=[
            *(Pointer(name, name) for name in look.pointers),
            *(Pointer(name, name, many=True) for name in look.sets),
        ],
        token=Token(look.token, list(look.kinds), look.inside) if look.kinds else None,
        queue=look.queue,
    )


def _is_square(n: int) -> bool:
    return n > 3 and round(n**0.5) ** 2 == n
