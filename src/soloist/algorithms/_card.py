"""A card: what an algorithm is, needs and promises, as data.

The command line, the docs, the conformance tests, the simulator's assertions and the advisor all
read the cards, so a promise stands in one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from soloist.core import Process, UsageError, unknown


class Option(msgspec.Struct, frozen=True):
    """A parameter of an algorithm. `build` turns what the user gave, and N, into the value used."""

    name: str
    default: Any
    help: str
    build: Callable[[Any, int], Any]


class Size(msgspec.Struct, frozen=True):
    """How large a system is: what a message bound may depend on."""

    n: int
    k: int = 1
    options: Mapping[str, Any] = {}


class Formula(msgspec.Struct, frozen=True):
    """Messages per entry, for people (`text`) and for machines (`value`)."""

    text: str
    value: Callable[[Size], float]

    def __call__(self, size: Size) -> float:
        return self.value(size)


class Card(msgspec.Struct, frozen=True):
    """The facts about one algorithm."""

    name: str
    title: str
    paper: str
    section: str
    """Where the rules implemented here are written down."""
    process: type[Process]
    family: Literal["token", "permission"]
    capacity: Literal["1", "K"]
    channels: Literal["any", "fifo"]
    """What it needs of a link: `fifo`, or nothing (`any` order)."""
    bound: Formula
    """Most messages per entry."""
    light: Formula
    """Mean messages per entry when requests are rare and come from all sites alike."""
    fairness: Literal["timestamp", "causal", "arrival", "no-starvation"]
    """The order of entries: by timestamp, causal, by arrival at the server, or only free of starvation."""
    tolerates: str = "no failures"
    structure: str = "complete graph"
    """The logical structure that the algorithm runs on."""
    options: tuple[Option, ...] = ()

    def size(self, n: int, k: int = 1, options: Mapping[str, Any] | None = None) -> Size:
        """Check N, K and the options and complete them; everything else starts from this."""
        options = options or {}
        if n < 1:
            raise UsageError(f"nodes must be at least 1, not {n}")
        if self.capacity == "1" and k != 1:
            raise UsageError(f"{self.name} lets one site in at a time: k must be 1, not {k}")
        if not 1 <= k <= n:
            raise UsageError(f"k must be from 1 to the number of nodes ({n}), not {k}")
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                raise unknown(f"option of {self.name}", name, known)
        values = {name: o.build(options.get(name, o.default), n) for name, o in known.items()}
        return Size(n, k, values)

    def start(self, size: Size) -> list[Process]:
        """The processes of a system, as they are before anything has happened."""
        given = dict(size.options)
        if self.capacity == "K":
            given["k"] = size.k
        start: Callable[..., Process] = self.process.start  # type: ignore[attr-defined]
        return [start(me, size.n, **given) for me in range(size.n)]
