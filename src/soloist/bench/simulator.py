"""How fast the simulator is: beside SimPy doing the same work, and beside a bare heap.

All three are measured in CPU seconds, in turn, several times over, so that a busy machine slows
all of them alike; the best of each is taken: noise only ever slows a loop down.

ours      Ricart-Agrawala with all metrics on, as `soloist simulate` runs it
SimPy     the same state machines and think times; each link is two Stores with a courier that
          takes from the one, lets the delay pass, and puts into the other; no metrics
bare heap pop the earliest of N(N-1) events, one a link, and push it back after a delay drawn, in blocks, like
          the links': no state machine, no metrics, no workload
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from heapq import heapify, heappop, heappush
from random import Random
from time import process_time
from typing import Any

import msgspec

from soloist.algorithms import find
from soloist.bench.bars import Bar
from soloist.core import Message, Port, Send, Site, UsageError
from soloist.sim.experiment import Experiment, run
from soloist.sim.links import Constant, Delay, Exponential, Network
from soloist.sim.workload import Thinking

ALGORITHM = "ricart-agrawala"
RATE = 1.0
INSIDE = LATENCY = 0.001
LEAST_TIMES_SIMPY = 5.0
LEAST_SHARE_OF_HEAP = 0.4


class Measurement(msgspec.Struct, frozen=True):
    """Messages (for the bare heap: pops) per CPU second, and the ratios."""

    nodes: int
    delay: str
    ours: float
    simpy: float
    bare_heap: float
    times_simpy: float
    share_of_heap: float
    shares_of_heap: list[float]
    """Each round by itself."""


def measure(
    nodes: tuple[int, ...] = (10, 50),
    messages: int = 300_000,
    rounds: int = 5,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measurement]:
    """One row for each number of nodes and each kind of delay."""
    try:
        import simpy  # noqa: F401
    except ImportError:
        raise UsageError("this benchmark needs SimPy beside us: pip install 'soloist[bench]'") from None
    cases = [(n, delay) for n in nodes for delay in (Constant(LATENCY), Exponential(LATENCY))]
    rows = []
    for index, (n, delay) in enumerate(cases):
        rates: list[tuple[float, float, float]] = []
        for round in range(rounds):
            rates.append(
                (ours(n, delay, messages), with_simpy(n, delay, messages // 5), bare_heap(n, delay, messages))
            )
            progress(index * rounds + round + 1, len(cases) * rounds)
        rows.append(_row(n, delay, rates))
    return rows


def _row(nodes: int, delay: Delay, rates: list[tuple[float, float, float]]) -> Measurement:
    ours, simpy, heap = [max(column) for column in zip(*rates, strict=True)]
    kind = type(delay).__name__.lower()
    shares = [ours / heap for ours, _, heap in rates]
    return Measurement(nodes, kind, ours, simpy, heap, ours / simpy, ours / heap, shares)


def bars(rows: Sequence[Measurement]) -> list[Bar]:
    """Of the best of all rounds, with what single rounds say."""
    found = []
    for row in rows:
        setting, shares = f"{row.nodes} nodes, {row.delay}", row.shares_of_heap
        around = (min(shares), max(shares))
        found.append(
            Bar("of bare heap", ALGORITHM, setting, row.share_of_heap, LEAST_SHARE_OF_HEAP, False, around)
        )
        found.append(Bar("x SimPy", ALGORITHM, setting, row.times_simpy, LEAST_TIMES_SIMPY, False))
    return found


def _rate(count: Callable[[], int]) -> float:
    """What `count` counts, per CPU second."""
    gc.collect()
    began = process_time()
    counted = count()
    return counted / (process_time() - began)


def ours(n: int, delay: Delay, messages: int) -> float:
    experiment = Experiment(
        ALGORITHM,
        nodes=n,
        workload=Thinking(RATE),
        network=Network(delay),
        inside=INSIDE,
        entries=messages // (2 * (n - 1)),
    )
    return _rate(lambda: run(experiment, seed=1).messages)


def bare_heap(n: int, delay: Delay, pops: int) -> float:
    random = Random(1)
    heap: list[tuple[float, int, Any]] = [(random.random(), i, None) for i in range(n * (n - 1))]
    heapify(heap)
    draw_delay = delay.draws(random).__next__

    def loop() -> int:
        for sequence in range(len(heap), len(heap) + pops):
            now, _, event = heappop(heap)
            heappush(heap, (now + draw_delay(), sequence, event))
        return pops

    return _rate(loop)


def with_simpy(n: int, delay: Delay, messages: int) -> float:
    system = _SimPySystem(n, delay)
    return _rate(lambda: system.run(messages))


class _SimPySystem:
    """The state machines of the catalogue on SimPy's processes and Stores."""

    def __init__(self, n: int, delay: Delay) -> None:
        import simpy

        card = find(ALGORITHM)
        self.env = simpy.Environment()
        self.ports = [Port(process) for process in card.start(card.size(n))]
        self.draw_delay = delay.draws(Random(1)).__next__
        self.think = Random(2).expovariate
        self.let_in = [simpy.Store(self.env) for _ in range(n)]
        self.delivered = 0
        self.departing: dict[tuple[Site, Site], Any] = {}
        for i in range(n):
            self.env.process(self._site(i))
            for j in range(n):
                if i != j:
                    self.departing[i, j], arriving = simpy.Store(self.env), simpy.Store(self.env)
                    self.env.process(self._courier(self.departing[i, j], arriving))
                    self.env.process(self._reader(i, j, arriving))

    def run(self, messages: int) -> int:
        step = 200 / (RATE * len(self.ports))
        while self.delivered < messages:
            self.env.run(until=self.env.now + step)
        return self.delivered

    def _site(self, me: Site) -> Generator[Any, Any, None]:
        while True:
            yield self.env.timeout(self.think(RATE))
            yield from self._post(self.ports[me].acquire())
            if not self.ports[me].inside:
                yield self.let_in[me].get()
            yield self.env.timeout(INSIDE)
            yield from self._post(self.ports[me].release())

    def _courier(self, departing: Any, arriving: Any) -> Generator[Any, Any, None]:
        while True:
            message = yield departing.get()
            yield self.env.timeout(self.draw_delay())
            yield arriving.put(message)

    def _reader(self, sender: Site, me: Site, arriving: Any) -> Generator[Any, Any, None]:
        port = self.ports[me]
        while True:
            message: Message = yield arriving.get()
            self.delivered += 1
            waiting = not port.inside
            yield from self._post(port.deliver(sender, message))
            if waiting and port.inside:
                yield self.let_in[me].put(None)

    def _post(self, sends: list[Send]) -> Iterator[Any]:
        for sender, to, message, _ in sends:
            for site in to:
                yield self.departing[sender, site].put(message)
