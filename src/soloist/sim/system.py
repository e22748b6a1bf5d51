"""A system that somebody steps: its sites, what is on its way, and what each step did.

No clock and no order of events: its driver says what happens next. Scripts are drivers, and so are recorders of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from soloist.core import Message, Outbox, Port, Process, Send, Site, UsageError

Make = Callable[[Site], Process]


class Flight(msgspec.Struct, frozen=True):
    """A message on its way. Its number tells it from others that say the same."""

    sender: Site
    to: Site
    message: Message
    id: int = -1

    def __str__(self) -> str:
        return f"{self.sender}>{self.to} {self.message}"


class Happening(msgspec.Struct, frozen=True):
    """One step, and what it caused."""

    what: str
    """begin, request, deliver, timeout, release, and the faults: crash, restart, pause, resume, lose, duplicate."""
    site: Site
    flight: Flight | None = None
    """What was delivered, lost or duplicated."""
    copy: Flight | None = None
    timer: str | None = None
    sent: tuple[Flight, ...] = ()
    entered: bool = False
    timers: tuple[tuple[str, float | None], ...] = ()
    """Set with a delay, or with None switched off."""
    chose: tuple[Any, ...] = ()
    fresh: bool = False
    """Whether a site that restarts has forgotten everything."""
    comes_back: bool = False
    """Whether it knows how to."""


class System:
    """Some sites, and what is on its way between them."""

    def __init__(
        self, choose: Callable[[Sequence[Any]], Any], make_port: Callable[[Process, Outbox], Port] = Port
    ) -> None:
        self.chose: list[Any] = []
        self.out = Outbox(self._remember(choose))
        self.make_port = make_port
        self.watch: Callable[[Happening], None] | None = None
        """Told of each step."""
        self.attempt = Happening("begin", 0)
        """The step that was begun last: where one fails half-way, nobody is told of it."""
        self.fifo = False
        self.ports: list[Port] = []
        self.flights: list[Flight] = []
        self.timers: set[tuple[Site, str]] = set()
        self.down: set[Site] = set()
        """Sites that have crashed."""
        self.paused: set[Site] = set()
        self.forgets_mail = True
        """Whether mail for a site that has crashed is lost at once; else the driver says when."""
        self.anew: Make | None = None
        self.next_id = count().__next__

    def _remember(self, choose: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
        def chosen(options: Sequence[Any]) -> Any:
            self.chose.append(choice := choose(options))
            return choice

        return chosen

    def begin(
        self, n: int, make: Make, anew: Make, fifo: bool, begun: Mapping[Site, Sequence[Send]] | None = None
    ) -> list[Happening]:
        """All sites as they begin; `anew` makes one that comes back as it began. Those that have begun already only
        have something on its way."""
        self.fifo, self.anew = fifo, anew
        self.flights, self.timers, self.down, self.paused = [], set(), set(), set()
        self.next_id = count().__next__
        for left in (self.out.sends, self.out.entered, self.out.timers, self.chose):  # by a run that failed
            left.clear()
        self.ports = [self.make_port(make(site), self.out) for site in range(n)]
        begun = begun or {}
        return [
            self._happened(Happening("begin", site), begun[site])
            if site in begun
            else self._do(Happening("begin", site), self.ports[site].begin)
            for site in range(n)
        ]

    # What sites do.

    def acquire(self, site: Site) -> Happening:
        self._assert_able(site)
        return self._do(Happening("request", site), self.ports[site].acquire)

    def release(self, site: Site) -> Happening:
        self._assert_able(site)
        return self._do(Happening("release", site), self.ports[site].release)

    def deliver(self, flight: Flight) -> Happening:
        self._assert_able(flight.to)
        self.flights.remove(flight)
        deliver = self.ports[flight.to].deliver
        return self._do(Happening("deliver", flight.to, flight), deliver, flight.sender, flight.message)

    def timeout(self, site: Site, name: str) -> Happening:
        self._assert_able(site)
        if (site, name) not in self.timers:
            running = ", ".join(sorted(timer for i, timer in self.timers if i == site)) or "none"
            raise UsageError(f"site {site} has no timer {name!r} running; it has: {running}")
        self.timers.remove((site, name))
        return self._do(Happening("timeout", site, timer=name), self.ports[site].timeout, name)

    # What goes wrong.

    def lose(self, flight: Flight) -> Happening:
        self.flights.remove(flight)
        return self._happened(Happening("lose", flight.sender, flight))

    def duplicate(self, flight: Flight) -> Happening:
        copy = Flight(flight.sender, flight.to, flight.message, self.next_id())
        self.flights.append(copy)
        return self._happened(Happening("duplicate", flight.sender, flight, copy))

    def crash(self, site: Site) -> Happening:
        """It stops, and its timers and its mail are lost."""
        self.down.add(site)
        self.paused.discard(site)
        self.timers = {timer for timer in self.timers if timer[0] != site}
        happening = self._happened(Happening("crash", site))
        if self.forgets_mail:
            self._lose_mail_for_the_dead()
        return happening

    def restart(self, site: Site, fresh: bool = False) -> Happening:
        if site not in self.down:
            raise UsageError(f"site {site} has not crashed")
        self.down.remove(site)
        if fresh and self.anew:
            self.ports[site] = self.make_port(self.anew(site), self.out)
        port = self.ports[site]
        if come_back := getattr(port.process, "come_back", None):
            come_back()
        cause = Happening("restart", site, fresh=fresh, comes_back=come_back is not None)
        return self._happened(cause, port.take())

    def pause(self, site: Site) -> Happening:
        self._assert_able(site)
        self.paused.add(site)
        return self._happened(Happening("pause", site))

    def resume(self, site: Site) -> Happening:
        if site not in self.paused:
            raise UsageError(f"site {site} is not paused")
        self.paused.remove(site)
        return self._happened(Happening("resume", site))

    def _assert_able(self, site: Site) -> None:
        if site in self.down:
            raise UsageError(f"site {site} has crashed; restart {site} brings it back")
        if site in self.paused:
            raise UsageError(f"site {site} is paused; resume {site} lets it go on")

    def _do(self, cause: Happening, event: Callable[..., Sequence[Send]], *details: Any) -> Happening:
        self.attempt = cause
        return self._happened(cause, event(*details))

    def _happened(self, cause: Happening, sends: Sequence[Send] = ()) -> Happening:
        """Put what was sent on its way, and tell."""
        sent = tuple(
            Flight(sender, to, message, self.next_id()) for sender, sites, message, _ in sends for to in sites
        )
        self.flights += sent
        timers = tuple((name, after) for _, name, after in self.out.timers)
        for name, after in timers:
            (self.timers.discard if after is None else self.timers.add)((cause.site, name))
        entered, chose = bool(self.out.entered), tuple(self.chose)
        happening = msgspec.structs.replace(cause, sent=sent, entered=entered, timers=timers, chose=chose)
        self.out.entered.clear()
        self.out.timers.clear()
        self.chose.clear()
        if self.watch:
            self.watch(happening)
        if sent and self.down and self.forgets_mail:
            self._lose_mail_for_the_dead()
        return happening

    def _lose_mail_for_the_dead(self) -> None:
        for flight in [flight for flight in self.flights if flight.to in self.down]:
            self.lose(flight)
