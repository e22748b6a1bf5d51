"""The simulator with faults: the same sites and books, and a loop of its own, so that runs without faults pay nothing.

`mishaps` decides what goes wrong; this is how a run bears it. A message is lost if its addressee is down or its link is cut when
it leaves or when it arrives, or if the addressee has been down in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from soloist.core import IDLE, Message, Port, Process, PropertyViolated, Send, Site, SoloistError
from soloist.sim.engine import Engine, Post
from soloist.sim.faults import Fault
from soloist.sim.links import Network
from soloist.sim.mishaps import Mishaps
from soloist.sim.observers import Ledger

STILL = 30_000
"""Events without an entry, while somebody waits, after which a run ends as stuck: sites that only talk about a lost token."""

LATE = 10
"""Mean delays that a message takes longer at most which may be overtaken, unless the fault says how long."""

OF_THE_LIVING = ("_request", "_exit", "_timeout", "_arrive", "_receive")
"""The events of a site; all others are faults, or the end of the run."""

DUE = (*OF_THE_LIVING, "restart", "restart_new", "_finish")
"""Events that may still change something: of the faults to come, only a return does."""

Mail = tuple[Site, Message, int]
"""Sender, message and mark."""


class FaultyLedger(Ledger):
    """Books in which a request may be given up: that of a site that crashed and does not come back as it was."""

    def __init__(self, start: int, stop: int, processes: Sequence[Process]) -> None:
        super().__init__(start, stop, processes)
        self.abandoned: set[int] = set()

    def on_exit(self, time: float, site: Site, request: int) -> None:
        super().on_exit(time, site, request)
        self.complete = self.all_served()

    def all_served(self) -> bool:
        """Whether all that count have been served, but those that were given up."""
        return self.served + len(self.abandoned) == self.stop

    def close(self) -> None:
        """Leave out requests that have not entered."""
        self.charge()
        kept = [i for i, turn in enumerate(self.turn) if turn]
        if not kept:
            raise PropertyViolated("service", "none of the requests that count was served")
        for name in ("site", "asked", "entered", "cost", "turn", "priority"):
            column = getattr(self, name)
            setattr(self, name, [column[i] for i in kept])


class FaultyEngine(Engine):
    """One run of one system, with faults."""

    ledger: FaultyLedger

    def __init__(
        self,
        processes: Sequence[Process],
        *arguments: Any,
        faults: Sequence[Fault],
        anew: Callable[[Site], Process],
        seed: int,
        **others: Any,
    ) -> None:
        super().__init__(processes, *arguments, seed=seed, **others)  # type: ignore[misc]
        self.mishaps = Mishaps(self, faults, anew, seed, len(processes))
        self.due = 0
        self.events = self.last_entry = 0

    def _post_for(self, network: Network) -> Post:
        return self._post

    # The loop.

    def run(self) -> None:
        try:
            self._run()
        except SoloistError as error:
            broken = error.property if isinstance(error, PropertyViolated) else "protocol"
            raise PropertyViolated(broken, f"{error}; before it: {self.mishaps.last}") from None

    def _run(self) -> None:
        self._begin()
        self._effects()
        self._first_requests()
        self.mishaps.plan()
        heap, out = self.heap, self.out
        while not self.done and self.due:
            self.now, _, _, site, action, (life, detail) = heappop(heap)
            self.due -= action.__name__ in DUE
            if not self._is_void(site, action, life, detail):
                action(site, detail)
            if out.sends or out.entered or out.timers:
                self._effects()
            self.events += 1
            if self.events - self.last_entry > STILL:
                self._look_at_those_who_wait()
        if not self.done and self._waiting():
            raise self._stuck("and nothing is on its way")
        self.ledger.close()

    def _effects(self) -> None:
        if self.out.entered:
            self.last_entry = self.events
        super()._effects()

    def _at(self, time: float, action: Callable[[Site, Any], None], site: Site, detail: Any = None) -> None:
        self.due += action.__name__ in DUE
        heappush(self.heap, (time, self.tick(), None, site, action, (self.mishaps.lives[site], detail)))

    at = _at

    def _is_void(self, site: Site, action: Callable[..., None], life: int, detail: Any) -> bool:
        """Whether the site cannot take part in this event: it is down, or paused, or this was meant for an earlier life."""
        name, mishaps = action.__name__, self.mishaps
        if name not in OF_THE_LIVING:
            return False
        if name == "_request" and site in mishaps.down:
            mishaps.overdue.add(site)
            return True
        if name != "_request" and life != mishaps.lives[site]:
            if name in ("_arrive", "_receive"):
                mishaps.lose(site, *detail[:2])
            return True
        if mishaps.paused[site] > self.now:
            self._at(mishaps.paused[site], action, site, detail)
            return True
        return False

    def _first_requests(self) -> None:
        for site in range(len(self.processes)):
            if (time := self.schedule.first(site)) is not None:
                self._at(time, self._request, site)

    # What mishaps do to a site.

    def leave_later(self, site: Site) -> None:
        self._at(self.now + self.inside, self._exit, site)

    def ask_now(self, site: Site) -> None:
        self._at(self.now, self._request, site)

    def ask_again(self, site: Site) -> None:
        if (time := self.schedule.again(site, self.now)) is not None:
            self._at(time, self._request, site)

    def abandon(self, site: Site) -> None:
        """Give up the request of a site: nobody is left who made it."""
        ledger, request = self.ledger, self.request_of[site]
        if request < ledger.stop and request not in ledger.abandoned:
            ledger.abandoned.add(request)
            if ledger.all_served():
                self._finish(site)

    def replace(self, site: Site, process: Process) -> None:
        self.processes[site] = process  # type: ignore[index]
        self.ports[site] = Port(process, self.out)

    # Those who wait for ever.

    def _waiting(self) -> list[Site]:
        return [p.me for p in self.processes if p.phase is not IDLE and p.me not in self.mishaps.down]

    def _stuck(self, why: str) -> PropertyViolated:
        names = ", ".join(map(str, self._waiting()))
        return PropertyViolated("service", f"sites {names} still wait at time {self.now:g}, {why}")

    def _starvation(self) -> PropertyViolated:
        return self._stuck(f"after {self.requests - self.ledger.stop} requests that were made later")

    def _look_at_those_who_wait(self) -> None:
        self.last_entry = self.events
        if self._waiting():
            raise self._stuck(f"and nobody entered in {STILL} events")

    # Messages on their way.

    def _post(self, sends: list[Send]) -> None:
        mishaps = self.mishaps
        for sender, to, message, mark in sends:
            for site in to:
                self._post_one(sender, site, message, mark)
                if mishaps.by_chance("duplicate"):
                    mishaps.note("duplicate", sender, site, message)
                    self._post_one(sender, site, message, mark)

    def _post_one(self, sender: Site, site: Site, message: Message, mark: int) -> None:
        mishaps = self.mishaps
        left = self._use_layer(sender, self.network.send_cost)
        time = left + self.draw_delay()
        if mishaps.by_chance("reorder"):
            mishaps.note("reorder", sender, site, message)
            most = mishaps.chance["reorder"].lasting
            time += (LATE * self.network.delay.mean if most is None else most) * mishaps.random.random()
        elif self.network.fifo:
            time = self._in_order(sender, site, time)
        if site in mishaps.down or mishaps.cuts[sender, site] > 0:
            mishaps.lose(site, sender, message)
        elif mishaps.by_chance("loss"):
            mishaps.note("lose", sender, site, message)
        else:
            self._at(time, self._arrive, site, (sender, message, mark))

    def _arrive(self, site: Site, detail: Mail) -> None:
        if self.mishaps.cuts[detail[0], site] > 0:
            self.mishaps.lose(site, *detail[:2])
        elif self.network.receive_cost:
            self._at(self._use_layer(site, self.network.receive_cost), self._receive, site, detail)
        else:
            self._receive(site, detail)

    def _receive(self, site: Site, detail: Mail) -> None:
        sender, message, self.out.mark = detail
        if self.tracer:
            self.tracer.on_deliver(self.now, site, sender, message)
        try:
            self.ports[site].handlers[message.__class__](self.processes[site], sender, message)
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            said = f"{type(error).__name__}: {error}"
            raise PropertyViolated("error", f"{message} from {sender} broke site {site} ({said})") from None

    def _in_flight(self) -> Iterator[tuple[float, int]]:
        for time, _, _, _, action, (_, detail) in self.heap:
            if action.__name__ in ("_arrive", "_receive"):
                yield time, detail[2]
