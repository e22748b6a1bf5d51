"""A user's situation: what a cluster looks like and how its locks are used, as told, or as read from its traces."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

import msgspec

from soloist.core import UsageError
from soloist.sim import Thinking
from soloist.sim.asked import LIMITS

Fair = Literal["none", "causal", "strict"]


class Situation(msgspec.Struct, frozen=True):
    """Times in seconds. `rate` is requests per node and second while it neither waits nor holds; None: it asks again
    at once. `jitter` is the standard deviation of `latency`."""

    nodes: int
    k: int = 1
    rate: float | None = 1.0
    latency: float = 0.001
    jitter: float = 0.0
    inside: float = 0.001
    overhead: float = 25e-6
    """What a node spends on each message it sends, and on each it receives: about what our nodes need."""
    fair: Fair = "none"
    max_bytes: float | None = None
    """How large messages may be, on average."""

    def __post_init__(self) -> None:
        for name in ("latency", "jitter", "inside", "overhead"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} must not be negative, but is {getattr(self, name):g}")
        if not 1 <= self.nodes <= LIMITS["nodes"][1]:
            raise UsageError(f"nodes must be from 1 to {LIMITS['nodes'][1]:g}, not {self.nodes:g}")
        if self.rate is not None:
            Thinking(self.rate)  # says what is wrong with it
        if self.fair not in ("none", "causal", "strict"):
            raise UsageError(f"fair must be strict, causal or none, not {self.fair!r}")
        if self.max_bytes is not None and not self.max_bytes > 0:
            raise UsageError(f"max_bytes must be above 0, not {self.max_bytes:g}")

    def parameters(self) -> dict[str, Any]:
        """As a plan has them."""
        load = {"saturate": True} if self.rate is None else {"rate": self.rate}
        return {
            "nodes": self.nodes,
            "k": self.k,
            **load,
            "latency": self._delay(),
            "inside": self.inside,
            "send_cost": self.overhead,
            "receive_cost": self.overhead,
        }

    def _delay(self) -> str:
        """Lognormal, as networks are, with the mean and the deviation that were given."""
        if not self.jitter or not self.latency:
            return f"{self.latency!r}"
        sigma = math.sqrt(math.log1p((self.jitter / self.latency) ** 2))
        return f"lognormal:{self.latency!r},{sigma!r}"


class Recorded(msgspec.Struct):
    """One step of a recorded trace, as far as it matters here."""

    kind: str
    site: int
    time: float
    lock: str = ""
    peer: int | None = None
    message: dict[str, Any] = {}


def read_traces(paths: Sequence[Path], lock: str | None = None) -> Situation:
    """The situation of a live cluster, from the traces of its nodes (`soloist node --trace`), or of a simulation.

    The trace of one node will do, if the others behave alike; latency needs the traces of two.
    """
    steps = sorted((step for path in paths for step in _read(path)), key=lambda step: step.time)
    locks = {step.lock for step in steps}
    if lock is not None:
        wanted = {name for name in locks if name in (lock, f"lock:{lock}")}
        if not wanted:
            raise UsageError(f"the traces have no lock {lock!r}; they have {_names(locks)}")
        locks = wanted
    if len(locks) != 1:
        raise UsageError(f"the traces have several locks, choose one: {_names(locks)}")
    return _situation([step for step in steps if step.lock in locks])


def _names(locks: Iterable[str]) -> str:
    return ", ".join(sorted(name.removeprefix("lock:") for name in locks))


def _read(path: Path) -> list[Recorded]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    decode = msgspec.json.Decoder(Recorded).decode
    steps = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(b'{"soloist"'):
            continue  # the head, or about a lock: no step
        try:
            steps.append(decode(line))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break  # cut off in the middle: the node was still writing
            raise UsageError(f"{path}:{number}: not a step of a trace: {error}") from None
    if not steps:
        raise UsageError(
            f"{path} has no step of a trace; it has one on each line, as `soloist node --trace` writes it"
        )
    return steps


def _situation(steps: Sequence[Recorded]) -> Situation:
    acting = {step.site for step in steps}
    sites = acting | {step.peer for step in steps if step.peer is not None}
    span = steps[-1].time - steps[0].time
    busy, requests, stays, flights = 0.0, 0, list[float](), list[float]()
    asked: dict[int, float] = {}
    entered: dict[int, float] = {}
    sent: defaultdict[tuple[int, int | None, str], deque[float]] = defaultdict(deque)
    for step in steps:
        kind = str(step.message.get("kind", ""))
        match step.kind:
            case "request":
                asked[step.site] = step.time
                requests += 1
            case "enter":
                entered[step.site] = step.time
            case "exit" if step.site in entered:
                stays.append(step.time - entered.pop(step.site))
                busy += step.time - asked.pop(step.site, step.time)
            case "send":
                sent[step.site, step.peer, kind].append(step.time)
            case "deliver" if step.peer is not None and (queue := sent[step.peer, step.site, kind]):
                flights.append(step.time - queue.popleft())
    if not stays:
        raise UsageError("the traces hold no entry that has ended: record for longer")
    # Clocks of two hosts may differ; what one way seems to gain, the other loses.
    latency = max(fmean(flights), 0.0) if flights else Situation(1).latency
    idle = len(acting) * span - busy
    return Situation(
        nodes=max(len(sites), 1),
        rate=requests / idle if idle > 0.02 * len(acting) * span else None,
        latency=latency,
        jitter=pstdev(flights) if len(flights) > 1 else 0.0,
        inside=fmean(stays),
    )
