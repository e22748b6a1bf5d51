"""The links between simulated sites, as plain records: how long a message travels, its costs, and the order of links."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import msgspec

from soloist.core import UsageError, unknown
from soloist.durations import duration


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """Every message takes the same time."""

    mean: float

    def sampler(self, random: Random) -> Callable[[], float]:
        return lambda: self.mean


class Uniform(msgspec.Struct, frozen=True, tag="uniform"):
    """Any time between two limits is as likely as any other."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError(f"uniform latency needs low <= high, not {self.low:g} and {self.high:g}")

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    def sampler(self, random: Random) -> Callable[[], float]:
        draw, low, width = random.random, self.low, self.high - self.low
        return lambda: low + width * draw()


class Exponential(msgspec.Struct, frozen=True, tag="exponential"):
    """Memoryless: often short, now and then very long."""

    mean: float

    def sampler(self, random: Random) -> Callable[[], float]:
        draw, log, mean = random.random, math.log, self.mean
        return lambda: -mean * log(1.0 - draw())


class Lognormal(msgspec.Struct, frozen=True, tag="lognormal"):
    """The shape of real networks: a body around the mean and a long tail. `sigma` widens both."""

    mean: float
    sigma: float = 0.5

    def sampler(self, random: Random) -> Callable[[], float]:
        if self.mean == 0:
            return lambda: 0.0
        mu = math.log(self.mean) - self.sigma**2 / 2
        return lambda: random.lognormvariate(mu, self.sigma)


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
        for name in ("send_cost", "receive_cost"):
            if (cost := getattr(self, name)) < 0:
                raise UsageError(f"{name.replace('_', ' ')} must not be negative, but is {cost:g}")
