"""The simulator: a heap of events, a lane of messages, and one loop.

Events are ordered by (time, sequence number), so one seed gives one run, to the byte.

Links with a constant delay and no send or receive cost deliver in the order of sending. Such
messages never enter the heap: all that is sent at one instant arrives at one instant, and waits
in the *lane*, a plain queue. Messages with drawn delays or costs take the heap, one event per copy.

Here links lose nothing and no site fails: `faulty` adds faults, with a loop of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from typing import Any

from soloist.core import IDLE, WAITING, Message, Outbox, Port, Process, PropertyViolated, Send, Site
from soloist.sim.links import Constant, Network
from soloist.sim.observers import Ledger, Observer, Tracer
from soloist.sim.workload import Workload

Handler = Callable[[Any, Site, Any], None]
Post = Callable[[list[Send]], None]

JOURNAL = 1000
"""Messages per batch in which they are charged to their requests: a loop of its own is faster than many calls."""

PATIENCE = 10
"""Times a run's number of requests: a run ends as starved when so many later ones have been made."""


class Engine:
    """One run of one system."""

    def __init__(
        self,
        processes: Sequence[Process],
        network: Network,
        workload: Workload,
        inside: float,
        seed: int,
        ledger: Ledger,
        observers: Sequence[Observer] = (),
        tracer: Tracer | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.processes = processes
        self.network = network
        self.inside = inside
        self.ledger = ledger
        everybody = (ledger, *observers, *((tracer,) if tracer else ()))
        self.on_request = [o.on_request for o in everybody if o.watches("on_request")]
        self.on_enter = [o.on_enter for o in everybody if o.watches("on_enter")]
        self.on_exit = [o.on_exit for o in everybody if o.watches("on_exit")]
        self.observers = observers
        self.tracer = tracer
        self.progress = progress

        # One stream of random numbers per purpose: a change of links leaves the think times alone.
        self.schedule = workload.schedule(len(processes), Random(f"{seed}/think"))
        self.delays = network.delay.draws(Random(f"{seed}/delay"))
        self.draw_delay = self.delays.__next__
        self.out = Outbox(choose=Random(f"{seed}/choice").choice)
        self.ports = [Port(process, self.out) for process in processes]

        self.now = 0.0
        self.ticks = count()
        self.tick = self.ticks.__next__
        """Numbers the events, so that those of one instant keep their order."""
        self.requests = 0
        self.request_of = [-1] * len(processes)
        self.give_up = ledger.stop + PATIENCE * (ledger.stop + len(processes))
        self.done = False
        self.last_waits = 3
        self.heap: list[tuple[Any, ...]] = []
        self.lane: deque[tuple[float, int, list[Send]]] = deque()
        self.layer_free: dict[Site, float] = {}
        self.last_arrival: dict[tuple[Site, Site], float] = {}
        self.timers: dict[tuple[Site, str], int] = {}
        self.post = self._post_for(network)
        if tracer:
            self.post = self._traced_post(self.post, tracer)

    def _post_for(self, network: Network) -> Post:
        """How messages are put on their way. One closure per kind of link: nothing is decided per message."""
        if network.send_cost or network.receive_cost:
            return self._post_with_costs
        if isinstance(network.delay, Constant):
            return self._lane_post()
        return self._heap_post()

    # The loop.

    def run(self) -> None:
        """Run until the ledger's cohort has been served and its last message has arrived."""
        handlers = self._handlers()
        processes, out, heap, lane = self.processes, self.out, self.heap, self.lane
        entered, timers = out.entered, out.timers
        self._begin()
        self._first_requests()
        while not self.done:
            # Deliveries go to the handlers directly: Port.deliver would check again, a million
            # times a second, what holds here by construction.
            if lane and (not heap or lane[0] < heap[0]):
                self.now, _, batch = lane.popleft()
                for sender, to, message, out.mark in batch:
                    handle = handlers[message.__class__]
                    for site in to:
                        handle(processes[site], sender, message)
            elif heap:
                self.now, _, message, site, sender, out.mark = heappop(heap)
                if message is not None:
                    handlers[message.__class__](processes[site], sender, message)
                else:
                    sender(site, out.mark)
            else:
                raise self._deadlock()
            if entered or out.sends or timers:
                self._effects()
        self.ledger.charge()

    def _effects(self) -> None:
        """Do what the processes asked for in this step."""
        out = self.out
        if out.entered:
            self._enter()
        if sends := out.sends:
            out.sends = []
            self.ledger.journal += sends
            self.post(sends)
        if out.timers:
            self._set_timers()

    def _handlers(self) -> dict[type[Message], Handler]:
        handlers = self.processes[0].handlers
        tracer = self.tracer
        if tracer is None:
            return handlers

        def traced(handle: Handler) -> Handler:
            def deliver(process: Process, sender: Site, message: Message) -> None:
                tracer.on_deliver(self.now, process.me, sender, message)
                handle(process, sender, message)

            return deliver

        return {kind: traced(handle) for kind, handle in handlers.items()}

    def _at(self, time: float, action: Callable[[Site, Any], None], site: Site, detail: Any = None) -> None:
        heappush(self.heap, (time, self.tick(), None, site, action, detail))

    # What a site does: begin, ask, enter, leave.

    def _begin(self) -> None:
        if type(self.processes[0]).begin is not Process.begin:
            for port in self.ports:
                if sends := port.begin():
                    self.ledger.journal += sends
                    self.post(sends)

    def _first_requests(self) -> None:
        for site in range(len(self.processes)):
            if (time := self.schedule.first(site)) is not None:
                self.heap.append((time, self.tick(), None, site, self._request, None))
        heapify(self.heap)

    def _request(self, site: Site, _: Any) -> None:
        request = self.request_of[site] = self.out.mark = self.requests
        self.requests += 1
        if request > self.give_up:
            raise self._starvation()
        for tell in self.on_request:
            tell(self.now, site, request)
        self.out.sends = self.ports[site].acquire()

    def _enter(self) -> None:
        now, entered = self.now, self.out.entered
        for site in entered:
            request = self.request_of[site]
            for tell in self.on_enter:
                tell(now, site, request)
            self._at(now + self.inside, self._exit, site)
        entered.clear()

    def _exit(self, site: Site, _: Any) -> None:
        now, out, ledger = self.now, self.out, self.ledger
        request = out.mark = self.request_of[site]
        for tell in self.on_exit:
            tell(now, site, request)
        sends = self.ports[site].release()
        out.sends = self._answers(sends) if sends else sends
        if (time := self.schedule.again(site, now)) is not None:
            self._at(time, self._request, site)
        if self.progress:
            self.progress(max(0, ledger.served - ledger.start))
        if len(ledger.journal) > JOURNAL:
            ledger.charge()
        if ledger.complete:
            self._finish(site)

    def _answers(self, sends: list[Send]) -> list[Send]:
        """Charge what leaves at exit for a single waiting site to the request that it answers."""
        processes, request_of = self.processes, self.request_of
        return [
            (sender, to, message, request_of[to[0]])
            if len(to) == 1 and processes[to[0]].phase is WAITING
            else (sender, to, message, mark)
            for sender, to, message, mark in sends
        ]

    # Messages on their way.

    def _traced_post(self, post: Post, tracer: Tracer) -> Post:
        def traced(sends: list[Send]) -> None:
            tracer.on_send(self.now, sends)
            post(sends)

        return traced

    def _lane_post(self) -> Post:
        lane, tick, delay = self.lane, self.tick, self.network.delay.mean

        def post(sends: list[Send]) -> None:
            lane.append((self.now + delay, tick(), sends))

        return post

    def _heap_post(self) -> Post:
        heap, tick, draw_delay, fifo = self.heap, self.tick, self.draw_delay, self.network.fifo

        def post(sends: list[Send]) -> None:
            now = self.now
            for sender, to, message, mark in sends:
                for site in to:
                    time = now + draw_delay()
                    if fifo:
                        time = self._in_order(sender, site, time)
                    heappush(heap, (time, tick(), message, site, sender, mark))

        return post

    def _in_order(self, sender: Site, site: Site, time: float) -> float:
        """No earlier than what was sent before on the same link."""
        time = max(time, self.last_arrival.get((sender, site), 0.0))
        self.last_arrival[sender, site] = time
        return time

    def _post_with_costs(self, sends: list[Send]) -> None:
        """The copies leave one after another, as the sender's network layer gets to them."""
        for sender, to, message, mark in sends:
            for site in to:
                left = self._use_layer(sender, self.network.send_cost)
                time = left + self.draw_delay()
                if self.network.fifo:
                    time = self._in_order(sender, site, time)
                self._at(time, self._arrive, site, (sender, message, mark))

    def _arrive(self, site: Site, detail: tuple[Site, Message, int]) -> None:
        """The message waits for the receiver's network layer; only then does its handler run."""
        sender, message, mark = detail
        time = self._use_layer(site, self.network.receive_cost)
        heappush(self.heap, (time, self.tick(), message, site, sender, mark))

    def _use_layer(self, site: Site, cost: float) -> float:
        """Occupy the site's one serial layer; the time when it is through."""
        time = max(self.now, self.layer_free.get(site, 0.0)) + cost
        self.layer_free[site] = time
        return time

    # Timers.

    def _set_timers(self) -> None:
        for site, name, delay in self.out.timers:
            self.timers.pop((site, name), None)
            if delay is not None:
                setting = self.timers[site, name] = self.tick()
                self._at(self.now + delay, self._timeout, site, (name, setting))
        self.out.timers.clear()

    def _timeout(self, site: Site, detail: tuple[str, int]) -> None:
        name, setting = detail
        if self.timers.get((site, name)) == setting:  # else it was cancelled or set anew
            del self.timers[site, name]
            self.out.mark = self.request_of[site]
            if self.tracer:
                self.tracer.on_timeout(self.now, site, name)
            self.out.sends = self.ports[site].timeout(name)

    # The end.

    def _finish(self, site: Site, _: Any = None) -> None:
        """Everybody in the cohort is served; wait for what they still have on the way.

        Not for ever: a token that never rests carries the number of some request along with it.
        """
        self.ledger.complete = False  # so that later exits do not come here again
        self.last_waits -= 1
        cohort = range(self.ledger.start, self.ledger.stop)
        last = max((time for time, mark in self._in_flight() if mark in cohort), default=None)
        if last is None or not self.last_waits:
            self.done = True
        else:
            self._at(last, self._finish, site)

    def _in_flight(self) -> Iterator[tuple[float, int]]:
        """Time and request of each message on its way (the step that just ended has none to add)."""
        for time, _, batch in self.lane:
            for send in batch:
                yield time, send[3]
        for time, _, message, _, action, detail in self.heap:
            if message is not None:
                yield time, detail
            elif action == self._arrive:
                yield time, detail[2]

    def _starvation(self) -> PropertyViolated:
        starved = [
            p.me for p in self.processes if p.phase is WAITING and self.request_of[p.me] < self.ledger.stop
        ]
        return PropertyViolated(
            "service",
            f"sites {_names(starved)} still wait at time {self.now:g}, "
            f"after {self.requests - self.ledger.stop} requests that were made later",
        )

    def _deadlock(self) -> PropertyViolated:
        waiting = [p.me for p in self.processes if p.phase is not IDLE]
        if not waiting:
            return PropertyViolated("service", "the workload ended before the entries asked for were made")
        return PropertyViolated(
            "service",
            f"deadlock at time {self.now:g}: nothing is on its way and sites {_names(waiting)} still wait",
        )


def _names(sites: Sequence[Site]) -> str:
    return ", ".join(map(str, sites[:10])) + (", …" if len(sites) > 10 else "")
