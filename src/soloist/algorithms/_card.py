"""A card: what an algorithm is, needs and promises, as data.

The command line, the docs, the conformance tests, the simulator's assertions and the advisor all
read the cards, so a promise stands in one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, nan
from typing import Any, Literal

import msgspec

from soloist.core import Process, Site, UsageError, unknown


class Option(msgspec.Struct, frozen=True):
    """A parameter of an algorithm. `build` turns what the user gave, N and K into the value used."""

    name: str
    default: Any
    help: str
    build: Callable[[Any, int, int], Any]


def choice(name: str, values: Sequence[str], help: str) -> Option:
    """An option that is one of several words; the first is the default."""

    def build(value: Any, n: int, k: int) -> str:
        if str(value) not in values:
            raise unknown(name, str(value), values)
        return str(value)

    return Option(name, values[0], f"{'|'.join(values)}: {help}", build)


def number(name: str, default: int, least: int, help: str) -> Option:
    """An option that is a whole number."""

    def build(value: Any, n: int, k: int) -> int:
        try:
            chosen = int(value)
        except ValueError:
            raise UsageError(f"{name} must be a whole number, not {value!r}") from None
        if chosen < least:
            raise UsageError(f"{name} must be at least {least}, not {chosen}")
        return chosen

    return Option(name, default, help, build)


def duration(name: str, default: float, help: str) -> Option:
    """An option that is a time above 0, in the unit of the links' delays."""

    def build(value: Any, n: int, k: int) -> float:
        try:
            chosen = float(value)
        except ValueError:
            chosen = nan
        if not 0 < chosen < inf:
            raise UsageError(f"{name} must be a time above 0, such as {default:g}, not {value!r}")
        return chosen

    return Option(name, default, help, build)


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
    """What it needs of a link: `fifo`, or nothing (`any` order). See `links`."""
    bound: Formula
    """Most messages per entry."""
    light: Formula | None
    """Mean messages per entry when requests are rare and come from all sites alike; None: it has no
    limit, since the algorithm sends messages even when nobody asks."""
    fairness: Literal["timestamp", "causal", "arrival", "no-starvation", "none"]
    """The order of entries: by timestamp, causal, by arrival at the server, only free of starvation, or none: a
    site may wait for ever."""
    tolerates: str = "no failures"
    heavy: Formula | None = None
    """Mean messages per entry when all sites ask all the time, where that is known exactly."""
    everybody_asks: bool = False
    """It serves a site only while all the others ask, too; a site that asks alone may wait for ever."""
    prompt: bool = False
    """Where K > 1: whoever asks is let in as long as fewer than K are inside, however long these stay. With the
    others it may have to wait for one of them, though a place is free."""
    channels_of_one: Literal["any", "fifo"] | None = None
    """The same where K = 1, if that is less."""
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
        values = {name: o.build(options.get(name, o.default), n, k) for name, o in known.items()}
        return Size(n, k, values)

    def links(self, k: int) -> Literal["any", "fifo"]:
        """What it needs of a link with K entries."""
        return self.channels_of_one or self.channels if k == 1 else self.channels

    def start(self, size: Size) -> list[Process]:
        """The processes of a system, as they are before anything has happened."""
        return [self.start_one(size, me) for me in range(size.n)]

    def start_one(self, size: Size, me: Site) -> Process:
        """The process of one site, before anything has happened."""
        given = dict(size.options)
        if self.capacity == "K":
            given["k"] = size.k
        start: Callable[..., Process] = self.process.start  # type: ignore[attr-defined]
        return start(me, size.n, **given)
