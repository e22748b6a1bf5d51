"""The links between simulated sites, as plain records: how long a message travels, its costs, and the order of links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, repeat, starmap
from random import Random

import msgspec

from soloist.core import UsageError, real, shown, unknown
from soloist.durations import duration

BLOCK = 256
"""Delays per block. One loop that draws many is faster than many calls, and takes the same numbers from the same stream."""


def _in_blocks(block: Callable[[], list[float]]) -> Iterator[float]:
    """What the blocks hold, without end."""
    return chain.from_iterable(iter(block, None))


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """Every message takes the same time."""

    mean: float

    def __post_init__(self) -> None:
        real("latency", self.mean)

    def draws(self, random: Random) -> Iterator[float]:
        return repeat(self.mean)


class Uniform(msgspec.Struct, frozen=True, tag="uniform"):
    """Any time between two limits is as likely as any other."""

    low: float
    high: float

    def __post_init__(self) -> None:
        real("latency", self.low)
        real("latency", self.high)
        if self.low > self.high:
            raise UsageError(f"uniform latency needs low <= high, not {self.low:g} and {self.high:g}")

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    def draws(self, random: Random) -> Iterator[float]:
        draw, low, width = random.random, self.low, self.high - self.low
        return _in_blocks(lambda: [low + width * u for u in starmap(draw, repeat((), BLOCK))])


class Exponential(msgspec.Struct, frozen=True, tag="exponential"):
    """Memoryless: often short, now and then very long."""

    mean: float

    def __post_init__(self) -> None:
        real("latency", self.mean)

    def draws(self, random: Random) -> Iterator[float]:
        draw, log, scale = random.random, math.log, -self.mean
        return _in_blocks(lambda: [scale * log(1.0 - u) for u in starmap(draw, repeat((), BLOCK))])


class Lognormal(msgspec.Struct, frozen=True, tag="lognormal"):
    """The shape of real networks: a body around the mean and a long tail. `sigma` widens both."""

    mean: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        real("latency", self.mean)
        real("sigma of the latency", self.sigma)

    def draws(self, random: Random) -> Iterator[float]:
        if self.mean == 0:
            return repeat(0.0)
        draw, mu, sigma = random.lognormvariate, math.log(self.mean) - self.sigma**2 / 2, self.sigma
        return _in_blocks(lambda: [draw(mu, sigma) for _ in range(BLOCK)])


Delay = Constant | Uniform | Exponential | Lognormal

SHAPES: dict[str, tuple[Callable[..., Delay], int, str]] = {
    "constant": (Constant, 1, "constant:MEAN"),
    "uniform": (Uniform, 2, "uniform:LOW,HIGH"),
    "exponential": (Exponential, 1, "exponential:MEAN"),
    "lognormal": (Lognormal, 2, "lognormal:MEAN,SIGMA"),
}


def delay(text: str | float) -> Delay:
    """A delay from what a user wrote: 0.8, 2ms, uniform:0.5,1.5, exponential:1ms, lognormal:1ms,0.5."""
    shape, colon, rest = str(text).partition(":")
    if not colon:
        return Constant(duration(text, "latency"))
    if shape not in SHAPES:
        raise unknown("latency", shape, [form for _, _, form in SHAPES.values()])
    make, count, form = SHAPES[shape]
    values = [duration(part, "latency") for part in rest.split(",")]
    if len(values) > count or (len(values) < count and shape != "lognormal"):
        raise UsageError(f"latency {text!r} should read {form}")
    return make(*values)


class Network(msgspec.Struct, frozen=True):
    """The links and the sites' network layers (cost model of Bulgannawar and Vaidya, section 4).

    A site spends `send_cost` on each copy that it sends and `receive_cost` on each message that
    it receives, one after the other; in between a message travels for `delay`.
    """

    delay: Delay = Constant(0.001)
    fifo: bool = False
    send_cost: float = 0.0
    receive_cost: float = 0.0

    def __post_init__(self) -> None:
        if not hasattr(self.delay, "draws"):
            raise UsageError(
                f"delay must be a Constant, Uniform, Exponential or Lognormal, not {shown(self.delay)}"
            )
        for name in ("send_cost", "receive_cost"):
            real(name.replace("_", " "), getattr(self, name))
